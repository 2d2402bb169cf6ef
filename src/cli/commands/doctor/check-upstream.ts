import { formatUsd } from "#domain/money/money.ts";
import type { Clock, Timers } from "#platform/time.ts";
import { getJson, type KeyUsage, type KeyUsageReply, readKeyUsage, spentInDay } from "#upstream/aggregator.ts";
import { type Check, clockCheck } from "./check.ts";

export interface UpstreamCheck {
  readonly checks: readonly Check[];
  /** What the aggregator has counted for the key, where it tells. */
  readonly usage?: KeyUsage;
}

interface Address {
  readonly baseUrl: string;
  readonly apiKey?: string;
}

const timeoutMs = 8_000;

/**
 * Checks whether the upstream can be reached and accepts the key: with the HTTP client, proxies and certificates that calls use,
 * without a call that costs anything.
 */
export async function checkUpstream(address: Address, clock: Clock, timers: Timers): Promise<UpstreamCheck> {
  const { baseUrl, apiKey } = address;
  const begunMs = clock.now();
  const reply: KeyUsageReply =
    apiKey === undefined
      ? { kind: "unknown_page", status: 404 }
      : await readKeyUsage({ ...address, clock, timers, timeoutMs });
  if (reply.kind === "failed") {
    const advice = "check UPSTREAM_BASE_URL, the network, and any proxy";
    return { checks: [{ name: "upstream", status: "fail", detail: `${baseUrl}: ${reply.detail}`, advice }] };
  }
  if (reply.kind === "unknown_page") return checkByModels(address, clock, timers);
  const checks: Check[] = [
    { name: "upstream", status: "ok", detail: `${baseUrl} answers in ${clock.now() - begunMs} ms` },
    ...dateChecks(reply.date, begunMs, clock.now()),
  ];
  if (reply.kind === "refused") return { checks: [...checks, keyRefused(reply.status)] };
  return { checks: [...checks, keyCheck(reply.usage)], usage: reply.usage };
}

/** Servers without a page about the key mostly require a key for their list of models. */
async function checkByModels(address: Address, clock: Clock, timers: Timers): Promise<UpstreamCheck> {
  const { baseUrl, apiKey } = address;
  const begunMs = clock.now();
  const reply = await getJson({ ...address, clock, timers, timeoutMs, maxBytes: 32 * 1_048_576 }, "/models");
  if (reply.kind === "failed") {
    const advice = "check UPSTREAM_BASE_URL, the network, and any proxy";
    return { checks: [{ name: "upstream", status: "fail", detail: `${baseUrl}: ${reply.detail}`, advice }] };
  }
  const checks: Check[] = [
    { name: "upstream", status: "ok", detail: `${baseUrl} answers in ${clock.now() - begunMs} ms` },
    ...dateChecks(reply.date, begunMs, clock.now()),
  ];
  if (reply.kind === "status" && (reply.status === 401 || reply.status === 403)) checks.push(keyRefused(reply.status));
  else if (apiKey !== undefined)
    checks.push({ name: "key", status: "ok", detail: "not refused; this upstream tells nothing more about it" });
  return { checks };
}

function keyRefused(status: number): Check {
  const advice = "set UPSTREAM_API_KEY to a key of this aggregator that is in force";
  return { name: "key", status: "fail", detail: `the upstream does not accept the key (${status})`, advice };
}

function keyCheck(usage: KeyUsage): Check {
  const spent = `accepted; ${formatUsd(spentInDay(usage))} USD spent with it today (UTC)`;
  const { limitRemaining } = usage;
  if (limitRemaining === undefined) return { name: "key", status: "ok", detail: `${spent}, no limit` };
  const detail = `${spent}, ${formatUsd(limitRemaining)} USD left of its limit`;
  if (limitRemaining > 0) return { name: "key", status: "ok", detail };
  return {
    name: "key",
    status: "warn",
    detail,
    advice: "raise the key's limit at the aggregator: paid calls are refused",
  };
}

function dateChecks(date: string | undefined, begunMs: number, endedMs: number): Check[] {
  const theirs = Date.parse(date ?? "");
  // The header has whole seconds: half a second is the best estimate of the fraction.
  return Number.isNaN(theirs) ? [] : [clockCheck(theirs + 500 - (begunMs + endedMs) / 2, "the upstream's")];
}
