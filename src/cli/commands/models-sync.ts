import { stringify } from "yaml";
import { storedPrices } from "#cli/databases.ts";
import { aggregatorSettings } from "#cli/options.ts";
import { exitCodes, failed, type OutputOptions, print, textTable, valid } from "#cli/output.ts";
import type { Model, ModelRegistry, Price, Rates } from "#domain/model.ts";
import { formatUsd } from "#domain/money/money.ts";
import { loadRegistry } from "#models/load-registry.ts";
import { listingsIn } from "#models/price-book/price-list.ts";
import { diffOf, type HostsRead, hostsIn, type ModelDiff, timeOf } from "#models/registry-diff.ts";
import { systemClock } from "#platform/system-clock.ts";
import { timerWheel } from "#platform/timers.ts";
import { readModelHosts, readModelList } from "#upstream/aggregator.ts";

/** The registry against the aggregator's lists. Writes nothing: it prints the lines that a registry file would need. */
export async function sync(file: string | undefined, options: OutputOptions): Promise<void> {
  const path = file ?? aggregatorSettings().settings.registryPath;
  const diffs = await readDiffs(valid(loadRegistry(path)).registry);
  const complete = diffs.every(({ problem }) => problem === undefined);
  const models = diffs.map(recordOf);
  print({ ok: complete, complete, models }, options, diffText(models) + registryLines(diffs));
  if (!complete) process.exitCode = exitCodes.failed;
}

/** Both lists, for every model of the registry; hosts are not requested for models that are disabled or not listed. */
async function readDiffs(registry: ModelRegistry): Promise<readonly ModelDiff[]> {
  const { settings, upstream } = aggregatorSettings();
  const { baseUrl, apiKey } = upstream;
  const connection = { baseUrl, clock: systemClock, timers: timerWheel({ clock: systemClock }) };
  const reply = await readModelList(connection);
  if (reply.kind === "failed") throw failed(`the aggregator's list could not be read: ${reply.detail}`);
  const models = [...registry.models.values()];
  const listings = listingsIn(reply.list, new Map(models.map(({ upstreamId, free }) => [upstreamId, { free }])));
  const book = await storedPrices(settings);
  const keyed = apiKey === undefined ? connection : { ...connection, apiKey };
  const diffs: ModelDiff[] = [];
  for (const model of models) {
    const { upstreamId, enabled } = model;
    const listing = listings.get(upstreamId);
    const hosts: HostsRead =
      listing === undefined || !enabled
        ? { kind: "ok", hosts: [] }
        : hostsRead(await readModelHosts(keyed, upstreamId), model);
    diffs.push(diffOf(model, listing, hosts, book.get(upstreamId)?.canonical, Date.now()));
  }
  return diffs;
}

function hostsRead(reply: Awaited<ReturnType<typeof readModelHosts>>, model: Model): HostsRead {
  if (reply.kind === "failed") return reply;
  const hosts = hostsIn(reply.list, model);
  return hosts === undefined ? { kind: "failed", detail: "the answer cannot be read" } : { kind: "ok", hosts };
}

/** The listed prices of paid, enabled models that differ, as lines of the registry file. */
function registryLines(diffs: readonly ModelDiff[]): string {
  const models = diffs.flatMap(({ model, listing, changes }) => {
    if (!model.enabled || model.free || changes.length === 0 || listing?.price === undefined) return [];
    const { bands = [], ...prices } = priceRecord(listing.price);
    const tiers = bands.filter((band) => "from_input_tokens" in band);
    const windows = bands.filter((band) => "from" in band);
    // The file cannot state a price for long prompts at certain hours.
    if (tiers.some((band) => "from" in band)) return [];
    const own = { ...prices, ...(tiers.length > 0 ? { tiers } : {}), ...(windows.length > 0 ? { windows } : {}) };
    return [[model.key, { prices: own }]];
  });
  if (models.length === 0) return "";
  const asNumber = (_: unknown, value: unknown) =>
    typeof value === "string" && /^[\d.]+$/.test(value) ? Number(value) : value;
  const text = stringify({ models: Object.fromEntries(models) }, asNumber);
  return `\n\nTo state the listed prices, put this into the registry file:\n\n${text.trimEnd()}`;
}

function diffText(records: readonly ReturnType<typeof recordOf>[]): string {
  const changes = records.flatMap(({ key, changes }) => changes.map((change) => ({ model: key, ...change })));
  const hosts = records.flatMap(({ key, hosts }) =>
    hosts.map(({ prices, ...host }) => ({ model: key, ...host, input: prices?.input, output: prices?.output })),
  );
  const hostColumns = ["model", "name", "within_price_limit", "in_service", "input", "output", "context_tokens"];
  const notices = records.flatMap(({ key, problem, notices }) =>
    // The problem already says that a model is not listed.
    [problem, ...notices.filter(({ reason }) => reason !== "not_listed").map(({ detail }) => detail)]
      .filter((line) => line !== null)
      .map((line) => `${key}: ${line}`),
  );
  return [
    changes.length === 0
      ? "Every price that the aggregator lists is the registry's."
      : textTable(changes, ["model", "rate", "band", "registry", "listed", "change"]),
    `\nUSD per million tokens. Calls with a price limit go only to the hosts within it.\n`,
    textTable(hosts, hostColumns),
    ...notices,
  ].join("\n");
}

/** One model of `--json`; prices as text, so that nothing is rounded. */
function recordOf({ model, listing, changes, notices, hosts, problem }: ModelDiff) {
  const usdOrNull = (amount: number | undefined) => (amount === undefined ? null : formatUsd(amount));
  return {
    key: model.key,
    upstream_id: model.upstreamId,
    enabled: model.enabled,
    free: model.free,
    price_from: model.priceSource?.kind ?? "shipped",
    listed: listing !== undefined,
    canonical_id: listing?.canonical ?? null,
    expires: listing?.expiresMs === undefined ? null : new Date(listing.expiresMs).toISOString(),
    listed_prices: listing?.price === undefined ? null : priceRecord(listing.price),
    changes: changes.map(({ rate, registry, listed, ...change }) => ({
      ...change,
      rate: rateNames[rate],
      registry: usdOrNull(registry),
      listed: usdOrNull(listed),
    })),
    notices: notices.map(({ reason, detail }) => ({ reason, detail })),
    hosts: hosts.map(({ price, ...host }) => ({
      ...host,
      prices: price === undefined ? null : priceRecord(price),
    })),
    problem: problem ?? null,
  };
}

/** A price as `--json` shows it: USD per million tokens, or per request, as text, so that nothing is rounded. */
export function priceRecord({ bands, ...price }: Price) {
  const shown = bands?.map(({ fromInputTokens, window, rates }) => ({
    ...(fromInputTokens === undefined ? {} : { from_input_tokens: fromInputTokens }),
    ...(window === undefined ? {} : { from: timeOf(window.fromMinute), to: timeOf(window.toMinute) }),
    ...ratesRecord(rates),
  }));
  return { ...ratesRecord(price), ...(shown === undefined ? {} : { bands: shown }) };
}

/** The names that prices have in files and in output. */
const rateNames = {
  input: "input",
  cachedInput: "cached_input",
  cacheWrite: "cache_write",
  output: "output",
  request: "request",
} as const;

function ratesRecord(rates: Partial<Rates>): { readonly [N in (typeof rateNames)[keyof Rates]]?: string } {
  const given = (Object.keys(rateNames) as (keyof Rates)[]).filter((rate) => rates[rate] !== undefined);
  return Object.fromEntries(given.map((rate) => [rateNames[rate], formatUsd(rates[rate] ?? 0)]));
}
