import { Policy } from "#config/policy.ts";
import { privacyEngine } from "./engine.ts";
import type { RedactedText } from "./redaction.ts";

const engine = privacyEngine(Policy.parse({}).privacy);

/** Redacts one text under the default policy: `smart-gateway/privacy`, for evaluations and scripts. */
export function redact(text: string): RedactedText {
  return engine.redactText(text);
}
