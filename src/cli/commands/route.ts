import { type Command, Option } from "commander";
import { fileOr } from "#cli/options.ts";
import { CommandFailure, exitCodes, type OutputOptions, print, printJson, textTable, valid } from "#cli/output.ts";
import { jsonSchemaOf, type SchemaNode } from "#config/json-schema.ts";
import { type Config, loadConfig } from "#config/load-config.ts";
import { formatProblems } from "#config/problem.ts";
import { zeroUsd } from "#domain/money/money.ts";
import { RoutingTask, RuntimeState } from "#domain/routing.ts";
import { decide } from "#pipeline/decide/decide.ts";
import { conversationDryRun } from "#pipeline/dry-run.ts";
import { fieldRulesOf } from "#pipeline/field-rules.ts";
import { privacyEngine } from "#privacy/engine.ts";
import { type RouteInput, readInput } from "./route-input.ts";
import { details, type Routed, reportText, turnRow } from "./route-report.ts";

interface RouteOptions extends OutputOptions {
  readonly file?: string;
  readonly policy?: string;
  readonly models?: string;
  readonly details?: true;
}

/** The specification's fields, which are flags: `risk_level` → `--risk-level <level>`. */
const fields = [
  ...fieldsIn("task", jsonSchemaOf(RoutingTask, "")),
  ...fieldsIn("runtime", jsonSchemaOf(RuntimeState, "")),
];

interface Field {
  readonly group: "task" | "runtime";
  readonly key: string;
  readonly node: SchemaNode;
  readonly option: Option;
}

function fieldsIn(group: Field["group"], schema: SchemaNode): readonly Field[] {
  const placeholders: Readonly<Record<string, string>> = { boolean: "true|false", integer: "count", number: "0..1" };
  return Object.entries(schema.properties ?? {})
    .filter(([key]) => key !== "instruction" && key !== "metadata")
    .map(([key, node]) => {
      const value = node.enum === undefined ? placeholders[node.type ?? ""] : key.split("_").at(-1);
      const about = [
        node.description?.replace(/\.$/, ""),
        node.enum?.join(", "),
        node.default === undefined || node.default === null ? undefined : `default ${node.default}`,
      ];
      const help = about.filter((part) => part !== undefined).join("; ");
      const option = new Option(`--${key.replaceAll("_", "-")} <${value ?? "text"}>`, help);
      return { group, key, node, option: option.helpGroup(group === "task" ? "Task:" : "Runtime:") };
    });
}

/**
 * `smart-gateway route`: what the policy decides about words, a chat body or a transcript as chat would, or about a stated task as
 * `POST /v1/route/decision` would; nothing is sent or spent.
 */
export function setUpRoute(command: Command): void {
  command
    .argument(
      "[instruction...]",
      "the ask, in words, assessed like a chat message; - for standard input; with --file a further message of the user",
    )
    .option(
      "-f, --file <file>",
      "a chat body, a transcript (a list of messages, or one a line: each request gets a line), a task {task, runtime} as for POST /v1/route/decision, or plain words; - for standard input",
    )
    .option("--policy <file>", "policy file; ROUTING_POLICY_PATH, else the defaults, when absent")
    .option("--models <file>", "model registry file; MODEL_REGISTRY_PATH, else the shipped one, when absent")
    .option("--json", "print the decision's eleven fields as JSON; of a transcript, every request with its details")
    .option("--details", "with --json: also the inferred task, the contributions, the rules and the cost")
    .addHelpText("after", "\nExample: smart-gateway route 'fix the login' --risk-level HIGH --kind AUTH")
    .action(route);
  for (const { option } of fields) command.addOption(option);
}

async function route(words: readonly string[], options: RouteOptions): Promise<void> {
  const instruction = words.length === 0 ? undefined : words.join(" ");
  const stated = { task: given("task", options), runtime: given("runtime", options) };
  const input = valid(readInput(instruction, options.file, stated));
  const loaded = await loadConfig({
    policyPath: fileOr(options.policy, "ROUTING_POLICY_PATH"),
    registryPath: fileOr(options.models, "MODEL_REGISTRY_PATH"),
  });
  const { config } = valid(loaded);
  const routed = input.kind === "task" ? [routeTask(input, config)] : routeChat(input, config);
  const last = routed.at(-1);
  if (last === undefined) return;
  if (routed.length === 1) {
    const value = options.details ? details(last, config) : last.decision;
    return print(value, options, reportText(last, config));
  }
  const turns = routed.map((each, at) => ({ turn: at + 1, ...details(each, config) }));
  if (options.json) return printJson({ turns });
  const rows = routed.map((each, at) => turnRow(each, at + 1, config));
  const table = textTable(rows, ["turn", "model", "cause", "score", "cost", "signals"]);
  print(turns, options, `${table}\n\nThe last of them:\n${reportText(last, config)}`);
}

const nothingSpent = { goal: { spent: zeroUsd, held: zeroUsd }, day: { spent: zeroUsd, held: zeroUsd } };

function routeTask({ task, runtime }: RouteInput & { kind: "task" }, config: Config): Routed {
  const { policy, registry, caps } = config;
  const bytes = Buffer.byteLength(task.instruction);
  // The size of a chat request that has only the instruction.
  const size = {
    inputTokensBound: bytes + 8 + 64,
    inputTokensEstimate: Math.ceil(bytes / 4) + 8,
    requestedOutputTokens: null,
    choices: 1,
  };
  const decision = decide(task, runtime, { policy, registry, caps, health: {}, size, spend: nothingSpent });
  return { decision, task, runtime, size };
}

/** As the chat endpoint would, one request after the other. What chat would refuse for its fields is a problem. */
function routeChat({ requests, stated, name }: RouteInput & { kind: "chat" }, config: Config): Routed[] {
  const configuration = {
    ...config,
    fields: fieldRulesOf(config.policy),
    privacy: privacyEngine(config.policy.privacy),
  };
  const routeNext = conversationDryRun({ configuration, health: {}, stated, nowMs: 0 });
  return requests.map((request) => {
    const next = routeNext(request);
    if (next.kind === "decided") return next;
    const { status, code, param, detail } = next;
    const problems = [{ file: name, path: param ?? "", message: `chat answers ${status} ${code}: ${detail}` }];
    throw new CommandFailure(exitCodes.badUsage, formatProblems(problems), problems);
  });
}

/**
 * The fields whose flags were given, as the JSON values that the schema expects; other text stays text, which the schema refuses.
 */
function given(group: Field["group"], options: object): Record<string, unknown> {
  const values: Readonly<Record<string, unknown>> = { ...options };
  return Object.fromEntries(
    fields.flatMap((field) => {
      const text = values[field.option.attributeName()];
      return field.group === group && typeof text === "string" ? [[field.key, parsedValue(text, field.node)]] : [];
    }),
  );
}

function parsedValue(text: string, { enum: choices, type }: SchemaNode): unknown {
  if (choices !== undefined) return text.toUpperCase();
  if (type === "boolean") return text === "true" ? true : text === "false" ? false : text;
  const isNumber = (type === "integer" || type === "number") && text.trim() !== "" && Number.isFinite(Number(text));
  return isNumber ? Number(text) : text;
}
