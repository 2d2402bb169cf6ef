import { Option } from "commander";
import { type CommandSpec, fileOr } from "#cli/options.ts";
import { invalid, type OutputOptions, print, textOf, valid } from "#cli/output.ts";
import { jsonSchemaOf, type SchemaNode } from "#config/json-schema.ts";
import { type Config, loadConfig } from "#config/load-config.ts";
import { zeroUsd } from "#domain/money/money.ts";
import { type RoutingDecision, RoutingTask, RuntimeState } from "#domain/routing.ts";
import type { RequestSize } from "#pipeline/assess/request-size.ts";
import { decide } from "#pipeline/decide/decide.ts";
import { contributionsOf, dryRun, evidenceOf, expectedCost, type Stated } from "#pipeline/dry-run.ts";
import { fieldRulesOf } from "#pipeline/field-rules.ts";
import { privacyEngine } from "#privacy/engine.ts";
import { type RouteInput, readInput } from "./route-input.ts";

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

export const commands: readonly CommandSpec[] = [
  {
    name: "route",
    arguments: [["[instruction...]", "the ask, in words, assessed like a chat message; - for standard input"]],
    options: [
      [
        "-f, --file <file>",
        "a chat body, a list of messages, a task {task, runtime} as for POST /v1/route/decision, or plain words; - for standard input",
      ],
      ["--policy <file>", "policy file; ROUTING_POLICY_PATH, else the defaults, when absent"],
      ["--models <file>", "model registry file; MODEL_REGISTRY_PATH, else the shipped one, when absent"],
      ["--json", "print the decision's eleven fields as JSON"],
      ["--details", "with --json: also the inferred task, the contributions, the rules and the cost"],
      ...fields.map(({ option }) => option),
    ],
    example: "smart-gateway route 'fix the login' --risk-level HIGH --kind AUTH",
    run: route,
  },
];

interface RouteOptions extends OutputOptions {
  readonly file?: string;
  readonly policy?: string;
  readonly models?: string;
  readonly details?: true;
}

function route(words: readonly string[], options: RouteOptions): void {
  const stated = { task: given("task", options), runtime: given("runtime", options) };
  const input = valid(readInput(words.join(" "), options.file, stated));
  const loaded = loadConfig({
    policyPath: fileOr(options.policy, "ROUTING_POLICY_PATH"),
    registryPath: fileOr(options.models, "MODEL_REGISTRY_PATH"),
  });
  const { config } = valid(loaded);
  const record = details(input.kind === "task" ? routeTask(input, config) : routeChat(input, stated, config), config);
  const { decision, ...more } = record;
  const { action, model, evidence, ...rest } = decision;
  const shown = { decision: model === null ? action : `${action} → ${model}`, ...rest, ...more };
  print(options.details ? record : decision, options, textOf({ ...shown, evidence: evidence.join(", ") }));
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

/** Everything as data. */
function details({ decision, task, runtime, size, redactions }: Routed, { registry }: Config) {
  const [learned] = evidenceOf(decision, "learned");
  const { instruction: _, ...shown } = task;
  return {
    decision,
    task: shown,
    runtime,
    contributions: Object.fromEntries(contributionsOf(decision)),
    ...(learned === undefined ? {} : { learned: Number(learned) }),
    hard_rules: evidenceOf(decision, "hard_rule"),
    ...(redactions === undefined ? {} : { redactions }),
    cost: expectedCost(decision, size, registry),
  };
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

/** As the chat endpoint would. What chat would refuse for its fields is a problem. */
function routeChat({ request, name }: RouteInput & { kind: "chat" }, stated: Stated, config: Config): Routed {
  const { policy } = config;
  const configuration = { ...config, fields: fieldRulesOf(policy), privacy: privacyEngine(policy.privacy) };
  const routed = dryRun(request, { configuration, health: {}, stated, nowMs: 0 });
  if (routed.kind === "decided") return routed;
  const { status, code, param = "", detail } = routed;
  throw invalid([{ file: name, path: param, message: `chat answers ${status} ${code}: ${detail}` }]);
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
