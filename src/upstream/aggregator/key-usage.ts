import { isObject, type Json } from "#domain/chat.ts";
import { type NanoUsd, saturatedUsd, usdToNano } from "#domain/money/money.ts";
import { type AggregatorQuery, getJson } from "./get-json.ts";

export interface KeyUsageOptions extends Pick<AggregatorQuery, "baseUrl" | "apiKey" | "clock" | "timers" | "signal"> {
  /** The whole exchange may take so long. Default 10 s. */
  readonly timeoutMs?: number;
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

export type KeyUsageReply = { readonly date?: string } & (
  | { readonly kind: "ok"; readonly usage: KeyUsage }
  /** The key is not accepted. */
  | { readonly kind: "refused"; readonly status: number }
  /** The server answers, but has no such page. */
  | { readonly kind: "unknown_page"; readonly status: number }
  /** `detail` is the gateway's own text. */
  | { readonly kind: "failed"; readonly detail: string }
);

/** Asks the aggregator what was spent with the key today (`GET /key`). It costs nothing. Never rejects. */
export async function readKeyUsage(options: KeyUsageOptions): Promise<KeyUsageReply> {
  const reply = await getJson({ timeoutMs: 10_000, maxBytes: 65_536, ...options }, "/key");
  if (reply.kind === "failed") return reply;
  const dated = reply.date === undefined ? {} : { date: reply.date };
  if (reply.kind === "status") {
    const { status } = reply;
    if (status === 401 || status === 403) return { kind: "refused", status, ...dated };
    if (status === 404 || status === 405) return { kind: "unknown_page", status, ...dated };
    return { kind: "failed", detail: `it answered ${status}`, ...dated };
  }
  const usage = usageIn(reply.value);
  return usage === undefined
    ? { kind: "failed", detail: "its answer does not say what was spent today", ...dated }
    : { kind: "ok", usage, ...dated };
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
