import { isObject, type Json } from "#domain/chat.ts";
import { type NanoUsd, saturatedUsd, usdToNano } from "#domain/money/money.ts";
import { HttpAgent } from "#http-client/http-agent.ts";
import type { HttpExchange } from "#http-client/http-exchange.ts";
import { decompressed } from "#http-client/response/body-text.ts";
import { nextOf } from "#platform/receiver.ts";
import type { Clock, Timers } from "#platform/time.ts";
import { awaitedBy, transportFailure } from "./failures.ts";
import { usageReport } from "./usage.ts";

/** How DeepSeek's models behind a base URL want the reasoning of tool runs back: the host knows one name, the aggregator several. */
export function wantedReasoning(baseUrl: string): "required" | "any_name" | undefined {
  if (isOpenRouter(baseUrl)) return "any_name";
  return new URL(baseUrl).hostname === "api.deepseek.com" ? "required" : undefined;
}

/** Whether a base URL is OpenRouter's: the aggregator whose price limit and price list are known. */
function isOpenRouter(baseUrl: string): boolean {
  const { hostname } = new URL(baseUrl);
  return hostname === "openrouter.ai" || hostname.endsWith(".openrouter.ai");
}

/** `auto` means on where the aggregator is known to have it. Without a base URL (demo mode) only `on` does. */
export function isEnabled(choice: "auto" | "on" | "off", baseUrl: string | undefined): boolean {
  return choice === "auto" ? baseUrl !== undefined && isOpenRouter(baseUrl) : choice === "on";
}

/** Names the aggregator in the price book. The simulator's port is another at each start, and its prices are the registry's. */
export function priceSourceOf(
  upstream: { readonly kind: "demo" } | { readonly kind: "aggregator"; readonly baseUrl: string },
) {
  return upstream.kind === "demo" ? "simulator" : upstream.baseUrl;
}

/** `detail` is the gateway's own text: nothing that the server sent is in it. */
export interface FailedQuery {
  readonly kind: "failed";
  readonly detail: string;
}

function failed(detail: string): FailedQuery {
  return { kind: "failed", detail };
}

/** What a question to the aggregator beside the calls is made with. */
export interface QueryOptions {
  readonly baseUrl: string;
  /** Sent as bearer token; absent: none is sent. */
  readonly apiKey?: string;
  readonly clock: Pick<Clock, "monotonic">;
  readonly timers: Timers;
  /** Ends it early. */
  readonly signal?: AbortSignal;
  /** The whole exchange may take so long. */
  readonly timeoutMs?: number;
  /** A larger answer is not read. */
  readonly maxBytes?: number;
}

export type AggregatorQuery = QueryOptions & Required<Pick<QueryOptions, "timeoutMs" | "maxBytes">>;

export type JsonReply =
  | { readonly kind: "ok"; readonly value: Json }
  /** The body is not read. */
  | { readonly kind: "status"; readonly status: number }
  | FailedQuery;

/**
 * GETs JSON at `{baseUrl}{path}`, over the HTTP client that calls use: the same proxies and certificates; redirects are
 * not followed. The JSON is not validated. Never rejects.
 */
export async function getJson(query: AggregatorQuery, path: string): Promise<JsonReply> {
  const { apiKey, signal, timeoutMs, maxBytes } = query;
  let exchange: HttpExchange | undefined;
  let late = false;
  const cancelTimer = query.timers.after(timeoutMs, () => {
    late = true;
    exchange?.cancel();
  });
  const abort = () => exchange?.cancel();
  signal?.addEventListener("abort", abort, { once: true });
  let answered = false;
  try {
    const agent = new HttpAgent({
      url: `${query.baseUrl.replace(/(?<!\/)\/+$/, "")}${path}`,
      now: () => query.clock.monotonic(),
    });
    const head = agent.head(
      {
        ...(apiKey === undefined || apiKey === "" ? {} : { authorization: `Bearer ${apiKey}` }),
        accept: "application/json",
        "accept-encoding": "identity",
        "user-agent": "smart-gateway/1",
      },
      "GET",
    );
    exchange = agent.get(head, () => undefined);
    const { status } = await exchange.head();
    answered = true;
    if (status !== 200) return { kind: "status", status };
    const body = exchange.coding === undefined ? exchange : decompressed(exchange, exchange.coding);
    if (body === undefined) return failed("its answer is compressed in a way that is not known");
    const parts: string[] = [];
    let bytes = 0;
    for (let read = await nextOf(body); read !== undefined; read = await nextOf(body)) {
      bytes += Buffer.byteLength(read);
      if (bytes > maxBytes) return failed(`its answer is larger than ${maxBytes} bytes`);
      parts.push(read);
    }
    return { kind: "ok", value: JSON.parse(parts.join("")) };
  } catch (error) {
    // The parser's message quotes the answer, which must not be repeated.
    if (error instanceof SyntaxError) return failed("its answer is not JSON");
    if (!late) return failed(transportFailure(error, answered).message);
    const awaited = exchange?.sent === false ? awaitedBy(error) : undefined;
    return failed(
      `it did not answer within ${timeoutMs} ms${awaited === undefined ? "" : `, while waiting for ${awaited}`}`,
    );
  } finally {
    cancelTimer();
    signal?.removeEventListener("abort", abort);
    exchange?.cancel();
  }
}

export type GenerationReply =
  /** The whole cost of the call, in nano-USD. */
  | { readonly kind: "billed"; readonly costNanoUsd: number }
  /** Not known yet: the record appears some seconds after the call. */
  | { readonly kind: "not_found" }
  | FailedQuery;

/** Asks the aggregator what it has billed for one call. Proxies as for calls, no redirects. Never rejects. */
export async function readGeneration(options: QueryOptions, id: string): Promise<GenerationReply> {
  const query = { timeoutMs: 10_000, maxBytes: 65_536, ...options };
  const reply = await getJson(query, `/generation?id=${encodeURIComponent(id)}`);
  if (reply.kind === "failed") return reply;
  if (reply.kind === "ok") return billedIn(reply.value);
  return reply.status === 404 ? { kind: "not_found" } : failed(`it answered ${reply.status}`);
}

/** `data.total_cost`, and with a key of the operator's own at the host also what the host charges, as in a usage report. */
function billedIn(record: Json): GenerationReply {
  const data = isObject(record) ? record["data"] : undefined;
  if (!isObject(data)) return failed("its answer has no data");
  const { costNanoUsd } = usageReport({
    cost: data["total_cost"] ?? null,
    is_byok: data["is_byok"] ?? false,
    cost_details: { upstream_inference_cost: data["upstream_inference_cost"] ?? null },
  });
  // A record without its cost is not finished.
  return costNanoUsd === undefined ? { kind: "not_found" } : { kind: "billed", costNanoUsd };
}

/** What the aggregator says of the key that calls are made with. All amounts in nano-USD. */
export interface KeyUsage {
  /** Spent with the key since the UTC day began: the aggregator's own credits. */
  readonly dayCredits: NanoUsd;
  /** The same on the operator's own accounts with hosts (`is_byok`). */
  readonly dayOwnAccounts: NanoUsd;
  /** What may still be spent; absent where the key has no limit. */
  readonly limitRemaining?: NanoUsd;
}

export type KeyUsageReply =
  | { readonly kind: "ok"; readonly usage: KeyUsage }
  /** The key is not accepted. */
  | { readonly kind: "refused"; readonly status: number }
  /** The server answers, but has no such page. */
  | { readonly kind: "unknown_page"; readonly status: number }
  | FailedQuery;

/** Asks the aggregator what was spent with the key today (`GET /key`). It costs nothing. Never rejects. */
export async function readKeyUsage(options: QueryOptions): Promise<KeyUsageReply> {
  const reply = await getJson({ timeoutMs: 10_000, maxBytes: 65_536, ...options }, "/key");
  if (reply.kind === "failed") return reply;
  if (reply.kind === "status") {
    const { status } = reply;
    if (status === 401 || status === 403) return { kind: "refused", status };
    if (status === 404 || status === 405) return { kind: "unknown_page", status };
    return { kind: "failed", detail: `it answered ${status}` };
  }
  const usage = usageIn(reply.value);
  return usage === undefined
    ? { kind: "failed", detail: "its answer does not say what was spent today" }
    : { kind: "ok", usage };
}

function usageIn(answer: Json): KeyUsage | undefined {
  const data = isObject(answer) ? answer["data"] : undefined;
  if (!isObject(data)) return undefined;
  const dayCredits = amountIn(data["usage_daily"]);
  const dayOwnAccounts = amountIn(data["byok_usage_daily"] ?? 0);
  if (dayCredits === undefined || dayOwnAccounts === undefined) return undefined;
  const limitRemaining = amountIn(data["limit_remaining"]);
  return { dayCredits, dayOwnAccounts, ...(limitRemaining === undefined ? {} : { limitRemaining }) };
}

/** All that was spent in the day, as the ledger counts it: also what the operator's own accounts with hosts were charged. */
export function spentInDay({ dayCredits, dayOwnAccounts }: KeyUsage): NanoUsd {
  return saturatedUsd(dayCredits + dayOwnAccounts);
}

function amountIn(value: Json | undefined): NanoUsd | undefined {
  return typeof value === "number" ? usdToNano(Math.max(0, value)) : undefined;
}

/** JSON that is not validated. */
export type ModelListReply = { readonly kind: "ok"; readonly list: Json } | FailedQuery;

/** The hosts of one model (`GET /models/{author}/{slug}/endpoints`) with their prices and limits. Never rejects. */
export async function readModelHosts(options: QueryOptions, modelId: string): Promise<ModelListReply> {
  // A colon (`:free`) stands as it is in the aggregator's own links.
  const path = modelId.split("/").map((part) => encodeURIComponent(part).replaceAll("%3A", ":"));
  return readModels({ timeoutMs: 15_000, maxBytes: 4 * 1_048_576, ...options }, `/models/${path.join("/")}/endpoints`);
}

/** The aggregator's public list of models (`GET /models`, without the key). Never rejects. */
export function readModelList(options: Omit<QueryOptions, "apiKey">): Promise<ModelListReply> {
  return readModels({ timeoutMs: 15_000, maxBytes: 32 * 1_048_576, ...options }, "/models");
}

async function readModels(query: AggregatorQuery, path: string): Promise<ModelListReply> {
  const reply = await getJson(query, path);
  if (reply.kind === "status")
    return failed(reply.status === 404 ? "it does not know them" : `it answered ${reply.status}`);
  return reply.kind === "ok" ? { kind: "ok", list: reply.value } : reply;
}
