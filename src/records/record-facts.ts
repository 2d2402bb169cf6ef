import { createHash } from "node:crypto";
import { type Model, type ModelKey, type ModelRegistry, type Price, tierOfRole } from "#domain/model.ts";
import { ratesOf, type TimeSpan } from "#domain/money/prices.ts";
import { costOf, type TokenUsage } from "#domain/money/tokens.ts";
import type { Tier } from "./decision-record.ts";
import type { AttemptRecord, RequestRecord } from "./record.ts";

/** Ids that callers choose are free text; longer ones are cut, and end in digits of their hash, so that they still differ. In characters. */
const maxIdLength = 128;
const hashDigits = 16;

/** What a decision record needs beside the record of the request. */
export interface RecordContext {
  /** Names the configuration that the decision was made by, so that it can be made again. */
  readonly policyHash: string | null;
  /** The caller's session, redacted. */
  readonly session: string | undefined;
  /** Salt of the hash that stands for a conversation; different in each installation. */
  readonly salt: number;
}

/** The fields of a decision record that need the model registry or the context. */
interface RecordFacts {
  readonly policyHash: string | null;
  readonly session: string | null;
  readonly upstreamModel: string | null;
  readonly tier: Tier | null;
  readonly baseline: number | null;
  readonly priceBand: string | null;
}

/** Conversations whose names are remembered: most requests are not the first of theirs, and making a name takes half a microsecond. */
const maxNames = 1_000;
const names = { salt: 0, byKey: new Map<string, string>() };

/** The name of a conversation in the records, from which nobody can tell the conversation. */
export function conversationName(key: string | undefined, salt: number): string | null {
  if (key === undefined) return null;
  if (names.salt !== salt || names.byKey.size >= maxNames) {
    names.byKey.clear();
    names.salt = salt;
  }
  let name = names.byKey.get(key);
  if (name === undefined) {
    name = Bun.hash(key, salt).toString(36);
    names.byKey.set(key, name);
  }
  return name;
}

export function factsOf(request: RequestRecord, { policyHash, session }: RecordContext): RecordFacts {
  const { routed, decision, answeredBy } = request;
  const registry = routed?.snapshot.registry;
  const answering = answeredBy ?? routed?.decision.model ?? decision.model;
  const model = registry === undefined || answering === null ? undefined : modelOf(registry, answering);
  return {
    policyHash,
    session: bounded(session),
    upstreamModel:
      answeredBy === null
        ? null
        : bounded(request.attempts[request.attempts.length - 1]?.otherModel ?? model?.upstreamId),
    tier: model === undefined ? null : tierOfRole[model.role],
    baseline: registry === undefined ? null : baselineOf(request, registry),
    priceBand: bandOf(request, registry),
  };
}

export function bounded(id: string | undefined): string | null {
  return id === undefined ? null : boundedId(id);
}

/** The id as records have it; an id that is one already stays as it is. */
export function boundedId(id: string): string {
  if (id.length <= maxIdLength) return id;
  const hash = createHash("sha256").update(id, "utf16le").digest("hex").slice(0, hashDigits);
  // A cut may go through a character that is two units of UTF-16.
  return `${id.slice(0, maxIdLength - hashDigits - 1).toWellFormed()}…${hash}`;
}

/** The digits of the hash in which an id ends that was cut; undefined if it was not. */
export function hashOfCutId(id: string): string | undefined {
  return id.length === maxIdLength ? /…([0-9a-f]{16})$/.exec(id)?.[1] : undefined;
}

/** Most requests are answered by the model that answered the one before, and comparing its key is quicker than looking it up. */
let lastModel:
  | { readonly registry: ModelRegistry; readonly key: ModelKey; readonly model: Model | undefined }
  | undefined;

function modelOf(registry: ModelRegistry, key: ModelKey): Model | undefined {
  if (lastModel?.registry !== registry || lastModel.key !== key) {
    lastModel = { registry, key, model: registry.models.get(key) };
  }
  return lastModel.model;
}

/** The cost of all answers at the senior model's prices of that time, with the same share cached, in nano-USD. */
function baselineOf({ attempts, atMs, timings }: RequestRecord, registry: ModelRegistry): number | null {
  const senior = registry.byRole.senior;
  if (senior === undefined) return null;
  let sum: number | null = null;
  for (const { usage, purpose } of attempts) {
    // Without tiers there would be no scout.
    if (usage === undefined || purpose === "SCOUT") continue;
    sum = (sum ?? 0) + safeCost(usage, senior.price, { fromMs: atMs, toMs: atMs + timings.totalMs });
  }
  return sum;
}

function safeCost(usage: TokenUsage, price: Price, during: TimeSpan): number {
  try {
    return costOf(usage, price, during);
  } catch {
    // The counts are so large that the cost is no safe integer.
    return 0;
  }
}

/** Which of the model's rates the last answer met, where it has several. */
function bandOf({ attempts, atMs, timings }: RequestRecord, registry: ModelRegistry | undefined): string | null {
  if (registry === undefined) return null;
  let last: AttemptRecord | undefined;
  for (const attempt of attempts) if (attempt.usage !== undefined) last = attempt;
  const price = last === undefined ? undefined : modelOf(registry, last.model)?.price;
  if (price?.bands === undefined || last?.usage === undefined) return null;
  const { input, output } = ratesOf(price, last.usage.input, { fromMs: atMs, toMs: atMs + timings.totalMs });
  if (input === price.input && output === price.output) return "base";
  return `${input / 1e9}/${output / 1e9} USD per million`;
}
