import type { PrivacyEngine } from "#privacy/redaction.ts";

/** Whether a request says that its body is JSON: `application/json`, with or without parameters. */
export function isJsonContentType(headers: Headers): boolean {
  const type = headers.get("content-type");
  return type !== null && /^\s*application\/json\s*(?:;|$)/i.test(type);
}

/** Whether a request says that its body is compressed. */
export function isCompressed(headers: Headers): boolean {
  return !/^(?:identity)?$/i.test(headers.get("content-encoding")?.trim() ?? "");
}

const acceptedId = /^[A-Za-z0-9][A-Za-z0-9._:@/+=-]{0,127}$/;

/** The caller's `X-Request-Id` if it is short, plain and no credential (it is logged and echoed), else a new one. */
export function requestIdOf(headers: Headers, privacy: Pick<PrivacyEngine, "redactText">): string {
  const given = headers.get("x-request-id");
  return plainId(given, privacy) ?? Bun.randomUUIDv7();
}

/** A caller's short text that may be logged; undefined for what is not plain, or a credential. */
export function plainId(
  given: string | null | undefined,
  privacy: Pick<PrivacyEngine, "redactText">,
): string | undefined {
  if (given == null || !acceptedId.test(given)) return undefined;
  return privacy.redactText(given).findings.length === 0 ? given : undefined;
}
