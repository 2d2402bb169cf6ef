import { type AuthKeys, tokenDigest } from "#config/auth-keys.ts";
import { errorOf } from "#domain/errors.ts";
import type { Check } from "#http/endpoint.ts";
import type { ServerOptions } from "#http/server-options.ts";
import type { Clock } from "#platform/time.ts";

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

const minuteMs = 60_000;

/**
 * Counts the requests a minute of each key that has a limit, in this process. A key that was silent for a minute may
 * send all of them at once; then one comes free at a time (the generic cell rate algorithm: one number a label).
 *
 * @param workers on one port, each of which takes its part
 */
export function keyRateCheck(clock: Pick<Clock, "monotonic">, workers: number): Check {
  /** When a label's allowance will be whole again, in monotonic milliseconds. Labels are the operator's, and few. */
  const wholeAtMs = new Map<string, number>();
  return (_, { key }) => {
    if (key?.rpm === undefined) return undefined;
    const { label, rpm } = key;
    const nowMs = clock.monotonic();
    const stepMs = (minuteMs * workers) / rpm;
    const nextMs = Math.max(nowMs, wholeAtMs.get(label) ?? 0) + stepMs;
    const waitMs = nextMs - nowMs - Math.max(minuteMs, stepMs);
    if (waitMs > 0)
      return { ...errorOf("key_rate_exceeded", { label, rpm }), retryAfterS: Math.ceil(waitMs / 1_000), label };
    wholeAtMs.set(label, nextMs);
    return undefined;
  };
}
