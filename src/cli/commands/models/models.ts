import { Command } from "commander";
import { exitCodes, exitWith } from "#cli/exit.ts";
import { withHelpOfDefault } from "#cli/help.ts";
import { print, printJson } from "#cli/output.ts";
import { storedPrices } from "#cli/stored-prices.ts";
import { textTable } from "#cli/table.ts";
import { loadPolicy } from "#config/load-policy.ts";
import { formatProblems } from "#config/problem.ts";
import { parseSettings } from "#config/settings.ts";
import type { Model } from "#domain/model.ts";
import { formatUsd } from "#domain/money/money.ts";
import { loadRegistry } from "#models/load-registry.ts";
import { modelFields } from "#models/model-fields.ts";
import { emptyPriceBook, type PriceBook, withPriceBook } from "#models/price-book/price-book.ts";
import { addOverrideCommands } from "./override.ts";
import { priceRecord } from "./price-record.ts";
import { addSyncCommand } from "./sync.ts";

/** `smart-gateway models`: the registry in force, and the operator's overrides. */
export function modelsCommand(): Command {
  const command = new Command("models").description("the model registry");
  const list = command
    .command("list", { isDefault: true })
    .description("print the models, their roles and prices")
    .argument("[file]", "model registry file; MODEL_REGISTRY_PATH, else the shipped one, when absent")
    .option("--json", "print a list of records; prices in USD per million tokens, as text")
    .action(async (file: string | undefined, options: { readonly json?: true }) => {
      const loaded = loadRegistry(file ?? (process.env["MODEL_REGISTRY_PATH"] || undefined));
      if (loaded.kind === "invalid") {
        if (options.json) printJson({ ok: false, problems: loaded.problems });
        else console.error(formatProblems(loaded.problems));
        return exitWith(exitCodes.badUsage);
      }
      const { models, byRole } = withPriceBook(loaded.registry, await bookInForce());
      const used = (model: Model) => byRole[model.role] === model;
      if (options.json)
        return printJson([...models.values()].map((model) => ({ ...recordOf(model), used: used(model) })));
      print(
        textTable(
          ["KEY", "ROLE", "UPSTREAM ID", "INPUT", "CACHED", "OUTPUT", "PRICE FROM", "CONTEXT", "USED"],
          [...models.values()].map((model) => {
            const { input, cached_input, output } = recordOf(model).prices;
            const state = model.enabled ? (used(model) ? "yes" : "no") : "disabled";
            return [
              model.key,
              model.role,
              model.upstreamId,
              input,
              cached_input,
              `${output}${model.price.bands === undefined ? "" : " *"}`,
              sourceText(model),
              String(model.contextTokens),
              state,
            ];
          }),
        ),
      );
      print(
        "\nPrices in USD per million tokens; * has others for long prompts or certain hours (--json shows them). PRICE FROM: part of the program, your registry file, or the aggregator's list as last read. USED: what routing chooses for the role; others serve through the fallback chain.",
      );
    });
  addSyncCommand(command);
  addOverrideCommands(command);
  return withHelpOfDefault(command, list);
}

/** The stored price book; empty where settings or policy are invalid, which other commands report. */
async function bookInForce(): Promise<PriceBook> {
  const settings = parseSettings(process.env);
  if (settings.kind === "invalid") return emptyPriceBook;
  const policy = loadPolicy(settings.settings.policyPath);
  if (policy.kind === "invalid") return emptyPriceBook;
  const stored = await storedPrices(settings.settings, policy.policy);
  return stored.kind === "stored" ? stored.book : emptyPriceBook;
}

/** Where a price comes from: `shipped`, `registry file`, or `price book 2026-01-02T03:04Z`. */
function sourceText({ priceSource }: Model): string {
  switch (priceSource?.kind) {
    case "registry_file":
      return "registry file";
    case "price_book":
      return `price book ${isoTime(priceSource.atMs).slice(0, 16)}Z`;
    default:
      return "shipped";
  }
}

function isoTime(atMs: number): string {
  return new Date(atMs).toISOString();
}

function recordOf(model: Model) {
  return {
    key: model.key,
    ...modelFields(model),
    prices: {
      ...priceRecord(model.price),
      input: formatUsd(model.price.input),
      cached_input: formatUsd(model.price.cachedInput),
      output: formatUsd(model.price.output),
    },
    price_source:
      model.priceSource?.kind === "price_book"
        ? { kind: model.priceSource.kind, at: isoTime(model.priceSource.atMs) }
        : { kind: model.priceSource?.kind ?? "shipped" },
  };
}
