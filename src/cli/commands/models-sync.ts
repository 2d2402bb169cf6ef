import { existsSync, readFileSync, realpathSync } from "node:fs";
import { extname } from "node:path";
import { storedPrices } from "#cli/databases.ts";
import { aggregatorSettings } from "#cli/options.ts";
import { badUsage, exitCodes, failed, type OutputOptions, print, textTable, valid } from "#cli/output.ts";
import { loadPolicy } from "#config/load-policy.ts";
import { formatProblems } from "#config/problem.ts";
import type { Model, ModelRegistry, Price, Rates } from "#domain/model.ts";
import { formatUsd } from "#domain/money/money.ts";
import { loadRegistry } from "#models/load-registry.ts";
import { listingsIn } from "#models/price-book/price-list.ts";
import {
  changesBetween,
  diffOf,
  growthOf,
  type HostsRead,
  hostsIn,
  increasesFirst,
  isIncrease,
  type ModelDiff,
  type RateChange,
  timeOf,
} from "#models/sync/registry-diff.ts";
import { withPrices } from "#models/sync/written-registry.ts";
import { replaceFile } from "#platform/replace-file.ts";
import { systemClock } from "#platform/system-clock.ts";
import { timerWheel } from "#platform/timers.ts";
import { readModelHosts, readModelList } from "#upstream/aggregator.ts";

/** The registry against the aggregator's lists. */
export async function sync(
  file: string | undefined,
  options: OutputOptions & { readonly write?: true },
): Promise<void> {
  const path = file ?? aggregatorSettings().settings.registryPath;
  if (options.write && path === undefined)
    throw badUsage("say which file to write: `models sync FILE --write`, or MODEL_REGISTRY_PATH");
  const isNew = path !== undefined && options.write === true && !existsSync(path);
  const { registry } = valid(loadRegistry(isNew ? undefined : path));
  const diffs = await readDiffs(registry);
  const complete = diffs.every(({ problem }) => problem === undefined);
  const incomplete = {
    problem: "the aggregator's data is not complete for every enabled model. Correct or disable those named above.",
  };
  const result: WriteResult =
    options.write !== true || path === undefined ? {} : complete ? writePrices(path, isNew, diffs) : incomplete;
  const { written = null, problem } = result;
  const models = diffs.map(recordOf);
  const value = { ok: problem === undefined, complete, written, models, ...(problem === undefined ? {} : { problem }) };
  const nothing = options.write && problem === undefined ? "\n\nNothing to write: the file states these prices." : "";
  const end = written === null ? nothing : `\n\nWritten: ${written}. Running gateways take it over within seconds.`;
  print(value, options, diffText(models) + end);
  if (problem !== undefined && !options.json) console.error(`\nNothing was written: ${problem}`);
  if (problem !== undefined || !complete) process.exitCode = exitCodes.failed;
}

/** Both lists, for every model of the registry; hosts are not requested for models that are disabled or not listed. */
async function readDiffs(registry: ModelRegistry): Promise<readonly ModelDiff[]> {
  const { settings, upstream } = aggregatorSettings();
  const { baseUrl, apiKey } = upstream;
  const connection = { baseUrl, clock: systemClock, timers: timerWheel({ clock: systemClock }) };
  const reply = await readModelList(connection);
  if (reply.kind === "failed")
    throw failed(`the aggregator's list could not be read: ${reply.detail}. Nothing was written.`);
  const models = [...registry.models.values()];
  const listings = listingsIn(reply.list, new Map(models.map(({ upstreamId, free }) => [upstreamId, { free }])));
  const policy = loadPolicy(settings.policyPath);
  const book = policy.kind === "ok" ? await storedPrices(settings, policy.policy) : undefined;
  const keyed = apiKey === undefined ? connection : { ...connection, apiKey };
  const diffs: ModelDiff[] = [];
  for (const model of models) {
    const { upstreamId, enabled } = model;
    const listing = listings.get(upstreamId);
    const hosts: HostsRead =
      listing === undefined || !enabled
        ? { kind: "ok", hosts: [] }
        : hostsRead(await readModelHosts(keyed, upstreamId), model);
    diffs.push(diffOf(model, listing, hosts, book?.get(upstreamId)?.canonical, Date.now()));
  }
  return increasesFirst(diffs);
}

function hostsRead(reply: Awaited<ReturnType<typeof readModelHosts>>, model: Model): HostsRead {
  if (reply.kind === "failed") return reply;
  const hosts = hostsIn(reply.list, model);
  return hosts === undefined ? { kind: "failed", detail: "the answer cannot be read" } : { kind: "ok", hosts };
}

/** Where prices were written, or why not; neither where the file states them. */
interface WriteResult {
  readonly written?: string;
  readonly problem?: string;
}

/** Writes the listed prices of all paid, enabled models. A file that would not load, or would mean other prices, is not written. */
function writePrices(path: string, isNew: boolean, diffs: readonly ModelDiff[]): WriteResult {
  const updates = diffs.flatMap(({ model, listing, changes }) =>
    model.enabled && !model.free && changes.length > 0 && listing?.price !== undefined
      ? [{ key: model.key, price: listing.price }]
      : [],
  );
  if (updates.length === 0) return {};
  // A symbolic link stays; the file that it points to is replaced.
  const target = isNew ? path : realpathSync(path);
  const text = isNew ? "" : readFileSync(target, "utf8");
  const result = withPrices(text, extname(path).toLowerCase() === ".json", updates);
  if (result.kind === "invalid") return { problem: result.problem };
  const problem = replaceFile(target, result.text, (temporary) => {
    const again = loadRegistry(temporary);
    if (again.kind === "invalid") return formatProblems(again.problems);
    const wrong = updates.find(({ key, price }) => {
      const model = again.registry.models.get(key);
      return model === undefined || changesBetween(model.price, price).length > 0;
    });
    return wrong === undefined ? undefined : `the file would not state the listed price of ${wrong.key}`;
  });
  return problem === undefined ? { written: path } : { problem };
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
  const sections = [
    changes.length === 0 ? "Every price that the aggregator lists is the registry's." : "",
    changes.length === 0 ? "" : textTable(changes, ["model", "rate", "band", "registry", "listed", "change"]),
    hosts.length === 0 ? "" : `USD per million tokens. Calls with a price limit go only to the hosts within it.\n`,
    hosts.length === 0 ? "" : textTable(hosts, hostColumns),
    ...notices,
  ];
  return sections.filter((section) => section !== "").join("\n");
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
    changes: changes.map((change) => ({
      band: change.band,
      rate: rateNames[change.rate],
      registry: usdOrNull(change.registry),
      listed: usdOrNull(change.listed),
      increase: isIncrease(change),
      change: changeText(change),
    })),
    notices: notices.map(({ reason, detail }) => ({ reason, detail })),
    hosts: hosts.map((host) => ({
      name: host.name,
      within_price_limit: host.within,
      in_service: !host.down,
      uptime_percent: host.uptime ?? null,
      context_tokens: host.contextTokens ?? null,
      max_output_tokens: host.maxOutputTokens ?? null,
      prices: host.price === undefined ? null : priceRecord(host.price),
    })),
    problem: problem ?? null,
  };
}

function changeText(change: RateChange): string {
  const growth = growthOf(change);
  if (change.listed === undefined) return "not listed apart";
  if (!Number.isFinite(growth)) return "new";
  const percent = Math.round((growth - 1) * 1_000) / 10;
  return `${isIncrease(change) ? "higher" : "lower"}, ${percent > 0 ? "+" : ""}${percent} %`;
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
