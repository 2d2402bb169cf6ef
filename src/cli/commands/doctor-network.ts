import { createServer } from "node:net";
import { storedPrices } from "#cli/databases.ts";
import type { Aggregator } from "#cli/options.ts";
import { hostAndPort } from "#config/host-names.ts";
import type { Config } from "#config/load-config.ts";
import { ownCommand, type Settings } from "#config/settings.ts";
import type { Model } from "#domain/model.ts";
import { formatUsd } from "#domain/money/money.ts";
import { driftBetween, type PriceBook, updatedBook, withPriceBook } from "#models/price-book/price-book.ts";
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
  const spent = `accepted; ${formatUsd(spentInDay(usage))} USD spent with it today (UTC)`;
  const { limitRemaining } = usage;
  if (limitRemaining === undefined) return ok("key", `${spent}, no limit`);
  const detail = `${spent}, ${formatUsd(limitRemaining)} USD left of its limit`;
  if (limitRemaining > 0) return ok("key", detail);
  return warn("key", detail, "raise the key's limit at the aggregator: paid calls are refused");
}

/** How long a change of price is reported. */
const recentMs = 7 * 86_400_000;
/** The list is read daily: an older price means that the list cannot be read. */
const staleMs = 3 * 86_400_000;

/**
 * Checks the registry's prices: their source, their age, and their difference to the aggregator's list. With `baseUrl` the list is
 * read now, and ids that are gone, expire or refer to another model are reported too.
 */
export async function checkPrices(settings: Settings, config: Config, baseUrl: string | undefined): Promise<Check> {
  const book = await storedPrices(settings, config.policy);
  if (book === undefined) return ok("prices", "those of the model registry; no list is read from this upstream");
  const reply = baseUrl === undefined ? undefined : await readModelList({ baseUrl, ...timing });
  const listed = reply?.kind === "ok" ? pricesListed(config, book, reply.list) : undefined;
  if (listed === undefined && book.size === 0)
    return ok("prices", "the aggregator's list is read when a gateway starts");
  const { summary, problems } = listed ?? pricesStored(config, book);
  const detail = [summary, ...problems].join("\n");
  if (problems.length === 0) return ok("prices", detail);
  return warn(
    "prices",
    detail,
    `\`${ownCommand(process.env)} models sync\` shows the whole difference; correct MODEL_REGISTRY_PATH, or leave the prices to the list`,
  );
}

interface Prices {
  readonly summary: string;
  readonly problems: readonly string[];
}

/** By the list as it is now. */
function pricesListed({ registry }: Config, known: PriceBook, list: Parameters<typeof listingsIn>[0]): Prices {
  const models = [...registry.models.values()].filter(({ enabled }) => enabled);
  const listings = listingsIn(list, new Map(models.map(({ upstreamId, free }) => [upstreamId, { free }])));
  const unpriced = models.filter(({ upstreamId }) => listings.get(upstreamId)?.price === undefined);
  const { drifts } = updatedBook(known, listings, models, Date.now());
  const reasons: Readonly<Record<string, string>> = {
    list_changed: "changed by more than half: ",
    list_differs: "your registry file and the list differ: ",
  };
  const named = drifts.map(({ model }) => model);
  return {
    summary: `${models.length - unpriced.length} of ${models.length} listed at a price now`,
    problems: [
      ...drifts.map(({ model, reason, detail }) => `${model}: ${reasons[reason] ?? ""}${detail}`),
      ...unpriced.filter(({ key }) => !named.includes(key)).map(({ key }) => `${key}: listed without a price`),
    ],
  };
}

/** By the list as gateways have last read it. */
function pricesStored({ registry }: Config, book: PriceBook): Prices {
  const models = [...withPriceBook(registry, book).models.values()].filter(({ enabled }) => enabled);
  const confirmed = models.filter(({ priceSource }) => (priceSource?.kind ?? "shipped") !== "shipped").length;
  const newest = Math.max(...[...book.values()].map(({ atMs }) => atMs));
  return {
    summary: `${confirmed} of ${models.length} confirmed, list read ${isoTime(newest)}`,
    problems: models.flatMap((model) => problemsOf(model, book).map((problem) => `${model.key}: ${problem}`)),
  };
}

function problemsOf({ upstreamId, price, priceSource }: Model, book: PriceBook): readonly string[] {
  const entry = book.get(upstreamId);
  if (priceSource?.kind === "registry_file") {
    const drift = entry === undefined ? undefined : driftBetween(price, entry.price);
    return drift === undefined ? [] : [`your registry file and the list differ: ${drift}`];
  }
  if (entry === undefined) return ["the list has never named a price; no price limit is sent for it"];
  const { changed, atMs } = entry;
  const recent = changed !== undefined && Date.now() - changed.atMs < recentMs ? changed : undefined;
  const drift = recent === undefined ? undefined : driftBetween(recent.from, entry.price);
  return [
    ...(Date.now() - atMs > staleMs ? [`last named by the list ${isoTime(atMs)}`] : []),
    ...(recent === undefined || drift === undefined ? [] : [`changed ${isoTime(recent.atMs)}: ${drift}`]),
  ];
}

function isoTime(ms: number): string {
  return new Date(ms).toISOString();
}

/** Checks whether a gateway can listen at its address, or already does. */
export async function checkPort({ host, port }: Pick<Settings, "host" | "port">): Promise<Check> {
  if (port === 0) return ok("port", "any free port");
  const address = hostAndPort(host, port);
  const problem = await listenProblem(host, port);
  if (problem === undefined) return ok("port", `${address} is free`);
  if (problem !== "EADDRINUSE") return fail("port", `${address} ${problem}`, "check HOST and PORT");
  if ((await gatewayHealth(host, port)) !== undefined) return ok("port", `a Smart Gateway answers at ${address}`);
  return warn("port", `${address} is taken by another program`, "end that program, or set PORT");
}

function listenProblem(host: string, port: number): Promise<string | undefined> {
  return new Promise((done) => {
    const server = createServer();
    server.once("error", (error) => done(errorCode(error)));
    server.listen(port, host, () => server.close(() => done(undefined)));
  });
}
