import type { AuthKeys } from "#config/auth-keys.ts";
import type { CallerKey } from "#domain/chat.ts";
import type { HttpError } from "#http/errors.ts";

const bearer = /^bearer +([^\s]+) *$/i;

export type Authorized =
  /** With the token's line, where it has a label. */
  | { readonly kind: "ok"; readonly key: CallerKey | undefined }
  | { readonly kind: "refused"; readonly error: HttpError };

const anyone: Authorized = { kind: "ok", key: undefined };

/**
 * Whether a request may come in: with any token of a length, or only with one of the list where there is one. Never says what the
 * token was.
 */
export function authorize(headers: Headers, minTokenLength: number, listed: AuthKeys | undefined): Authorized {
  const header = headers.get("authorization");
  if (header === null || header === "") {
    return unauthorized("The Authorization header is missing. Send `Authorization: Bearer <API_KEY>`.");
  }
  const token = bearer.exec(header)?.[1];
  if (token === undefined) {
    return unauthorized("The Authorization header is malformed. Send `Authorization: Bearer <API_KEY>`.");
  }
  if (token.length < minTokenLength) {
    return unauthorized(
      `The bearer token is too short: at least ${minTokenLength} characters (AUTH_MIN_TOKEN_LENGTH).`,
    );
  }
  if (listed === undefined) return anyone;
  const key = listed.get(new Bun.CryptoHasher("sha256").update(token).digest("hex"));
  return key === undefined
    ? unauthorized("The bearer token is not on this gateway's list (AUTH_KEYS_FILE).")
    : { kind: "ok", key: key ?? undefined };
}

function unauthorized(detail: string): Authorized {
  const headers = { "www-authenticate": "Bearer" };
  return { kind: "refused", error: { status: 401, detail, code: "unauthorized", headers } };
}
