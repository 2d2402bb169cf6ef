import { Command, Option } from "commander";
import { exitCodes, exitWith } from "#cli/exit.ts";
import { print, printJson } from "#cli/output.ts";
import { jsonSchemaOf, type SchemaNode } from "#config/json-schema.ts";
import { type Config, loadConfig } from "#config/load-config.ts";
import { formatProblems, type Invalid, type Problem } from "#config/problem.ts";
import { zeroUsd } from "#domain/money/money.ts";
import { RoutingTask, RuntimeState } from "#domain/routing.ts";
import { decide } from "#pipeline/decide/decide.ts";
import { conversationDryRun } from "#pipeline/dry-run.ts";
import { fieldRulesOf } from "#pipeline/field-rules.ts";
import type { Refusal } from "#pipeline/respond/reply.ts";
import { privacyEngine } from "#privacy/engine.ts";
import { type RouteInput, readInput } from "./route-input.ts";
import { detailsOf, lineOf, linesHeading, type Routed, reportOf } from "./route-report.ts";

interface RouteOptions {
  readonly file?: string;
  readonly policy?: string;
  readonly models?: string;
  readonly json?: true;
  readonly details?: true;
  /** The task's and the runtime's fields, by their camel-cased flags. */
  readonly [flag: string]: string | true | undefined;
}

/** The specification's fields as flags: `risk_level` → `--risk-level <level>`. */
const taskFields = fieldsOf(jsonSchemaOf(RoutingTask, ""), ["instruction", "metadata"]);
const runtimeFields = fieldsOf(jsonSchemaOf(RuntimeState, ""), []);

const placeholders: { readonly [type: string]: string } = { boolean: "true|false", integer: "count", number: "0..1" };

/**
 * `smart-gateway route`: what the policy decides about words, a chat body or a transcript as chat would, or about a stated task as
 * `POST /v1/route/decision` would; nothing is sent or spent.
 */
export function routeCommand(): Command {
  const command = new Command("route")
    .description("print where a request would be routed and why, without sending or spending anything")
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
    .action(route);
  for (const [group, fields] of [
    ["Task:", taskFields],
    ["Runtime:", runtimeFields],
  ] as const) {
    for (const { key, node } of fields) {
      const value = node.enum === undefined ? placeholders[node.type ?? ""] : key.split("_").at(-1);
      const fallback = node.default === undefined || node.default === null ? undefined : `default ${node.default}`;
      const about = [node.description?.replace(/\.$/, ""), fallback];
      const help = about.filter((part) => part !== undefined).join("; ");
      const option = new Option(`--${key.replaceAll("_", "-")} <${value ?? "text"}>`, help).helpGroup(group);
      // For the help and the shell's completion; the task's schema checks the value together with all others.
      if (node.enum !== undefined) option.argChoices = node.enum.map(String);
      command.addOption(option);
    }
  }
  return command;
}

async function route(words: readonly string[], options: RouteOptions): Promise<void> {
  const instruction = words.length === 0 ? undefined : words.join(" ");
  const stated = { task: given(taskFields, options), runtime: given(runtimeFields, options) };
  const input = readInput(instruction, options.file, stated);
  const config = await loadConfig({
    policyPath: options.policy ?? (process.env["ROUTING_POLICY_PATH"] || undefined),
    registryPath: options.models ?? (process.env["MODEL_REGISTRY_PATH"] || undefined),
  });
  const problems = [input, config].flatMap((result) => (result.kind === "invalid" ? result.problems : []));
  if (input.kind === "invalid" || config.kind === "invalid") return refuse(problems, options);
  const routed = input.kind === "task" ? [routeTask(input, config.config)] : routeChat(input, config.config);
  if (!Array.isArray(routed)) return refuse(routed.problems, options);
  const [last] = routed.slice(-1);
  if (last === undefined) return;
  if (options.json && routed.length > 1) {
    printJson({ turns: routed.map((each, at) => ({ turn: at + 1, ...detailsOf(each, config.config) })) });
  } else if (options.json) printJson(options.details ? detailsOf(last, config.config) : last.decision);
  else {
    if (routed.length > 1) {
      print([linesHeading, ...routed.map((each, at) => lineOf(each, at + 1, config.config))].join("\n"));
      print("\nThe last of them:");
    }
    print(reportOf(last, config.config));
  }
}

function refuse(problems: readonly Problem[], { json }: RouteOptions): void {
  if (json) printJson({ ok: false, problems });
  else console.error(formatProblems(problems));
  exitWith(exitCodes.badUsage);
}

const nothingSpent = { goal: { spent: zeroUsd, held: zeroUsd }, day: { spent: zeroUsd, held: zeroUsd } };

function routeTask({ task, runtime }: RouteInput & { kind: "task" }, config: Config): Routed {
  const size = sizeOf(task.instruction);
  const { policy, registry, caps } = config;
  const decision = decide(task, runtime, { policy, registry, caps, health: {}, size, spend: nothingSpent });
  return { decision, task, runtime, size };
}

/** As the chat endpoint would, one request after the other. What chat would refuse for its fields is a problem. */
function routeChat({ requests, stated, name }: RouteInput & { kind: "chat" }, config: Config): Routed[] | Invalid {
  const configuration = {
    ...config,
    fields: fieldRulesOf(config.policy),
    privacy: privacyEngine(config.policy.privacy),
  };
  const routeNext = conversationDryRun({ configuration, health: {}, stated, nowMs: 0 });
  const routed: Routed[] = [];
  for (const request of requests) {
    const next = routeNext(request);
    if (next.kind === "refusal") return refusedBy(next, name);
    routed.push(next);
  }
  return routed;
}

function refusedBy({ status, code, param, detail }: Refusal, file: string): Invalid {
  return {
    kind: "invalid",
    problems: [{ file, path: param ?? "", message: `chat answers ${status} ${code}: ${detail}` }],
  };
}

interface Field {
  readonly key: string;
  readonly node: SchemaNode;
}

function fieldsOf(schema: SchemaNode, except: readonly string[]): Field[] {
  return Object.entries(schema.properties ?? {}).flatMap(([key, node]) =>
    except.includes(key) ? [] : [{ key, node }],
  );
}

/**
 * The fields whose flags were given, as the JSON values that the schema expects; other text stays text, which the schema refuses.
 */
function given(fields: readonly Field[], options: RouteOptions): Record<string, unknown> {
  return Object.fromEntries(
    fields.flatMap(({ key, node }) => {
      const text = options[key.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase())];
      return typeof text === "string" ? [[key, jsonOf(text, node)] as const] : [];
    }),
  );
}

function jsonOf(text: string, node: SchemaNode): unknown {
  if (node.enum !== undefined) return text.toUpperCase();
  if (node.type === "boolean") return text === "true" ? true : text === "false" ? false : text;
  if ((node.type === "integer" || node.type === "number") && text.trim() !== "" && Number.isFinite(Number(text)))
    return Number(text);
  return text;
}

/** The size of a chat request that has only the instruction. */
function sizeOf(instruction: string) {
  const bytes = Buffer.byteLength(instruction);
  return {
    inputTokensBound: bytes + 8 + 64,
    inputTokensEstimate: Math.ceil(bytes / 4) + 8,
    requestedOutputTokens: null,
    choices: 1,
  };
}
