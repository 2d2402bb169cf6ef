import type { Policy } from "#policy/schema.ts";
import { redactBody, stringsOf } from "./body.ts";
import { Placeholders } from "./placeholders.ts";
import type { ChatBody, PrivacyEngine, RedactedText } from "./redaction.ts";
import { credentialScan } from "./scan.ts";
import type { Scan, Span } from "./spans.ts";

export { checkCustomRules, type RuleProblem } from "./custom-rules.ts";

/** Strings scanned between two turns of the event loop, in UTF-16 units. */
const turn = 1_048_576;

/** @param exactValues the gateway's own credentials, replaced wherever they appear */
export function privacyEngine(
  policy: Policy["privacy"],
  exactValues: readonly { readonly rule: string; readonly value: string }[] = [],
): PrivacyEngine {
  void exactValues;
  const scan: Scan = policy.redact ? credentialScan(new Set(policy.disabled_rules), []) : () => [];
  const restoring = policy.restore === "text";
  return {
    disabledRules: policy.disabled_rules,
    redactText: (text) => redactText(text, scan(text)),
    redactBody: (body) => redactBody(body, scan, restoring),
    async redactBodyAsync(body: ChatBody) {
      const scanned = new Map<string, readonly Span[]>();
      let sinceTurn = 0;
      for (const text of stringsOf(body)) {
        if (sinceTurn + text.length > turn) {
          await new Promise((resolve) => setImmediate(resolve));
          sinceTurn = 0;
        }
        sinceTurn += text.length;
        if (!scanned.has(text)) scanned.set(text, scan(text));
      }
      return redactBody(body, (text) => scanned.get(text) ?? scan(text), restoring);
    },
  };
}

function redactText(text: string, spans: readonly Span[]): RedactedText {
  if (spans.length === 0) return { text, findings: [] };
  const placeholders = new Placeholders();
  const counts = new Map<string, number>();
  let out = "";
  let at = 0;
  for (const { start, end, rule } of spans) {
    out += text.slice(at, start) + placeholders.of(rule, text.slice(start, end));
    at = end;
    counts.set(rule, (counts.get(rule) ?? 0) + 1);
  }
  const findings = [...counts].map(([rule, count]) => ({ rule, count, messageIndex: -1 }));
  return { text: out + text.slice(at), findings };
}
