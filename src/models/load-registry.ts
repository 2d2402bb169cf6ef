import { type ConfigDocument, isSection, parseConfig, readConfigFile } from "#config/config-file.ts";
import { type Invalid, inOrder, type Problem } from "#config/problem.ts";
import { problemAt, validate } from "#config/validate.ts";
import { type Model, type ModelRegistry, modelRegistry } from "#domain/model.ts";
import shippedText from "../../defaults/models.yaml" with { type: "text" };
import { partialPriceOf, priceOf } from "./price-of-record.ts";
import { type ModelRecord, ModelRegistryFile } from "./schema.ts";

export type LoadedRegistry = {
  readonly kind: "ok";
  readonly registry: ModelRegistry;
  readonly document: ConfigDocument;
};

/** The name that problems carry for the registry that is part of the program. */
const shippedRegistryName = "defaults/models.yaml";

/** The registry in a file, merged over the shipped one; without a file, the shipped one. Never throws. */
export function loadRegistry(path: string | undefined): LoadedRegistry | Invalid {
  // The text is part of the program, so that the single-file binary needs no file beside it.
  const shipped = parseConfig(String(shippedText), shippedRegistryName);
  if (shipped.kind === "invalid") return shipped;
  if (path === undefined) return registryIn(shipped.document);
  const own = readConfigFile(path, "MODEL_REGISTRY_PATH");
  return own.kind === "ok" ? registryIn(own.document, shipped.document.value) : own;
}

/** `base` is the plain data of the file under this one; both are maps `models:`. */
function registryIn(document: ConfigDocument, base?: unknown): LoadedRegistry | Invalid {
  const checked = validate(ModelRegistryFile, document, merged(base ?? {}, document.value));
  if (checked.kind === "invalid") return checked;
  const problems: Problem[] = [];
  const report: Report = (at, message, suggestion) => void problems.push(problemAt(document, at, message, suggestion));
  const models: Model[] = [];
  for (const [key, record] of Object.entries(checked.value.models)) {
    const written = writtenRecord(document.value, key);
    checkRecord(key, record, written, report);
    const ownPrices = base !== undefined && isSection(written["prices"]) ? Object.keys(written["prices"]) : [];
    models.push(modelOf(key, record, ownPrices));
  }
  const registry = modelRegistry(models);
  for (const role of ["worker", "senior"] as const) {
    if (registry.byRole[role] === undefined) {
      report(["models"], `no enabled model has the role ${role}`, `enable one, or add a record with role: ${role}`);
    }
  }
  if (problems.length > 0) return { kind: "invalid", problems: inOrder(problems) };
  return { kind: "ok", registry, document };
}

type Report = (at: readonly string[], message: string, suggestion?: string) => void;

function checkRecord(key: string, record: ModelRecord, written: Record<string, unknown>, report: Report): void {
  const at = ["models", key];
  const { role, free, context_tokens, max_output_tokens, default_output_tokens } = record;
  if (record.prices === undefined && !free) {
    report(at, "has no price, and is not free", "add prices: { input: …, output: … } in USD per million tokens");
  }
  if (role === "scout" && !free) {
    report([...at, "free"], "the scout is the free tier", "set free: true, or give the model another role");
  }
  if (role !== "scout" && free) {
    report([...at, "free"], `a free model cannot be ${role}: it would read sensitive requests`, "role: scout");
  }
  if ("max_output_tokens" in written && max_output_tokens > context_tokens) {
    report([...at, "max_output_tokens"], `${max_output_tokens} is above context_tokens (${context_tokens})`);
  }
  if ("default_output_tokens" in written && default_output_tokens > max_output_tokens) {
    report(
      [...at, "default_output_tokens"],
      `${default_output_tokens} is above max_output_tokens (${max_output_tokens})`,
    );
  }
}

/** What the file itself says of a model, not the one under it. */
function writtenRecord(document: unknown, key: string): Record<string, unknown> {
  const models = isSection(document) ? document["models"] : undefined;
  const record = isSection(models) ? models[key] : undefined;
  return isSection(record) ? record : {};
}

/** What the operator's file states of a price. Stated input and output are a price; less than that only amends one. */
function statedIn(prices: ModelRecord["prices"], named: readonly string[]): Pick<Model, "statedPrice" | "priceSource"> {
  if (prices === undefined || named.length === 0) return {};
  const own = Object.fromEntries(Object.entries(prices).filter(([name]) => named.includes(name)));
  const whole = own["input"] !== undefined && own["output"] !== undefined;
  return {
    statedPrice: partialPriceOf(own, prices.cached_input === undefined),
    ...(whole ? { priceSource: { kind: "registry_file" } } : {}),
  };
}

/** The maximum output is at most the context, and the default output at most the maximum. */
function modelOf(key: string, record: ModelRecord, pricesNamed: readonly string[]): Model {
  const { tool_turn_reasoning: toolTurnReasoning, max_in_flight: maxInFlight, output_limit: outputLimit } = record;
  const maxOutputTokens = Math.min(record.max_output_tokens, record.context_tokens);
  return {
    key,
    role: record.role,
    upstreamId: record.upstream_id,
    price: priceOf(record.prices),
    ...statedIn(record.prices, pricesNamed),
    contextTokens: record.context_tokens,
    maxOutputTokens,
    defaultOutputTokens: Math.min(record.default_output_tokens, maxOutputTokens),
    free: record.free,
    enabled: record.enabled,
    reasoning: record.reasoning,
    ...(toolTurnReasoning === "as_received" ? {} : { toolTurnReasoning }),
    ...(record.stream_options === "refused" && { refusesStreamOptions: true as const }),
    ...(outputLimit === "both" ? {} : { outputLimit }),
    ...(maxInFlight === undefined ? {} : { maxInFlight }),
    timeoutsMs: record.timeouts_ms as Model["timeoutsMs"], // a key that is absent in the file is absent here
  };
}

/** The file's records over the base's, field by field; its keys come first, in its order. Not yet checked. */
function merged(base: unknown, own: unknown): unknown {
  if (!isSection(base) || !isSection(own)) return own;
  const baseModels = isSection(base["models"]) ? base["models"] : {};
  const ownModels = own["models"] ?? {};
  if (!isSection(ownModels)) return own;
  const models: Record<string, unknown> = {};
  for (const [key, record] of Object.entries(ownModels)) models[key] = mergedSection(baseModels[key], record ?? {});
  for (const [key, record] of Object.entries(baseModels)) if (!(key in models)) models[key] = record;
  return { ...own, models };
}

function mergedSection(base: unknown, own: unknown): unknown {
  if (!isSection(base) || !isSection(own)) return own ?? base;
  const result: Record<string, unknown> = { ...base };
  for (const [key, value] of Object.entries(own))
    result[key] = isSection(value) ? mergedSection(base[key], value) : value;
  return result;
}

/** A model by the keys of the registry file, without its key and its prices. */
export function modelFields(model: Omit<Model, "key" | "price">) {
  return {
    role: model.role,
    upstream_id: model.upstreamId,
    context_tokens: model.contextTokens,
    max_output_tokens: model.maxOutputTokens,
    default_output_tokens: model.defaultOutputTokens,
    free: model.free,
    enabled: model.enabled,
    reasoning: model.reasoning,
    output_limit: model.outputLimit ?? "both",
    max_in_flight: model.maxInFlight ?? null,
    tool_turn_reasoning: model.toolTurnReasoning ?? "as_received",
    stream_options: model.refusesStreamOptions === true ? "refused" : "include_usage",
    timeouts_ms: model.timeoutsMs,
  };
}
