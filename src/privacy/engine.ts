import type { Policy } from "#config/policy.ts";
import { largeWorkTurn } from "#platform/event-loop-turns.ts";
import { type BodyScanners, redactBody } from "./body/body-redactor.ts";
import { cacheCleanNames } from "./body/keys-and-ids.ts";
import { type AdditionalRules, credentialScan } from "./detect/scan.ts";
import { ScanMemory, scanOverhead, WorkLimit } from "./memory/scan-memory.ts";
import {
  type ChatBody,
  maxSecrets,
  type PrivacyEngine,
  type RedactedBody,
  type RedactedText,
  type ScanCounts,
  TooManySecrets,
} from "./redaction.ts";
import { createAnswerGuard } from "./restore/answer-guard.ts";
import { Placeholders } from "./restore/placeholders.ts";
import { customRules } from "./rules/custom-rules.ts";
import { type ExactValue, exactValueRules } from "./rules/exact-values.ts";
import { personalDataRules } from "./rules/personal-data-rules.ts";
import { scanInSlices, sliceLength } from "./text/scan-in-slices.ts";
import type { Scan, Span } from "./text/spans.ts";

export { checkCustomRules } from "./rules/custom-rules.ts";

/**
 * The privacy gate of one policy. Rules of the policy's own have to be checked with `checkCustomRules` before: here only their
 * syntax is, and a broken one throws.
 * @param exactValues the gateway's own credentials, replaced wherever they appear
 * @param counts counts on from the engine of the policy before
 */
export function privacyEngine(
  policy: Policy["privacy"],
  exactValues: readonly ExactValue[] = [],
  counts: ScanCounts = { hits: 0, misses: 0 },
): PrivacyEngine {
  const isOn = policy.redact || policy.personal_data;
  const scanAnew = isOn ? policyScan(policy, exactValues) : scanNothing;
  const memory = new ScanMemory(scanAnew, isOn ? policy.scan_memory_bytes : 0, counts);
  const { scan } = memory;
  // An id is nobody's personal data: its digits may happen to be those of a telephone.
  const scanIds = policy.personal_data ? policyScan({ ...policy, personal_data: false }, exactValues) : scanAnew;
  // Read with its name, which says that random characters are no key of a vendor that nobody knows.
  const ids: Scan = isOn ? (id) => scanIds(`id: ${id}`) : scanNothing;
  const names = { key: cacheCleanNames(scanAnew), id: cacheCleanNames(ids) };
  const scans: BodyScanners = { text: scan, ...names };
  const sent = exactValues.find(({ sentUpstream }) => sentUpstream);
  const answerGuard = sent === undefined ? undefined : createAnswerGuard(sent);
  // What is the gateway's own is not even given back to a caller who has sent it.
  const isOwn = (value: string) => exactValues.some((own) => value.includes(own.value));
  const restoring = policy.restore === "text" ? isOwn : undefined;
  return {
    ...(answerGuard === undefined ? {} : { answerGuard }),
    disabledRules: policy.disabled_rules,
    memoryBytes: () => memory.bytes,
    placesIn: scan,
    redactText: (text) => redactText(text, scan(text)),
    redactBody: (body) => redactBody(body, scans, restoring),
    redactBodyAsync: (body) => redactInTurns(body, memory, ids, restoring),
    redactKnownBody(body) {
      const limit = new WorkLimit(maxScannedAtOnce);
      const text: Scan = (each) => memory.scanWithin(each, limit);
      const limited = { text, key: limit.scan(names.key), id: limit.scan(names.id) };
      const redacted = redactBody(body, limited, restoring);
      return limit.isExceeded ? undefined : redacted;
    },
  };
}

/** Characters of a large body that may be scanned at once: what is new in an agent's turn is less. */
const maxScannedAtOnce = 131_072;

async function redactInTurns(
  body: ChatBody,
  memory: ScanMemory,
  ids: Scan,
  restoring: ((value: string) => boolean) | undefined,
): Promise<RedactedBody> {
  // The first walk only lists the texts that the second will ask about, windows across text parts among them.
  const texts = new CollectedTexts(memory.scan);
  const idTexts = new CollectedTexts(ids);
  const collecting = { text: texts.collect, key: texts.collect, id: idTexts.collect };
  redactBody(body, collecting);
  let secrets = 0;
  let sinceTurn = 0;
  const turn = async (length: number) => {
    sinceTurn += length + scanOverhead;
    if (sinceTurn <= sliceLength) return;
    await largeWorkTurn();
    sinceTurn = length;
  };
  const record = (listed: CollectedTexts, text: string, spans: readonly Span[]) => {
    if (spans.length > 0) listed.spans.set(text, spans);
    secrets += spans.length;
    if (secrets > maxSecrets) throw new TooManySecrets();
  };
  await largeWorkTurn();
  for (const text of texts.spans.keys()) record(texts, text, await memory.scanInTurns(text, turn));
  for (const text of idTexts.spans.keys()) record(idTexts, text, await scanInSlices(text, ids, turn));
  await largeWorkTurn();
  return redactBody(body, { text: texts.spansOf, key: texts.spansOf, id: idTexts.spansOf }, restoring);
}

/** Texts of a large body, listed in one walk for the scan and asked about in the next. */
class CollectedTexts {
  readonly scan: Scan;
  readonly spans = new Map<string, readonly Span[]>();

  constructor(scan: Scan) {
    this.scan = scan;
  }

  readonly collect: Scan = (text) => {
    this.spans.set(text, noSpans);
    return noSpans;
  };

  readonly spansOf: Scan = (text) => this.spans.get(text) ?? this.scan(text);
}

const noSpans: readonly Span[] = [];
const scanNothing: Scan = () => noSpans;

function policyScan(policy: Policy["privacy"], exactValues: readonly ExactValue[]): Scan {
  const disabled = new Set(policy.disabled_rules);
  const additionalRules: AdditionalRules[] = [];
  if (exactValues.length > 0) additionalRules.push(exactValueRules(exactValues));
  if (policy.custom_rules.length > 0)
    additionalRules.push(customRules(policy.custom_rules.filter(({ id }) => !disabled.has(id))));
  if (policy.personal_data) additionalRules.push(personalDataRules(disabled));
  const scan = credentialScan({ credentials: policy.redact, disabled, additionalRules });
  if (policy.allow.length === 0) return scan;
  const allowed = new Set(policy.allow);
  return (text) => {
    const spans = scan(text);
    return spans.length === 0 ? spans : spans.filter(({ start, end }) => !allowed.has(text.slice(start, end)));
  };
}

function redactText(text: string, spans: readonly Span[]): RedactedText {
  if (spans.length === 0) return { text, findings: [] };
  const placeholders = new Placeholders();
  const counts = new Map<string, number>();
  const pieces: string[] = [];
  let at = 0;
  for (const { start, end, rule } of spans) {
    pieces.push(text.slice(at, start), placeholders.of(rule, text.slice(start, end)));
    at = end;
    counts.set(rule, (counts.get(rule) ?? 0) + 1);
  }
  const findings = [...counts].map(([rule, count]) => ({ rule, count, messageIndex: -1 }));
  pieces.push(text.slice(at));
  return { text: pieces.join(""), findings };
}
