import { Database } from "bun:sqlite";
import { existsSync } from "node:fs";
import { loadPolicy } from "#config/load-policy.ts";
import type { Settings } from "#config/settings.ts";
import { databaseLocationOf } from "#db/database-url.ts";
import { PostgresConnection } from "#db/postgres.ts";
import { postgresDatabase, sqliteDatabase } from "#db/store-database.ts";
import type { ModelRegistry, Price, Rates } from "#domain/model.ts";
import { formatUsd } from "#domain/money/money.ts";
import { rateNames as rateKeys } from "#domain/money/prices.ts";
import { modelFields } from "#models/load-registry.ts";
import { emptyPriceBook, type PriceBook, withPriceBook } from "#models/price-book/price-book.ts";
import { priceBookStore } from "#models/price-book/price-book-store.ts";
import { listingsIn } from "#models/price-book/price-list.ts";
import { diffOf, type HostsRead, hostsIn, type ModelDiff, timeOf } from "#models/registry-diff.ts";
import { systemClock } from "#platform/system-clock.ts";
import { timerWheel } from "#platform/timers.ts";
import { isEnabled, priceSourceOf, readModelHosts, readModelList } from "#upstream/aggregator.ts";
import { unavailable } from "./problem.ts";

/** The registry's models with the prices in force; without valid settings, with those of the registry's file. */
export async function listModels(registry: ModelRegistry, settings: Settings | undefined) {
  const { models, byRole } = withPriceBook(
    registry,
    settings === undefined ? emptyPriceBook : await storedPrices(settings),
  );
  return [...models.values()].map((model) => {
    const { key, price, priceSource: source, role } = model;
    const at = source?.kind === "price_book" ? { at: new Date(source.atMs).toISOString() } : {};
    const price_source = { kind: source?.kind ?? "shipped", ...at };
    return { key, ...modelFields(model), prices: priceRecord(price), price_source, used: byRole[role] === model };
  });
}

/**
 * The prices that gateways on this database have read from the aggregator's list; none where the policy has switched
 * the price book off or is invalid. Only reads: changes and creates nothing.
 */
async function storedPrices({ upstream, databaseUrl, policyPath }: Settings): Promise<PriceBook> {
  const loaded = loadPolicy(policyPath);
  const baseUrl = upstream.kind === "demo" ? undefined : upstream.baseUrl;
  const location = databaseLocationOf(databaseUrl);
  if (loaded.kind === "invalid" || !isEnabled(loaded.policy.upstream.price_book, baseUrl)) return emptyPriceBook;
  if (location.kind === "sqlite" && !existsSync(location.path)) return emptyPriceBook;
  try {
    const database =
      location.kind === "sqlite"
        ? sqliteDatabase(new Database(location.path, { readonly: true, strict: true }))
        : postgresDatabase(new PostgresConnection(location.url, 3_000));
    const store = priceBookStore(database);
    return await store.load(priceSourceOf(upstream)).finally(() => store.close());
  } catch {
    return emptyPriceBook; // whatever is wrong with the database has a check of its own (`doctor`)
  }
}

type Aggregator = Settings["upstream"] & { readonly kind: "aggregator" };

/** The registry against the aggregator's lists. Hosts are not requested for models that are disabled or not listed. */
export async function compareModels(registry: ModelRegistry, settings: Settings, { baseUrl, apiKey }: Aggregator) {
  const connection = { baseUrl, clock: systemClock, timers: timerWheel({ clock: systemClock }) };
  const reply = await readModelList(connection);
  if (reply.kind === "failed") throw unavailable(`the aggregator's list could not be read: ${reply.detail}`);
  const models = [...registry.models.values()];
  const listings = listingsIn(reply.list, new Map(models.map(({ upstreamId, free }) => [upstreamId, { free }])));
  const book = await storedPrices(settings);
  const keyed = apiKey === undefined ? connection : { ...connection, apiKey };
  const diffs: ModelDiff[] = [];
  for (const model of models) {
    const { upstreamId, enabled } = model;
    const listing = listings.get(upstreamId);
    const asked = listing === undefined || !enabled ? undefined : await readModelHosts(keyed, upstreamId);
    const hosts = asked?.kind === "ok" ? hostsIn(asked.list, model) : [];
    const read: HostsRead =
      asked?.kind === "failed"
        ? asked
        : hosts === undefined
          ? { kind: "failed", detail: "the answer cannot be read" }
          : { kind: "ok", hosts };
    diffs.push(diffOf(model, listing, read, book.get(upstreamId)?.canonical, systemClock.now()));
  }
  const complete = diffs.every(({ problem }) => problem === undefined);
  return { ok: complete, complete, models: diffs.map(diffRecord) };
}
export type ModelComparison = Awaited<ReturnType<typeof compareModels>>["models"][number];

function diffRecord({ model, listing, changes, notices, hosts, problem }: ModelDiff) {
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
      rate: snakeCase(rate),
      registry: usdOrNull(registry),
      listed: usdOrNull(listed),
    })),
    notices: notices.map(({ reason, detail }) => ({ reason, detail })),
    hosts: hosts.map(({ price, ...host }) => ({ ...host, prices: price === undefined ? null : priceRecord(price) })),
    problem: problem ?? null,
  };
}

/** A price as it is shown: USD per million tokens, or per request, as text, so that nothing is rounded. */
function priceRecord({ bands, ...price }: Price) {
  const shown = bands?.map(({ fromInputTokens, window, rates }) => ({
    ...(fromInputTokens === undefined ? {} : { from_input_tokens: fromInputTokens }),
    ...(window === undefined ? {} : { from: timeOf(window.fromMinute), to: timeOf(window.toMinute) }),
    ...ratesRecord(rates),
  }));
  return { ...ratesRecord(price), ...(shown === undefined ? {} : { bands: shown }) };
}

type RateName = "input" | "cached_input" | "cache_write" | "output" | "request";

function ratesRecord(rates: Partial<Rates>): { readonly [N in RateName]?: string } {
  const given = rateKeys.filter((rate) => rates[rate] !== undefined);
  return Object.fromEntries(given.map((rate) => [snakeCase(rate), formatUsd(rates[rate] ?? 0)]));
}

function snakeCase(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
