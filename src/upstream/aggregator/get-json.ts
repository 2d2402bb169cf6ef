import type { Json } from "#domain/chat.ts";
import { HttpAgent } from "#http-client/http-agent.ts";
import type { HttpExchange } from "#http-client/http-exchange.ts";
import { decompressed } from "#http-client/response/body-text.ts";
import { valuesOf } from "#platform/receiver.ts";
import type { Clock, Timers } from "#platform/time.ts";
import { awaitedBy, transportFailure } from "#upstream/failures.ts";

/** What a question to the aggregator beside the calls is made with. */
export interface AggregatorQuery {
  readonly baseUrl: string;
  /** Sent as bearer token; absent: none is sent. */
  readonly apiKey?: string;
  readonly clock: Pick<Clock, "monotonic">;
  readonly timers: Timers;
  /** The whole exchange may take so long. */
  readonly timeoutMs: number;
  /** Ends it early. */
  readonly signal?: AbortSignal;
  /** A larger answer is not read. */
  readonly maxBytes: number;
}

export type JsonReply =
  /** `date` is the answer's `Date` header. */
  | { readonly kind: "ok"; readonly value: Json; readonly date?: string }
  /** The body is not read. */
  | { readonly kind: "status"; readonly status: number; readonly date?: string }
  /** `detail` is the gateway's own text: nothing that the server sent is in it. */
  | { readonly kind: "failed"; readonly detail: string };

/**
 * GETs JSON at `{baseUrl}{path}`, over the HTTP client that calls use: the same proxies and certificates; redirects are not
 * followed. The JSON is not validated. Never rejects.
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
      url: `${query.baseUrl.replace(/\/+$/, "")}${path}`,
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
    const { status, headers } = await exchange.head();
    answered = true;
    const date = headers.get("date");
    const dated = date === undefined ? {} : { date };
    if (status !== 200) return { kind: "status", status, ...dated };
    const body = exchange.coding === undefined ? exchange : decompressed(exchange, exchange.coding);
    if (body === undefined) return failed("its answer is compressed in a way that is not known");
    const parts: string[] = [];
    let bytes = 0;
    for await (const read of valuesOf(body)) {
      bytes += Buffer.byteLength(read);
      if (bytes > maxBytes) return failed(`its answer is larger than ${maxBytes} bytes`);
      parts.push(read);
    }
    const value = parsed(parts.join(""));
    // The parser's message quotes the answer, which must not be repeated.
    return value === undefined ? failed("its answer is not JSON") : { kind: "ok", value, ...dated };
  } catch (error) {
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

function parsed(text: string): Json | undefined {
  try {
    return JSON.parse(text);
  } catch {
    return undefined; // said by the caller
  }
}

function failed(detail: string): JsonReply {
  return { kind: "failed", detail };
}
