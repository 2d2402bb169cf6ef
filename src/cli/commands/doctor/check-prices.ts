import { storedPrices } from "#cli/stored-prices.ts";
import type { Config } from "#config/load-config.ts";
import { ownCommand, type Settings } from "#config/settings.ts";
import type { Json } from "#domain/chat.ts";
import type { Model } from "#domain/model.ts";
import {
  type Drift,
  driftBetween,
  emptyPriceBook,
  type PriceBook,
  updatedBook,
  withPriceBook,
} from "#models/price-book/price-book.ts";
import { listingsIn } from "#models/price-book/price-list.ts";
import type { ModelListReply } from "#upstream/aggregator.ts";
import type { Check } from "./check.ts";

/** How long a change of price is reported. */
const recentMs = 7 * 86_400_000;
/** The list is read daily: an older price means that the list cannot be read. */
const staleMs = 3 * 86_400_000;

/**
 * Checks the registry's prices: their source, their age, and their difference to the aggregator's list. With `readList` the list is
 * read now, and ids that are gone, expire or refer to another model are reported too.
 */
export async function pricesCheck(
  settings: Settings,
  config: Config,
  readList: (() => Promise<ModelListReply>) | undefined,
  nowMs: number,
): Promise<Check> {
  const stored = await storedPrices(settings, config.policy);
  if (stored.kind !== "off" && readList !== undefined) {
    const reply = await readList();
    const known = stored.kind === "stored" ? stored.book : emptyPriceBook;
    if (reply.kind === "ok") return checkedNow(config, known, reply.list, nowMs);
  }
  switch (stored.kind) {
    case "off":
      return {
        name: "prices",
        status: "ok",
        detail: "those of the model registry; no list is read from this upstream",
      };
    case "unavailable":
      return { name: "prices", status: "ok", detail: "the aggregator's list is read when a gateway starts" };
    case "stored":
      return checked(config, stored.book, nowMs);
  }
}

/** By the list as it is now. */
function checkedNow({ registry }: Config, known: PriceBook, list: Json, nowMs: number): Check {
  const models = [...registry.models.values()].filter(({ enabled }) => enabled);
  const listed = listingsIn(list, new Map(models.map(({ upstreamId, free }) => [upstreamId, { free }])));
  const priced = models.filter(({ upstreamId }) => listed.get(upstreamId)?.price !== undefined);
  const { drifts } = updatedBook(known, listed, models, nowMs);
  const lines = [
    `${priced.length} of ${models.length} listed at a price now`,
    ...drifts.map(({ model, reason, detail }) => `${model}: ${driftText[reason]}${detail}`),
  ];
  if (drifts.length === 0 && priced.length === models.length) {
    return { name: "prices", status: "ok", detail: lines.join("\n") };
  }
  return {
    name: "prices",
    status: "warn",
    detail: lines.join("\n"),
    advice: `\`${ownCommand(process.env)} models sync\` shows the whole difference`,
  };
}

const driftText: { readonly [R in Drift["reason"]]: string } = {
  list_changed: "changed by more than half: ",
  list_differs: "your registry file and the list differ: ",
  not_listed: "",
  expires: "",
  repointed: "",
};

function checked({ registry }: Config, book: PriceBook, nowMs: number): Check {
  const models = [...withPriceBook(registry, book).models.values()].filter(({ enabled }) => enabled);
  const problems = models.flatMap((model) => problemsOf(model, book, nowMs));
  const newest = Math.max(0, ...[...book.values()].map(({ atMs }) => atMs));
  const confirmed = models.filter(({ priceSource }) => (priceSource?.kind ?? "shipped") !== "shipped").length;
  const read = newest === 0 ? "no list has been read yet" : `list read ${new Date(newest).toISOString()}`;
  const detail = [`${confirmed} of ${models.length} confirmed, ${read}`, ...problems].join("\n");
  if (problems.length === 0) return { name: "prices", status: "ok", detail };
  const advice =
    "compare with the aggregator's price list; correct MODEL_REGISTRY_PATH, or leave the prices to the list";
  return { name: "prices", status: "warn", detail, advice };
}

function problemsOf(model: Model, book: PriceBook, nowMs: number): string[] {
  const entry = book.get(model.upstreamId);
  if (model.priceSource?.kind === "registry_file") {
    const drift = entry === undefined ? undefined : driftBetween(model.price, entry.price);
    return drift === undefined ? [] : [`${model.key}: your registry file and the list differ: ${drift}`];
  }
  if (entry === undefined) {
    return book.size === 0 ? [] : [`${model.key}: the list has never named a price; no price limit is sent for it`];
  }
  const { changed, atMs, price } = entry;
  const drift =
    changed !== undefined && nowMs - changed.atMs < recentMs ? driftBetween(changed.from, price) : undefined;
  return [
    ...(nowMs - atMs > staleMs ? [`${model.key}: last named by the list ${new Date(atMs).toISOString()}`] : []),
    ...(drift === undefined || changed === undefined
      ? []
      : [`${model.key}: changed ${new Date(changed.atMs).toISOString()}: ${drift}`]),
  ];
}
