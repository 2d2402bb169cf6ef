import type { HttpError } from "#http/errors.ts";

/** Which bearer tokens are let in: any of a length, or only those an operator listed. */
export interface AuthRules {
  readonly minTokenLength: number;
  /** Whether a token is on the operator's list; absent: there is no list, every long-enough token is accepted. */
  readonly isListed?: (token: string) => boolean;
}

const bearer = /^bearer +([^\s]+) *$/i;

/** Why a request may not come in, undefined when it may. Never says what the token was. */
export function authProblem(headers: Headers, rules: AuthRules): HttpError | undefined {
  const header = headers.get("authorization");
  if (header === null || header === "") {
    return unauthorized("The Authorization header is missing. Send `Authorization: Bearer <API_KEY>`.");
  }
  const token = bearer.exec(header)?.[1];
  if (token === undefined) {
    return unauthorized("The Authorization header is malformed. Send `Authorization: Bearer <API_KEY>`.");
  }
  if (token.length < rules.minTokenLength) {
    return unauthorized(
      `The bearer token is too short: at least ${rules.minTokenLength} characters (AUTH_MIN_TOKEN_LENGTH).`,
    );
  }
  if (rules.isListed !== undefined && !rules.isListed(token)) {
    return unauthorized("The bearer token is not on this gateway's list (AUTH_KEYS_FILE).");
  }
  return undefined;
}

function unauthorized(detail: string): HttpError {
  return { status: 401, detail, code: "unauthorized", headers: { "www-authenticate": "Bearer" } };
}
