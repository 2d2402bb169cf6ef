import type { Policy } from "#config/policy.ts";
import { nextLargeTask } from "#platform/event-loop.ts";
import { type BodyScanners, listTexts, redactBody } from "./body/body-redactor.ts";
import { cacheCleanNames } from "./body/keys-and-ids.ts";
import { type AdditionalRules, credentialScan } from "./detect/scan.ts";
import {
  type ChatBody,
  maxSecrets,
  type PrivacyEngine,
  type RedactedBody,
  type RedactedText,
  TooManySecrets,
} from "./redaction.ts";
import { createKeyFilter } from "./restore/key-filter.ts";
import { Placeholders, placeholderNumbers } from "./restore/placeholders.ts";
import { customRules } from "./rules/custom-rules.ts";
import { type ExactValue, exactValueRules } from "./rules/exact-values.ts";
import { personalDataRules } from "./rules/personal-data-rules.ts";
import { scanInSlices, sliceLength } from "./text/scan-in-slices.ts";
import type { Scan, Span } from "./text/spans.ts";

export { checkCustomRules } from "./rules/custom-rules.ts";

/**
 * The privacy gate of one policy, whose own rules have been checked with `checkCustomRules`: a broken one throws.
 * @param exactValues the gateway's own credentials, replaced wherever they appear
 */
export function privacyEngine(policy: Policy["privacy"], exactValues: readonly ExactValue[] = []): PrivacyEngine {
  const isOn = policy.redact || policy.personal_data;
  const scan = isOn ? policyScan(policy, exactValues) : scanNothing;
  // An id is nobody's personal data: its digits may happen to be those of a telephone.
  const scanIds = policy.personal_data ? policyScan({ ...policy, personal_data: false }, exactValues) : scan;
  // Read with its name, which says that random characters are no key of a vendor that nobody knows.
  const ids: Scan = isOn ? (id) => scanIds(`id: ${id}`) : scanNothing;
  const scans: BodyScanners = { text: scan, key: cacheCleanNames(scan), id: cacheCleanNames(ids) };
  const sent = exactValues.find(({ sentUpstream }) => sentUpstream);
  const keyFilter = sent === undefined ? undefined : createKeyFilter(sent);
  // What is the gateway's own is not even given back to a caller who has sent it.
  const isOwn = (value: string) => exactValues.some((own) => value.includes(own.value));
  const restoring = policy.restore === "text" ? isOwn : undefined;
  return {
    ...(keyFilter === undefined ? {} : { keyFilter }),
    disabledRules: policy.disabled_rules,
    placesIn: scan,
    redactText: (text) => redactText(text, scan(text)),
    redactBody: (body) => redactBody(body, scans, scans, restoring),
    redactLargeBody: (body) => redactLargeBody(body, scans, ids, restoring),
  };
}

/** Characters of a large body that may be scanned at once: what is new in an agent's turn is less. */
const maxScannedAtOnce = 131_072;
/** What a scan costs beside its text, in characters that could be scanned in the same time. */
const scanOverhead = 64;

function redactLargeBody(
  body: ChatBody,
  scans: BodyScanners,
  ids: Scan,
  restoring: ((value: string) => boolean) | undefined,
): RedactedBody | Promise<RedactedBody> {
  // The first walk only lists the texts that the second will ask about, windows across text parts among them.
  const texts = new CollectedTexts(scans.text);
  const idTexts = new CollectedTexts(ids);
  listTexts(body, { text: texts.collect, key: texts.collect, id: idTexts.collect }, scans);
  if (texts.work + idTexts.work <= maxScannedAtOnce) return redactBody(body, scans, scans, restoring);
  return redactInTicks(body, texts, idTexts, scans, restoring);
}

async function redactInTicks(
  body: ChatBody,
  texts: CollectedTexts,
  idTexts: CollectedTexts,
  scans: BodyScanners,
  restoring: ((value: string) => boolean) | undefined,
): Promise<RedactedBody> {
  let secrets = 0;
  let sinceTick = 0;
  const tick = async (length: number) => {
    sinceTick += length + scanOverhead;
    if (sinceTick <= sliceLength) return;
    await nextLargeTask();
    sinceTick = length;
  };
  await nextLargeTask();
  for (const listed of [texts, idTexts]) {
    for (const text of listed.spans.keys()) {
      const spans = await scanInSlices(text, listed.scan, tick);
      listed.spans.set(text, spans);
      secrets += spans.length;
      if (secrets > maxSecrets) throw new TooManySecrets();
    }
  }
  await nextLargeTask();
  return redactBody(body, { text: texts.spansOf, key: texts.spansOf, id: idTexts.spansOf }, scans, restoring);
}

/** Texts of a large body, listed in one walk for the scan and asked about in the next. */
class CollectedTexts {
  readonly scan: Scan;
  readonly spans = new Map<string, readonly Span[]>();
  /** What scanning all of them takes, in characters. */
  work = 0;

  constructor(scan: Scan) {
    this.scan = scan;
  }

  readonly collect: Scan = (text) => {
    this.work += text.length + scanOverhead;
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
  placeholders.skip(placeholderNumbers(text));
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
