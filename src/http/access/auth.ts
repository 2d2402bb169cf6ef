import { type AuthKeys, tokenDigest } from "#config/auth-keys.ts";
import type { CallerKey } from "#domain/chat.ts";
import type { HttpError } from "#http/errors.ts";

const bearer = /^bearer +([^\s]+) *$/i;

/** With the token's line, where it has a label. */
interface Authorized {
  readonly kind: "authorized";
  readonly key: CallerKey | undefined;
}
export const anyone: Authorized = { kind: "authorized", key: undefined };

/**
 * Whether a request may come in: with any token of a length, or only with one of the list where there is one. Never says what the
 * token was. `nowMs`: milliseconds since the epoch.
 */
export function authorize(
  headers: Headers,
  minTokenLength: number,
  listed: AuthKeys | undefined,
  nowMs: number,
): Authorized | HttpError {
  const header = headers.get("authorization");
  const token = header === null ? undefined : bearer.exec(header)?.[1];
  if (token === undefined) {
    const problem = header === null || header === "" ? "missing" : "malformed";
    return unauthorized(`The Authorization header is ${problem}. Send \`Authorization: Bearer <API_KEY>\`.`);
  }
  if (token.length < minTokenLength) {
    return unauthorized(
      `The bearer token is too short: at least ${minTokenLength} characters (AUTH_MIN_TOKEN_LENGTH).`,
    );
  }
  if (listed === undefined) return anyone;
  const key = listed.get(tokenDigest(token));
  if (key === undefined) return unauthorized("The bearer token is not one of this gateway's keys, or was revoked.");
  if (key?.expiresMs !== undefined && key.expiresMs <= nowMs)
    return { ...unauthorized(`The bearer token (${key.label}) has expired.`), label: key.label };
  return { kind: "authorized", key: key ?? undefined };
}

function unauthorized(detail: string): HttpError {
  return { status: 401, detail, code: "unauthorized", headers: { "www-authenticate": "Bearer" } };
}
