import { Command } from "commander";
import type { Model } from "#domain/model.ts";
import { formatUsd } from "#domain/money.ts";
import { loadRegistry } from "#models/load-registry.ts";
import { formatProblems } from "#settings/problem.ts";
import { exitCodes, exitWith, printJson } from "./exit.ts";
import { addOverrideCommands } from "./models-override.ts";
import { textTable } from "./table.ts";

/** `smart-gateway models`: the registry in force, and what the operator says about a model. */
export function modelsCommand(): Command {
  const command = new Command("models").description("the model registry");
  command
    .command("list", { isDefault: true })
    .description("print the models, their roles and prices")
    .argument("[file]", "model registry file; MODEL_REGISTRY_PATH, else the shipped one, when absent")
    .option("--json", "print a list of records; prices in USD per million tokens, as text")
    .action((file: string | undefined, options: { readonly json?: true }) => {
      const loaded = loadRegistry(file ?? (process.env["MODEL_REGISTRY_PATH"] || undefined));
      if (loaded.kind === "invalid") {
        if (options.json) printJson({ ok: false, problems: loaded.problems });
        else console.error(formatProblems(loaded.problems));
        return exitWith(exitCodes.badUsage);
      }
      const { models, byRole } = loaded.registry;
      const used = (model: Model) => byRole[model.role] === model;
      if (options.json)
        return printJson([...models.values()].map((model) => ({ ...recordOf(model), used: used(model) })));
      console.log(
        textTable(
          ["KEY", "ROLE", "UPSTREAM ID", "INPUT", "CACHED", "OUTPUT", "CONTEXT", "USED"],
          [...models.values()].map((model) => {
            const { input, cached_input, output } = recordOf(model).prices;
            const state = model.enabled ? (used(model) ? "yes" : "no") : "disabled";
            return [
              model.key,
              model.role,
              model.upstreamId,
              input,
              cached_input,
              output,
              String(model.contextTokens),
              state,
            ];
          }),
        ),
      );
      console.log(
        "\nPrices in USD per million tokens. USED: what routing chooses for the role; others serve through the fallback chain.",
      );
    });
  addOverrideCommands(command);
  return command;
}

function recordOf(model: Model) {
  return {
    key: model.key,
    role: model.role,
    upstream_id: model.upstreamId,
    prices: {
      input: formatUsd(model.price.input),
      cached_input: formatUsd(model.price.cachedInput),
      output: formatUsd(model.price.output),
    },
    context_tokens: model.contextTokens,
    max_output_tokens: model.maxOutputTokens,
    default_output_tokens: model.defaultOutputTokens,
    free: model.free,
    enabled: model.enabled,
    reasoning: model.reasoning,
    timeouts_ms: model.timeoutsMs,
  };
}
