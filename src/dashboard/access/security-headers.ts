import { isEncrypted } from "./access.ts";

/** What a browser may do with our pages: run and show what comes from here, in no frame, and nothing inline. */
const contentSecurityPolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join("; ");

/**
 * On every answer under `/dashboard`. The referrer policy is `same-origin` and not `no-referrer`: with that one a browser
 * sends the login form with `Origin: null`.
 */
const always: Readonly<Record<string, string>> = {
  "content-security-policy": contentSecurityPolicy,
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
  "referrer-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "permissions-policy": "camera=(), microphone=(), geolocation=()",
};
const withOpenerPolicy = { ...always, "cross-origin-opener-policy": "same-origin" };

/**
 * The security headers of an answer. A browser heeds the opener policy only over TLS or on loopback and logs an error elsewhere;
 * to those same origins alone it sends `Sec-Fetch-Site`.
 */
export function securityHeaders(request: Request): Readonly<Record<string, string>> {
  return request.headers.has("sec-fetch-site") || isEncrypted(request) ? withOpenerPolicy : always;
}
