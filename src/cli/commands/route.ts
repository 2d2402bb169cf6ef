import { readFileSync } from "node:fs";
import { Command, Option } from "commander";
import { exitCodes, exitWith, printJson } from "#cli/exit.ts";
import { zeroUsd } from "#domain/money/money.ts";
import { DecisionRequest, type RoutingDecision, RoutingTask, RuntimeState } from "#domain/routing.ts";
import { decide } from "#pipeline/decide/decide.ts";
import { type Config, loadConfig } from "#policy/load-config.ts";
import { parseConfig, validate } from "#settings/config-file.ts";
import { jsonSchemaOf, type SchemaNode } from "#settings/json-schema.ts";
import { formatProblems, type Invalid, type Problem } from "#settings/problem.ts";

interface RouteOptions {
  readonly file?: string;
  readonly policy?: string;
  readonly models?: string;
  readonly json?: true;
  /** The task's and the runtime's fields, by their camel-cased flags. */
  readonly [flag: string]: string | true | undefined;
}

/** The specification's fields as flags: `risk_level` → `--risk-level <level>`. */
const taskFields = fieldsOf(jsonSchemaOf(RoutingTask, ""), ["instruction", "metadata"]);
const runtimeFields = fieldsOf(jsonSchemaOf(RuntimeState, ""), []);

const placeholders: { readonly [type: string]: string } = { boolean: "true|false", integer: "count", number: "0..1" };

/** `smart-gateway route`: what the policy decides about a task, as `POST /v1/route/decision` would; nothing is sent or spent. */
export function routeCommand(): Command {
  const command = new Command("route")
    .description("print the routing decision for a task, without sending or spending anything")
    .argument("[instruction]", "what is asked for, in words; - reads it from standard input")
    .option("-f, --file <file>", "the body of POST /v1/route/decision, {task, runtime}, as JSON; - for standard input")
    .option("--policy <file>", "policy file; ROUTING_POLICY_PATH, else the defaults, when absent")
    .option("--models <file>", "model registry file; MODEL_REGISTRY_PATH, else the shipped one, when absent")
    .option("--json", "print the decision's eleven fields as JSON")
    .action(route);
  for (const [group, fields] of [
    ["Task:", taskFields],
    ["Runtime:", runtimeFields],
  ] as const) {
    for (const { key, node } of fields) {
      const value = node.enum === undefined ? placeholders[node.type ?? ""] : key.split("_").at(-1);
      const fallback = node.default === undefined || node.default === null ? undefined : `default ${node.default}`;
      const about = [node.description?.replace(/\.$/, ""), node.enum?.join(", "), fallback];
      const help = about.filter((part) => part !== undefined).join("; ");
      command.addOption(new Option(`--${key.replaceAll("_", "-")} <${value ?? "text"}>`, help).helpGroup(group));
    }
  }
  return command;
}

async function route(instruction: string | undefined, options: RouteOptions): Promise<void> {
  const request = readRequest(instruction, options);
  const config = await loadConfig({
    policyPath: options.policy ?? (process.env["ROUTING_POLICY_PATH"] || undefined),
    registryPath: options.models ?? (process.env["MODEL_REGISTRY_PATH"] || undefined),
  });
  if (request.kind === "invalid" || config.kind === "invalid") {
    const problems = [request, config].flatMap((result) => (result.kind === "invalid" ? result.problems : []));
    if (options.json) printJson({ ok: false, problems });
    else console.error(formatProblems(problems));
    return exitWith(exitCodes.badUsage);
  }
  const { task, runtime } = request.value;
  const decision = decide(task, runtime, {
    ...config.config,
    health: {},
    size: sizeOf(task.instruction),
    spend: { goal: { spent: zeroUsd, held: zeroUsd }, day: { spent: zeroUsd, held: zeroUsd } },
  });
  if (options.json) printJson(decision);
  else console.log(asText(decision, config.config));
}

/** The task from a file, with the flags over it. */
function readRequest(
  instruction: string | undefined,
  options: RouteOptions,
): { kind: "ok"; value: ReturnType<typeof DecisionRequest.parse> } | Invalid {
  if (instruction === undefined && options.file === undefined) {
    return complaint(
      "arguments",
      "nothing to decide about",
      'say what is asked for: smart-gateway route "fix the login", or --file',
    );
  }
  let body: Record<string, unknown> = { task: { task_id: "cli" } };
  const name = options.file === "-" ? "standard input" : (options.file ?? "arguments");
  let document = parseConfig("{}", name);
  if (document.kind === "ok") document = { kind: "ok", document: { ...document.document, lineOf: () => undefined } };
  if (options.file !== undefined) {
    try {
      document = parseConfig(readFileSync(options.file === "-" ? 0 : options.file, "utf8"), name);
    } catch {
      return complaint(name, "cannot be read", "check --file");
    }
    if (document.kind === "invalid") return document;
    if (!isSection(document.document.value)) return complaint(name, "expected an object {task, runtime}");
    body = document.document.value;
  }
  if (document.kind === "invalid") return document;
  const text = instruction === "-" ? readFileSync(0, "utf8") : instruction;
  const task = {
    ...section(body["task"]),
    ...(text === undefined ? {} : { instruction: text }),
    ...given(taskFields, options),
  };
  const runtime = { ...section(body["runtime"]), ...given(runtimeFields, options) };
  return validate(DecisionRequest, document.document, { ...body, task, runtime });
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

/** The fields whose flags were given, as the JSON values that the schema expects; what is none stays text and is refused there. */
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

/** The bounds that a chat request with nothing but the instruction would have. */
function sizeOf(instruction: string) {
  const bytes = Buffer.byteLength(instruction);
  return {
    inputTokensBound: bytes + 8 + 64,
    inputTokensEstimate: Math.ceil(bytes / 4) + 8,
    requestedOutputTokens: null,
    choices: 1,
  };
}

function asText(decision: RoutingDecision, { registry }: Config): string {
  const upstreamId = decision.model === null ? undefined : registry.models.get(decision.model)?.upstreamId;
  const target =
    decision.model === null ? "" : ` → ${decision.model}${upstreamId === undefined ? "" : ` (${upstreamId})`}`;
  return [
    `${decision.action}${target}`,
    `  cause       ${decision.cause}${decision.hard_rule ? " (hard rule)" : ""}`,
    `  score       ${decision.score}`,
    `  confidence  ${decision.confidence}`,
    ...(decision.sensitive_block_applied ? ["  privacy     the gate forced a downgrade or denial"] : []),
    "  evidence",
    ...decision.evidence.map((entry) => `    ${entry}`),
  ].join("\n");
}

function complaint(file: string, message: string, suggestion?: string): Invalid {
  const problem: Problem = { file, path: "", message, ...(suggestion === undefined ? {} : { suggestion }) };
  return { kind: "invalid", problems: [problem] };
}

function section(value: unknown): Record<string, unknown> {
  return isSection(value) ? value : {};
}

function isSection(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
