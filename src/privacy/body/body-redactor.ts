import { type ChatMessage, isObject, type Json, type JsonObject } from "#domain/chat.ts";
import { Memo, wholeMessage } from "#domain/message-memo.ts";
import { isRawJSON } from "#domain/raw-json.ts";
import { type ChatBody, CredentialNotReplaceable, type Finding, type RedactedBody } from "#privacy/redaction.ts";
import { Placeholders, placeholderNumbers, placeholderNumbersOf } from "#privacy/restore/placeholders.ts";
import { createRestorer } from "#privacy/restore/restore.ts";
import type { Scan, Span } from "#privacy/text/spans.ts";
import { spliceJson } from "./json-splice.ts";
import { apiMemberNames, functionCallKeys, idKeys } from "./keys-and-ids.ts";
import { boundaryWindow, boundaryWindows, mayContinueToken, textFieldOf, type WindowPart } from "./text-parts.ts";

/** How the texts of a body are read. */
export interface BodyScanners {
  readonly text: Scan;
  /** Keys of objects. */
  readonly key: Scan;
  /** Ids, which are nobody's personal data. */
  readonly id: Scan;
}

/** Forwarded as they came, so what is found in them can only be reported. */
const forwardedUnchanged = new Set(["tools", "functions", "response_format"]);
/** Forwarded as they came too, or refused: they hold nothing but words of the API and names of functions. */
const namingMembers = new Set(["tool_choice", "function_call"]);
/** Keys that make a short value beside them a secret; the value alone would not show it. */
const secretKeyName = /pass|pwd|secret|token|key|cred|auth/i;
/** How much before a secret tells whether it would be one without the part that follows. */
const secretLeadLength = 512;

/** What the scans of a message or member have found, in the order asked; nothing where all of it is clean. */
interface Scanned {
  readonly by: BodyScanners;
  readonly spans: readonly (readonly Span[])[];
}

const scanned = new Memo<Scanned>();

/**
 * Redacts one request body. Numbers run through the whole body in document order.
 * @param by whose results are reused for what is cached from earlier bodies: scans of the same policy
 * @param neverRestored present where values are put back into the answer: those that are not
 * @throws CredentialNotReplaceable where a credential stands in a key or an id
 */
export function redactBody(
  body: ChatBody,
  scans: BodyScanners,
  by: BodyScanners,
  neverRestored?: (value: string) => boolean,
): RedactedBody {
  const redactor = new BodyRedactor(scans, by, body, neverRestored !== undefined);
  const changed = redactMembers(body, redactor);
  const findings = redactor.takeFindings();
  reportUnchanged(body, redactor);
  const unredactable = redactor.takeFindings();
  let total = 0;
  for (const finding of findings) total += finding.count;
  const result = { body: changed ?? body, findings, total, unredactable };
  if (neverRestored === undefined || total === 0) return result;
  const values = redactor.placeholders.values();
  for (const [placeholder, value] of values) if (neverRestored(value)) values.delete(placeholder);
  return { ...result, restore: createRestorer(values) };
}

/** Asks the scans, which find nothing, about all texts that have not been scanned yet. */
export function listTexts(body: ChatBody, scans: BodyScanners, by: BodyScanners): void {
  const redactor = new BodyRedactor(scans, by, body, false);
  redactor.isListing = true;
  redactMembers(body, redactor);
  reportUnchanged(body, redactor);
}

function reportUnchanged(body: ChatBody, redactor: BodyRedactor): void {
  redactor.reportOnly = true;
  for (const key of forwardedUnchanged) {
    const value = body[key];
    if (value !== undefined) redactor.reportMember(value, key);
  }
}

function redactMembers(body: ChatBody, redactor: BodyRedactor): ChatBody | undefined {
  let changed: ChatBody | undefined;
  for (const key of Object.keys(body)) {
    redactor.key(key);
    const value = body[key];
    // The model is one of the aliases, and what is sent is the upstream's name.
    if (value === undefined || key === "model" || forwardedUnchanged.has(key)) continue;
    if (namingMembers.has(key)) {
      redactor.checkNames(value, key);
      continue;
    }
    const redacted = key === "messages" ? redactor.redactMessages(body.messages) : redactor.redactMember(value, key);
    if (redacted === value) continue;
    changed ??= { ...body };
    changed[key] = redacted;
  }
  return changed;
}

class BodyRedactor {
  readonly placeholders = new Placeholders();
  /** What is found can neither be replaced nor be a reason to refuse. */
  reportOnly = false;
  /** The scans only list what they are asked about. */
  isListing = false;
  readonly #scans: BodyScanners;
  readonly #by: BodyScanners;
  readonly #body: ChatBody;
  /** Values are put back into the answer. */
  readonly #restoring: boolean;
  #messageIndex = -1;
  /** Up to which message the numbers of placeholders in it are known; -1: not even outside of messages. */
  #numbersTo = -1;
  /** In `metadata` an `id` or `type` is a label like any other. */
  #inMetadata = false;
  /** The keys and indexes from the body down to what is read. */
  readonly #path: (string | number)[] = [];
  /** Every text is an id or a name. */
  #onlyNames = false;
  /** `messageIndex rule` → finding, in order of first appearance. */
  #findings = new Map<string, { rule: string; count: number; messageIndex: number }>();

  /** Of what is being read: the spans found so far, or those of an earlier scan that are still to come. */
  #found: (readonly Span[])[] | undefined;
  #known: Iterator<readonly Span[]> | undefined;

  constructor(scans: BodyScanners, by: BodyScanners, body: ChatBody, restoring: boolean) {
    this.#restoring = restoring;
    this.#scans = scans;
    this.#by = by;
    this.#body = body;
  }

  takeFindings(): readonly Finding[] {
    const taken = [...this.#findings.values()];
    this.#findings.clear();
    return taken;
  }

  redactMessages(messages: ChatBody["messages"]): ChatMessage[] {
    let changed: ChatMessage[] | undefined;
    for (let index = 0; index < messages.length; index++) {
      const message = messages[index];
      // Nearly all messages of an agent's turn are known and clean.
      if (message === undefined || this.#isClean(message)) continue;
      const redacted = this.#redactMessage(message, index);
      if (redacted === message) continue;
      changed ??= [...messages];
      changed[index] = redacted;
    }
    return changed ?? messages;
  }

  #redactMessage(message: ChatMessage, index: number): ChatMessage {
    this.#messageIndex = index;
    this.#path.push("messages", index);
    const redacted = this.#redactCached(message, () => {
      const whole = wholeMessage(message);
      const read = this.#redactObject(whole, "");
      // Roles are names: a copy keeps its own.
      return read === whole ? message : (read as ChatMessage);
    });
    this.#path.length = 0;
    this.#messageIndex = -1;
    return redacted;
  }

  #isClean(part: object): boolean {
    const known = scanned.of(part);
    return known !== undefined && known.by === this.#by && known.spans.length === 0;
  }

  /** A message or member: if it is cached, no text of it is scanned. */
  #redactCached<T extends object>(part: T, redact: () => T): T {
    const known = scanned.of(part);
    const isKnown = known?.by === this.#by;
    if (isKnown && this.isListing) return part;
    const found: (readonly Span[])[] = [];
    if (isKnown) this.#known = known.spans.values();
    else this.#found = found;
    const redacted = redact();
    if (!isKnown && !this.isListing)
      scanned.set(part, { by: this.#by, spans: found.some(({ length }) => length > 0) ? found : [] });
    this.#known = undefined;
    this.#found = undefined;
    return redacted;
  }

  #scan(kind: keyof BodyScanners, text: string): readonly Span[] {
    const spans = this.#known?.next().value ?? this.#scans[kind](text);
    this.#found?.push(spans);
    return spans;
  }

  /** A member that is forwarded unchanged: what is found in it is counted. */
  reportMember(value: Json, key: string): void {
    if (typeof value !== "object" || value === null) this.redactValue(value, key);
    else if (!this.#isClean(value))
      this.#redactCached(value, () => {
        this.redactValue(value, key);
        return value;
      });
  }

  /** A member of the body beside its messages. */
  redactMember(value: Json, checkKey: string): Json {
    this.#inMetadata = checkKey === "metadata";
    this.#path.push(checkKey);
    const redacted = this.redactValue(value, checkKey);
    this.#path.pop();
    this.#inMetadata = false;
    return redacted;
  }

  /** A member of the body whose texts are all names. */
  checkNames(value: Json, checkKey: string): void {
    this.#onlyNames = true;
    this.redactMember(value, checkKey);
    this.#onlyNames = false;
  }

  /** The value, or a copy of it without secrets. */
  redactValue(value: Json, key: string): Json {
    if (typeof value === "string") return this.#redactString(value, key);
    if (Array.isArray(value)) return this.#redactArray(value, key);
    if (value !== null && typeof value === "object") return this.#redactObject(value, key);
    return value;
  }

  key(key: string): void {
    if (apiMemberNames.has(key)) return;
    const [span] = this.#scan("key", key);
    if (span === undefined) return;
    if (!this.reportOnly) throw new CredentialNotReplaceable(span.rule, true, this.#path);
    this.#count(span.rule);
  }

  #checkId(id: string): void {
    if (apiMemberNames.has(id)) return;
    const [span] = this.#scan("id", id);
    if (span === undefined) return;
    if (this.reportOnly) this.#count(span.rule);
    // The name of a declared function is forwarded with its declaration, and counted there.
    else if (!declaresFunction(this.#body, id)) throw new CredentialNotReplaceable(span.rule, false, this.#path);
  }

  /** @param without a member that has been redacted already */
  #redactObject(object: JsonObject, parent: string, without?: string): JsonObject {
    if (isRawJSON(object)) return object;
    let changed: JsonObject | undefined;
    for (const key of Object.keys(object)) {
      this.key(key);
      const value = object[key];
      if (value === undefined || value === null || key === without) continue;
      this.#path.push(key);
      const redacted = this.redactValue(value, key === "name" && functionCallKeys.has(parent) ? "id" : key);
      this.#path.pop();
      if (redacted === value) continue;
      changed ??= { ...object };
      changed[key] = redacted;
    }
    return changed ?? object;
  }

  #redactArray(array: Json[], key: string): Json[] {
    const joints = array.length > 1 ? this.#secretsAcrossParts(array) : undefined;
    let changed: Json[] | undefined;
    for (const [index, item] of array.entries()) {
      const across = joints?.get(index);
      this.#path.push(index);
      const redacted = across === undefined ? this.redactValue(item, key) : this.#redactPart(item, key, across);
      this.#path.pop();
      if (redacted === item) continue;
      changed ??= [...array];
      changed[index] = redacted;
    }
    return changed ?? array;
  }

  /** Secrets that begin in one text part and end in a later one: what each part has to lose. */
  #secretsAcrossParts(array: readonly Json[]): Map<number, PartSpan[]> | undefined {
    let cuts: Map<number, PartSpan[]> | undefined;
    for (const { text, parts } of boundaryWindows(array)) {
      let place = 0;
      for (const span of this.#scan("text", text)) {
        while ((parts[place]?.to ?? text.length) <= span.start) place++;
        const end = this.#endOfSecret(text, parts, place, span);
        if (end <= (parts[place]?.to ?? end)) continue; // it is found in its part
        const value = text.slice(span.start, end);
        cuts ??= new Map();
        for (const [at, { index, from, to, offset }] of parts.slice(place).entries()) {
          if (from >= end) break;
          const start = Math.max(span.start, from) + offset - from;
          const cut = {
            start,
            end: Math.min(end, to) + offset - from,
            rule: span.rule,
            value,
            startsInEarlierPart: at > 0,
          };
          cuts.set(index, [...(cuts.get(index) ?? []), cut]);
        }
      }
    }
    return cuts;
  }

  /** Where a secret of a part ends: a whole token at the joint, unless what follows can be more of it. */
  #endOfSecret(text: string, parts: readonly WindowPart[], place: number, { start, end }: Span): number {
    for (let at = place; at < parts.length; at++) {
      const joint = parts[at]?.to ?? end;
      if (joint >= end) break;
      const next = text.slice(joint, joint + secretLeadLength);
      if (!mayContinueToken(next, at > place) && this.#isCompleteSecret(text, start, joint)) return joint;
    }
    return end;
  }

  /** Whether what begins at a place of a text is a secret up to its end, with nothing behind it. */
  #isCompleteSecret(text: string, start: number, end: number): boolean {
    const from = Math.max(0, start - secretLeadLength);
    return this.#scan("text", text.slice(from, end)).some(
      (span) => span.start === start - from && span.end === end - from,
    );
  }

  #redactPart(part: Json, key: string, across: readonly PartSpan[]): Json {
    const field = isObject(part) ? textFieldOf(part) : undefined;
    if (!isObject(part) || field === undefined) throw new Error("unreachable: only text parts have joints");
    const text = String(part[field]);
    const own = this.#scan("text", text)
      .filter((span) => !across.some((other) => other.start <= span.start && span.end <= other.end))
      .map((span) => ({ ...span, value: text.slice(span.start, span.end), startsInEarlierPart: false }));
    const spans = [...own, ...across].sort((a, b) => a.start - b.start);
    let out = "";
    let at = 0;
    for (const span of spans) {
      const start = Math.max(span.start, at);
      out += text.slice(at, start);
      // The placeholder stands in the part where the secret begins; a part that would end up empty carries it too,
      // because some upstreams refuse an empty text part.
      if (!span.startsInEarlierPart || span.end === text.length) out += this.#placeholderOf(span.rule, span.value);
      if (!span.startsInEarlierPart) this.#count(span.rule);
      at = Math.max(at, span.end);
    }
    return { ...this.#redactObject(part, key, field), [field]: out + text.slice(at) };
  }

  #redactString(text: string, key: string): string {
    if (this.#onlyNames || (idKeys.has(key) && !this.#inMetadata)) {
      this.#checkId(text);
      return text;
    }
    if (key === "arguments") return this.#redactArguments(text);
    const spans =
      secretKeyName.test(key) && text.length < boundaryWindow ? this.#scanWithKey(text, key) : this.#scan("text", text);
    return spans.length === 0 ? text : this.#replace(text, spans);
  }

  /** A string under a telling key is read together with that key. */
  #scanWithKey(text: string, key: string): readonly Span[] {
    const lead = `${key}: `;
    const spans: Span[] = [];
    for (const { start, end, rule } of this.#scan("text", lead + text)) {
      if (end > lead.length) spans.push({ start: Math.max(0, start - lead.length), end: end - lead.length, rule });
    }
    return spans;
  }

  #redactArguments(json: string): string {
    const spans = this.#scan("text", json);
    if (spans.length === 0) return json;
    const redacted = spliceJson(json, spans, (rule, value) => this.#countedPlaceholderOf(rule, value));
    return redacted ?? this.#replace(json, spans);
  }

  #replace(text: string, spans: readonly Span[]): string {
    let out = "";
    let at = 0;
    for (const { start, end, rule } of spans) {
      out += text.slice(at, start) + this.#countedPlaceholderOf(rule, text.slice(start, end));
      at = end;
    }
    return out + text.slice(at);
  }

  #countedPlaceholderOf(rule: string, value: string): string {
    this.#count(rule);
    return this.#placeholderOf(rule, value);
  }

  /**
   * A new value gets no number of a placeholder that stands before it, up to the end of its message; later ones do not
   * count, so that numbers stay the same as a conversation grows. What is put back into answers must differ from all.
   */
  #placeholderOf(rule: string, value: string): string {
    if (!this.placeholders.has(value)) {
      const { messages, ...others } = this.#body;
      const to = this.#restoring ? messages.length : this.#messageIndex + 1;
      if (this.#numbersTo < 0) this.placeholders.skip(placeholderNumbers(others));
      for (let at = Math.max(0, this.#numbersTo); at < to; at++) {
        const message = messages[at];
        if (message !== undefined) this.placeholders.skip(placeholderNumbersOf(message));
      }
      this.#numbersTo = Math.max(this.#numbersTo, to);
    }
    return this.placeholders.of(rule, value);
  }

  #count(rule: string) {
    const key = `${this.#messageIndex} ${rule}`;
    const finding = this.#findings.get(key);
    if (finding !== undefined) finding.count += 1;
    else this.#findings.set(key, { rule, count: 1, messageIndex: this.#messageIndex });
  }
}

interface PartSpan extends Span {
  readonly value: string;
  /** The secret began in a part before. */
  readonly startsInEarlierPart: boolean;
}

/** Whether `tools` or `functions` declare a function of this name. */
function declaresFunction({ tools, functions }: ChatBody, name: string): boolean {
  const declared = [tools, functions].flatMap((list) => (Array.isArray(list) ? list : []));
  return declared.some((each) => {
    const called = isObject(each) ? (each["function"] ?? each["custom"] ?? each) : null;
    return isObject(called) && called["name"] === name;
  });
}
