import { type AuthKeys, tokenDigest } from "#config/auth-keys.ts";
import { errorOf } from "#domain/errors.ts";
import type { Check } from "#http/endpoint.ts";
import type { ServerOptions } from "#http/server-options.ts";

const bearer = /^bearer +([^\s]+) *$/i;

/** Any token of a length may come in, or only one of the list where there is one. Never says what the token was. */
export function tokenCheck({ settings, keys, ports }: Pick<ServerOptions, "settings" | "keys" | "ports">): Check {
  const characters = settings.authMinTokenLength;
  return ({ headers }, context) => {
    const header = headers.get("authorization");
    const token = header === null ? undefined : bearer.exec(header)?.[1];
    if (token === undefined) {
      const problem = header === null || header === "" ? "missing" : "malformed";
      return errorOf("unauthorized.header", { problem });
    }
    if (token.length < characters) return errorOf("unauthorized.too_short", { characters });
    const listed: AuthKeys | undefined = keys();
    if (listed === undefined) return undefined;
    const key = listed.get(tokenDigest(token));
    if (key === undefined) return errorOf("unauthorized.unknown");
    if (key?.expiresMs !== undefined && key.expiresMs <= ports.clock.now())
      return { ...errorOf("unauthorized.expired", { label: key.label }), label: key.label };
    context.key = key ?? undefined;
    return undefined;
  };
}
