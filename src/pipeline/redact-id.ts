import type { PrivacyEngine } from "#privacy/redaction.ts";

/**
 * An id that a caller has chosen, fit to be stored and logged. One that is itself a credential (it happens: a script passes
 * the wrong variable) is replaced by a digest, so that it still tells one goal from another and says nothing else.
 * `asWritten`: the text that the caller has sent, where the id is made from it.
 */
export function redactId(id: string, privacy: Pick<PrivacyEngine, "redactText">, asWritten = id): string {
  if (privacy.redactText(asWritten).findings.length === 0) return id;
  return `redacted-${new Bun.CryptoHasher("sha256").update(id).digest("hex").slice(0, 32)}`;
}
