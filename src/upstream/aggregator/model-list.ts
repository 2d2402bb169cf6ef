import type { Json } from "#domain/chat.ts";
import { HttpAgent } from "#http-client/http-agent.ts";
import type { HttpExchange } from "#http-client/http-exchange.ts";
import { decompressed } from "#http-client/response/compressed-body.ts";
import type { Clock, Timers } from "#platform/time.ts";
import { transportFailure } from "#upstream/failures.ts";

export interface ModelListOptions {
  /** The list is asked for at `{baseUrl}/models`. */
  readonly baseUrl: string;
  readonly clock: Pick<Clock, "monotonic">;
  readonly timers: Timers;
  /** The whole exchange may take so long. Default 15 s. */
  readonly timeoutMs?: number;
  /** Ends it early. */
  readonly signal?: AbortSignal;
  /** A larger list is not read. Default 32 MiB. */
  readonly maxBytes?: number;
}

export type ModelListReply =
  | { readonly kind: "ok"; readonly list: Json }
  /** `detail` is the gateway's own text: nothing that the server sent is in it. */
  | { readonly kind: "failed"; readonly detail: string };

/**
 * The aggregator's public list of models (`GET /models`), as JSON that is not validated. No key is sent, proxies of
 * the environment are used as for calls, redirects are not followed. Never rejects.
 */
export async function readModelList(options: ModelListOptions): Promise<ModelListReply> {
  const timeoutMs = options.timeoutMs ?? 15_000;
  const maxBytes = options.maxBytes ?? 32 * 1_048_576;
  let exchange: HttpExchange | undefined;
  let late = false;
  const cancelTimer = options.timers.after(timeoutMs, () => {
    late = true;
    exchange?.cancel();
  });
  const abort = () => exchange?.cancel();
  options.signal?.addEventListener("abort", abort, { once: true });
  let answered = false;
  try {
    const agent = new HttpAgent({
      url: `${options.baseUrl.replace(/\/+$/, "")}/models`,
      now: () => options.clock.monotonic(),
    });
    const head = agent.head(
      { accept: "application/json", "accept-encoding": "identity", "user-agent": "smart-gateway/1" },
      "GET",
    );
    exchange = agent.get(head, () => undefined);
    const { status } = await exchange.head();
    answered = true;
    if (status !== 200) return failed(`it answered ${status}`);
    const body = exchange.coding === undefined ? exchange : decompressed(exchange, exchange.coding);
    if (body === undefined) return failed("its answer is compressed in a way that is not known");
    const parts: string[] = [];
    let bytes = 0;
    for (let read = await body.read(); !read.done; read = await body.read()) {
      bytes += Buffer.byteLength(read.value);
      if (bytes > maxBytes) return failed(`its answer is larger than ${maxBytes} bytes`);
      parts.push(read.value);
    }
    return listIn(parts.join(""));
  } catch (error) {
    return failed(late ? `it did not answer within ${timeoutMs} ms` : transportFailure(error, answered).message);
  } finally {
    cancelTimer();
    options.signal?.removeEventListener("abort", abort);
    exchange?.cancel();
  }
}

function listIn(text: string): ModelListReply {
  try {
    return { kind: "ok", list: JSON.parse(text) };
  } catch {
    // The parser's message quotes the answer, which must not be repeated.
    return failed("its answer is not JSON");
  }
}

function failed(detail: string): ModelListReply {
  return { kind: "failed", detail };
}
