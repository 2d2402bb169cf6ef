import { hostname } from "node:os";
import { storedPrices, withStore } from "#cli/databases.ts";
import { type CommandSpec, fileOr, userName } from "#cli/options.ts";
import { badUsage, type OutputOptions, print, textTable, valid } from "#cli/output.ts";
import { nearest } from "#config/problem.ts";
import { parseSettings } from "#config/settings.ts";
import type { Model } from "#domain/model.ts";
import { type OverrideAction, openHealthStore } from "#health/store/health-store.ts";
import { loadRegistry, modelFields } from "#models/load-registry.ts";
import { emptyPriceBook, withPriceBook } from "#models/price-book/price-book.ts";
import { priceRecord, sync } from "./models-sync.ts";

/** An operator's word about a model, stored for every gateway on the database. */
const overrides = Object.entries({
  disable: "stop sending traffic to a model until it is enabled again",
  enable: "undo `disable`; a model that the registry file disables stays disabled",
  reset: "clear a model's pauses, trips and quarantine; if it was out of service, the next request probes it",
} as const).map(
  ([action, summary]): CommandSpec => ({
    name: `models ${action}`,
    summary,
    arguments: [["<key>", "key of the model in the registry"]],
    example: `smart-gateway models ${action} vendor_v4_pro`,
    run: (key: string, options: OutputOptions) => override(action as OverrideAction, key, options), // a key of the table
  }),
);

export const commands: readonly CommandSpec[] = [
  {
    name: "models list",
    summary: "print the models, their roles, and prices in USD per million tokens; without a command too",
    isDefault: true,
    arguments: [["[file]", "model registry file; MODEL_REGISTRY_PATH, else the shipped one, when absent"]],
    example: "smart-gateway models list models.yaml --json",
    run: list,
  },
  {
    name: "models sync",
    summary: "compare the registry's prices with the aggregator's lists, and print the lines that would state them",
    arguments: [["[file]", "model registry file; MODEL_REGISTRY_PATH, else the shipped one, when absent"]],
    example: "smart-gateway models sync models.yaml",
    run: sync,
  },
  ...overrides,
];

async function list(file: string | undefined, options: OutputOptions): Promise<void> {
  const loaded = valid(loadRegistry(fileOr(file, "MODEL_REGISTRY_PATH")));
  const parsed = parseSettings(process.env);
  // Other commands report invalid settings.
  const book = parsed.kind === "ok" ? await storedPrices(parsed.settings) : emptyPriceBook;
  const { models, byRole } = withPriceBook(loaded.registry, book);
  const records = [...models.values()].map((model) => ({ ...recordOf(model), used: byRole[model.role] === model }));
  const rows = records.map(({ prices, price_source, context_tokens, ...record }) => ({
    ...record,
    input: prices.input,
    cached: prices.cached_input,
    output: `${prices.output}${"bands" in prices ? " *" : ""}`,
    price_from: [price_source.kind.replace("_", " "), price_source.at].join(" ").trim(),
    context: context_tokens,
    used: record.enabled ? (record.used ? "yes" : "no") : "disabled",
  }));
  const columns = ["key", "role", "upstream_id", "input", "cached", "output", "price_from", "context", "used"] as const;
  const legend =
    "\n\nPrices in USD per million tokens; * has others for long prompts or certain hours (--json shows them). PRICE FROM: part of the program, your registry file, or the aggregator's list as last read. USED: what routing chooses for the role; others serve through the fallback chain.";
  print(records, options, textTable(rows, columns) + legend);
}

function recordOf(model: Model) {
  const { price, priceSource: source } = model;
  return {
    key: model.key,
    ...modelFields(model),
    prices: priceRecord(price),
    price_source: {
      kind: source?.kind ?? "shipped",
      ...(source?.kind === "price_book" ? { at: new Date(source.atMs).toISOString() } : {}),
    },
  };
}

async function override(action: OverrideAction, key: string, options: OutputOptions): Promise<void> {
  const { registry } = valid(loadRegistry(fileOr(undefined, "MODEL_REGISTRY_PATH")));
  const keys = [...registry.models.keys()];
  if (!keys.includes(key)) {
    const close = nearest(key, keys);
    const hint = close === undefined ? `known: ${keys.join(", ")}` : `did you mean ${close}?`;
    throw badUsage(`no model ${JSON.stringify(key)} in the registry; ${hint}`);
  }
  const atMs = Date.now();
  const by = `${userName()}@${hostname()}`;
  await withStore("The database did not take it", openHealthStore, (store) =>
    store.override({ model: key, action, atMs, by }),
  );
  const done = { disable: "is disabled", enable: "is no longer disabled by hand", reset: "is reset" }[action];
  const text = `${key} ${done}. Every gateway on this database follows within a second.`;
  print({ ok: true, model: key, action, at_ms: atMs }, options, text);
}
