import { stringify } from "yaml";
import { aggregatorSettings, type CommandSpec, fileOr, onDatabase, shellOperator } from "#cli/options.ts";
import { codeFor, type Result, textTable, valid } from "#cli/output.ts";
import { parseSettings } from "#config/settings.ts";
import type { OverrideAction } from "#health/store/health-store.ts";
import { loadRegistry } from "#models/load-registry.ts";
import { overrideModel } from "#operator/model-overrides.ts";
import { compareModels, listModels, type ModelComparison } from "#operator/models.ts";

/** An operator's overrides of a model's health, stored for every gateway on the database. */
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
    run: (key: string) => override(action as OverrideAction, key), // a key of the table
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

const registryIn = (file: string | undefined) => valid(loadRegistry(fileOr(file, "registryPath"))).registry;

async function list(file: string | undefined): Promise<Result> {
  const parsed = parseSettings(process.env);
  // Other commands report invalid settings.
  const records = await listModels(registryIn(file), parsed.kind === "ok" ? parsed.settings : undefined);
  const rows = records.map(({ prices, price_source, context_tokens, ...record }) => ({
    ...record,
    input: prices.input,
    cached: prices.cached_input,
    output: `${prices.output}${"bands" in prices ? " *" : ""}`,
    price_from: [price_source.kind.replace("_", " "), price_source.at].join(" ").trim(),
    context: context_tokens,
    used: record.enabled ? (record.used ? "yes" : "no") : "disabled",
  }));
  const columns = ["key", "role", "upstream_id", "input", "cached", "output", "price_from", "context", "used"];
  const legend = `\n\nPrices in USD per million tokens; * has others for long prompts or certain hours (--json shows them).
PRICE FROM: part of the program, your registry file, or the aggregator's list as last read.
USED: what routing chooses for the role; others serve through the fallback chain.`;
  return { value: records, text: textTable(rows, columns) + legend };
}

async function override(action: OverrideAction, key: string): Promise<Result> {
  const registry = registryIn(undefined);
  const { at_ms, follows } = await onDatabase("The database did not take it", async ({ health, actions }) => {
    const store = await health();
    const ports = { actions, override: store.override };
    return overrideModel(ports, registry, { model: key, action }, shellOperator());
  });
  const done = { disable: "is disabled", enable: "is no longer disabled by hand", reset: "is reset" }[action];
  return { value: { ok: true, model: key, action, at_ms }, text: `${key} ${done}. ${follows}` };
}

async function sync(file: string | undefined): Promise<Result> {
  const { settings, upstream } = aggregatorSettings();
  const value = await compareModels(registryIn(file), settings, upstream);
  return { value, text: diffText(value.models) + registryLines(value.models), exitCode: codeFor(value.ok) };
}

function diffText(models: readonly ModelComparison[]): string {
  const changes = models.flatMap(({ key, changes }) => changes.map((change) => ({ model: key, ...change })));
  const hosts = models.flatMap(({ key, hosts }) =>
    hosts.map(({ prices, ...host }) => ({ model: key, ...host, input: prices?.input, output: prices?.output })),
  );
  const hostColumns = ["model", "name", "within_price_limit", "in_service", "input", "output", "context_tokens"];
  const notices = models.flatMap(({ key, problem, notices }) =>
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

/** The listed prices of paid, enabled models that differ, as lines of the registry file. */
function registryLines(models: readonly ModelComparison[]): string {
  const own = models.flatMap(({ key, enabled, free, changes, listed_prices }) => {
    if (!enabled || free || changes.length === 0 || listed_prices === null) return [];
    const { bands = [], ...prices } = listed_prices;
    const tiers = bands.filter((band) => "from_input_tokens" in band);
    const windows = bands.filter((band) => "from" in band);
    // The file cannot state a price for long prompts at certain hours.
    if (tiers.some((band) => "from" in band)) return [];
    const given = { ...prices, ...(tiers.length > 0 ? { tiers } : {}), ...(windows.length > 0 ? { windows } : {}) };
    return [[key, { prices: given }]];
  });
  if (own.length === 0) return "";
  const asNumber = (_: unknown, value: unknown) =>
    typeof value === "string" && /^[\d.]+$/.test(value) ? Number(value) : value;
  const text = stringify({ models: Object.fromEntries(own) }, asNumber);
  return `\n\nTo state the listed prices, put this into the registry file:\n\n${text.trimEnd()}`;
}
