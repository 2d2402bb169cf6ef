import { storedPrices } from "#cli/databases.ts";
import type { Aggregator } from "#cli/options.ts";
import { hostAndPort } from "#config/host-names.ts";
import type { Config } from "#config/load-config.ts";
import { ownCommand, type Settings } from "#config/settings.ts";
import { formatUsd } from "#domain/money/money.ts";
import { updatedBook, withPriceBook } from "#models/price-book/price-book.ts";
import { listingsIn } from "#models/price-book/price-list.ts";
import { systemClock } from "#platform/system-clock.ts";
import { timerWheel } from "#platform/timers.ts";
import { getJson, type KeyUsage, readKeyUsage, readModelList, spentInDay } from "#upstream/aggregator.ts";
import { type Check, checkClock, errorCode, fail, ok, warn } from "./doctor-check.ts";
import { gatewayHealth } from "./healthcheck.ts";

const timing = { clock: systemClock, timers: timerWheel({ clock: systemClock }), timeoutMs: 8_000 };

export interface UpstreamChecks {
  readonly checks: readonly Check[];
  /** What the aggregator has counted for the key, where it tells. */
  readonly usage?: KeyUsage;
}

/**
 * Checks whether the upstream can be reached and accepts the key: with the HTTP client, proxies and certificates that calls use,
 * without a call that costs anything. Servers without a page about the key mostly require a key for their list of models.
 */
export async function checkUpstream({ baseUrl, apiKey }: Aggregator): Promise<UpstreamChecks> {
  const address = { baseUrl, ...(apiKey === undefined ? {} : { apiKey }), ...timing };
  let begunMs = Date.now();
  const usage = apiKey === undefined ? undefined : await readKeyUsage({ ...address, apiKey });
  const hasPage = usage !== undefined && usage.kind !== "unknown_page";
  if (!hasPage) begunMs = Date.now();
  const reply = hasPage ? usage : await getJson({ ...address, maxBytes: 32 * 1_048_576 }, "/models");
  if (reply.kind === "failed") {
    const advice = "check UPSTREAM_BASE_URL, the network, and any proxy";
    return { checks: [fail("upstream", `${baseUrl}: ${reply.detail}`, advice)] };
  }
  const endedMs = Date.now();
  const theirs = Date.parse(reply.date ?? "");
  const checks = [
    ok("upstream", `${baseUrl} answers in ${endedMs - begunMs} ms`),
    // The header has whole seconds: half a second is the best estimate of the fraction.
    ...(Number.isNaN(theirs) ? [] : [checkClock(theirs + 500 - (begunMs + endedMs) / 2, "the upstream's")]),
  ];
  if ("usage" in reply) return { checks: [...checks, checkKey(reply.usage)], usage: reply.usage };
  const status = "status" in reply ? reply.status : 200;
  if (reply.kind === "refused" || status === 401 || status === 403) {
    const advice = "set UPSTREAM_API_KEY to a key of this aggregator that is in force";
    checks.push(fail("key", `the upstream does not accept the key (${status})`, advice));
  } else if (apiKey !== undefined) {
    checks.push(ok("key", "not refused; this upstream tells nothing more about it"));
  }
  return { checks };
}

function checkKey(usage: KeyUsage): Check {
  const { limitRemaining: left } = usage;
  const limit = left === undefined ? "no limit" : `${formatUsd(left)} USD left of its limit`;
  const detail = `accepted; ${formatUsd(spentInDay(usage))} USD spent with it today (UTC), ${limit}`;
  if (left === undefined || left > 0) return ok("key", detail);
  return warn("key", detail, "raise the key's limit at the aggregator: paid calls are refused");
}

/** The list is read daily: an older price means that the list cannot be read. */
const staleMs = 3 * 86_400_000;

/**
 * Checks the registry's prices against the aggregator's list: with `baseUrl` as it is now, and ids that are gone, expire or refer to
 * another model are reported too; else as gateways have last read it.
 */
export async function checkPrices(settings: Settings, config: Config, baseUrl: string | undefined): Promise<Check> {
  const book = await storedPrices(settings, config.policy);
  if (book === undefined) return ok("prices", "those of the model registry; no list is read from this upstream");
  const reply = baseUrl === undefined ? undefined : await readModelList({ baseUrl, ...timing });
  const models = [...withPriceBook(config.registry, book).models.values()].filter(({ enabled }) => enabled);
  const advice = `\`${ownCommand(process.env)} models sync\` shows the whole difference; correct MODEL_REGISTRY_PATH, or leave the prices to the list`;
  if (reply?.kind !== "ok") {
    if (book.size === 0) return ok("prices", "the aggregator's list is read when a gateway starts");
    const confirmed = models.filter(({ priceSource }) => (priceSource?.kind ?? "shipped") !== "shipped").length;
    const readMs = Math.max(...[...book.values()].map(({ atMs }) => atMs));
    const detail = `${confirmed} of ${models.length} confirmed, list read ${new Date(readMs).toISOString()}`;
    return Date.now() - readMs > staleMs ? warn("prices", detail, advice) : ok("prices", detail);
  }
  const listings = listingsIn(reply.list, new Map(models.map(({ upstreamId, free }) => [upstreamId, { free }])));
  const priced = models.filter(({ upstreamId }) => listings.get(upstreamId)?.price !== undefined);
  const { drifts } = updatedBook(book, listings, [...config.registry.models.values()], Date.now());
  const lines = [
    `${priced.length} of ${models.length} listed at a price now`,
    ...drifts.map(({ model, reason, detail }) => `${model}: ${reason.replaceAll("_", " ")}: ${detail}`),
  ];
  return lines.length === 1 && priced.length === models.length
    ? ok("prices", lines.join("\n"))
    : warn("prices", lines.join("\n"), advice);
}

/** Checks whether a gateway can listen at its address, or already does. */
export async function checkPort({ host, port }: Pick<Settings, "host" | "port">): Promise<Check> {
  if (port === 0) return ok("port", "any free port");
  const address = hostAndPort(host, port);
  try {
    Bun.listen({ hostname: host, port, exclusive: true, socket: { data() {} } }).stop(true);
    return ok("port", `${address} is free`);
  } catch (error) {
    const code = errorCode(error);
    if (code !== "EADDRINUSE") return fail("port", `${address} ${code}`, "check HOST and PORT");
  }
  if ((await gatewayHealth(host, port)) !== undefined) return ok("port", `a Smart Gateway answers at ${address}`);
  return warn("port", `${address} is taken by another program`, "end that program, or set PORT");
}
