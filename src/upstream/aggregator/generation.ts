import { isObject, type Json } from "#domain/chat.ts";
import { HttpAgent } from "#http-client/http-agent.ts";
import type { HttpExchange } from "#http-client/http-exchange.ts";
import { decompressed } from "#http-client/response/compressed-body.ts";
import type { Clock, Timers } from "#platform/time.ts";
import { transportFailure } from "#upstream/failures.ts";
import { usageReport } from "#upstream/usage.ts";

export interface GenerationLookupOptions {
  /** Asked at `{baseUrl}/generation?id=ID`. */
  readonly baseUrl: string;
  readonly apiKey?: string;
  readonly clock: Pick<Clock, "monotonic">;
  readonly timers: Timers;
  /** The whole exchange may take so long. Default 10 s. */
  readonly timeoutMs?: number;
}

export type GenerationReply =
  /** The whole cost of the call, in nano-USD. */
  | { readonly kind: "billed"; readonly costNanoUsd: number }
  /** Not known yet: the record appears some seconds after the call. */
  | { readonly kind: "not_found" }
  /** `detail` is the gateway's own text. */
  | { readonly kind: "failed"; readonly detail: string };

/** A record is some kilobytes; no more of an answer is read than this. */
const maxBytes = 65_536;

/** Asks the aggregator what it has billed for one call. Proxies as for calls, no redirects. Never rejects. */
export async function readGeneration(options: GenerationLookupOptions, id: string): Promise<GenerationReply> {
  const { apiKey, timeoutMs = 10_000 } = options;
  let exchange: HttpExchange | undefined;
  let late = false;
  const cancelTimer = options.timers.after(timeoutMs, () => {
    late = true;
    exchange?.cancel();
  });
  let answered = false;
  try {
    const agent = new HttpAgent({
      url: `${options.baseUrl.replace(/\/+$/, "")}/generation?id=${encodeURIComponent(id)}`,
      now: () => options.clock.monotonic(),
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
    if (status === 404) return { kind: "not_found" };
    if (status !== 200) return failed(`it answered ${status}`);
    const body = exchange.coding === undefined ? exchange : decompressed(exchange, exchange.coding);
    if (body === undefined) return failed("its answer is compressed in a way that is not known");
    let text = "";
    for (let read = await body.read(); !read.done; read = await body.read()) {
      text += read.value;
      if (text.length > maxBytes) return failed(`its answer is larger than ${maxBytes} characters`);
    }
    return billedIn(text);
  } catch (error) {
    return failed(late ? `it did not answer within ${timeoutMs} ms` : transportFailure(error, answered).message);
  } finally {
    cancelTimer();
    exchange?.cancel();
  }
}

/** `data.total_cost`, and with a key of the operator's own at the host also what the host charges, as in a usage report. */
function billedIn(text: string): GenerationReply {
  let record: Json;
  try {
    record = JSON.parse(text);
  } catch {
    return failed("its answer is not JSON");
  }
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

function failed(detail: string): GenerationReply {
  return { kind: "failed", detail };
}
