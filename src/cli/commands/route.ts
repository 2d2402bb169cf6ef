import { type Command, Option } from "commander";
import { fileOr } from "#cli/options.ts";
import { invalid, type OutputOptions, print, textOf, textTable, valid } from "#cli/output.ts";
import { jsonSchemaOf, type SchemaNode } from "#config/json-schema.ts";
import { type Config, loadConfig } from "#config/load-config.ts";
import { formatUsd, zeroUsd } from "#domain/money/money.ts";
import { type RoutingDecision, RoutingTask, RuntimeState } from "#domain/routing.ts";
import type { RequestSize } from "#pipeline/assess/request-size.ts";
import { decide } from "#pipeline/decide/decide.ts";
import { contributionsOf, conversationDryRun, evidenceOf, expectedCostOf } from "#pipeline/dry-run.ts";
import { fieldRulesOf } from "#pipeline/field-rules.ts";
import { privacyEngine } from "#privacy/engine.ts";
import { type RouteInput, readInput } from "./route-input.ts";

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
  const loaded = loadConfig({
    policyPath: fileOr(options.policy, "ROUTING_POLICY_PATH"),
    registryPath: fileOr(options.models, "MODEL_REGISTRY_PATH"),
  });
  const { config } = valid(loaded);
  const routed = input.kind === "task" ? [routeTask(input, config)] : routeChat(input, config);
  const turns = routed.map((each, at) => ({ turn: at + 1, ...details(each, config) }));
  const last = turns.at(-1);
  if (last === undefined) return;
  const { turn: _, ...record } = last;
  if (turns.length === 1) return print(options.details ? record : record.decision, options, reportText(record));
  const rows = turns.map(({ turn, decision: { model, action, cause, score }, cost, hard_rules, runtime }) => ({
    turn,
    model: model ?? action,
    cause,
    score: score.toFixed(2),
    cost: cost === null ? "" : `$${Number(cost.estimate_usd).toFixed(6)}`,
    hard_rules,
    same_error_count: runtime.same_error_count,
    tool_depth: runtime.tool_depth,
  }));
  print({ turns }, options, `${textTable(rows)}\n\nThe last of them:\n${reportText(record)}`);
}

/** One decision with what it was made from. */
interface Routed {
  readonly decision: RoutingDecision;
  readonly task: RoutingTask;
  readonly runtime: RuntimeState;
  readonly size: RequestSize;
  /** Credentials that the privacy gate replaced; absent for a stated task. */
  readonly redactions?: number;
}

/** Everything as data; costs in US dollars, as text. */
function details({ decision, task, runtime, size, redactions }: Routed, { registry }: Config) {
  const [learned] = evidenceOf(decision, "learned");
  const { instruction: _, ...shown } = task;
  const cost = expectedCostOf(decision, size, registry);
  return {
    decision,
    task: shown,
    runtime,
    contributions: Object.fromEntries(contributionsOf(decision)),
    ...(learned === undefined ? {} : { learned: Number(learned) }),
    hard_rules: evidenceOf(decision, "hard_rule"),
    ...(redactions === undefined ? {} : { redactions }),
    cost:
      cost === undefined
        ? null
        : {
            model: cost.model,
            input_tokens_estimate: cost.inputTokensEstimate,
            estimate_usd: formatUsd(cost.estimate),
            hold_usd: formatUsd(cost.hold),
            other_model: cost.otherModel,
            other_estimate_usd: formatUsd(cost.otherEstimate),
          },
  };
}

/** The decision with its reasons, for a reader. */
function reportText({ decision, ...more }: ReturnType<typeof details>): string {
  const { action, model, evidence, ...rest } = decision;
  return textOf({
    decision: model === null ? action : `${action} → ${model}`,
    ...rest,
    ...more,
    evidence: evidence.join(", "),
  });
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
    const { status, code, param = "", detail } = next;
    throw invalid([{ file: name, path: param, message: `chat answers ${status} ${code}: ${detail}` }]);
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
