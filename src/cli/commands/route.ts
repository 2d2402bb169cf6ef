import { InvalidArgumentError } from "commander";
import { type CommandSpec, configIn, readInput } from "#cli/options.ts";
import { invalid, type Result, textOf } from "#cli/output.ts";
import { isSection } from "#config/config-file.ts";
import type { Config } from "#config/load-config.ts";
import { zeroUsd } from "#domain/money/money.ts";
import { RoutingTask, RuntimeState } from "#domain/routing.ts";
import { parseDecisionRequest } from "#http/endpoints/route-decision.ts";
import { dryRunOfChat, routedRecord } from "#operator/dry-run.ts";
import { invalidInput } from "#operator/problem.ts";
import { decide } from "#pipeline/decide/decide.ts";
import type { Stated } from "#pipeline/dry-run.ts";
import { fieldRulesOf } from "#pipeline/field-rules.ts";
import { privacyEngine } from "#privacy/engine.ts";

export const commands: readonly CommandSpec[] = [
  {
    name: "route",
    arguments: [["[instruction...]", "the ask, in words, assessed like a chat message; - for standard input"]],
    options: [
      ["-f, --file <file>", "a chat body, a list of messages, {task, runtime}, or plain words; - for standard input"],
      ["--policy <file>", "policy file; ROUTING_POLICY_PATH, else the defaults, when absent"],
      ["--models <file>", "model registry file; MODEL_REGISTRY_PATH, else the shipped one, when absent"],
      ["--json", "print the decision's eleven fields as JSON"],
      ["--details", "with --json: also the inferred task, the contributions, the rules and the cost"],
      ["--fields <fields>", "fields that count before what is inferred: kind=AUTH,tool_depth=3", statedFields],
    ],
    example: "smart-gateway route 'fix the login' --fields risk_level=HIGH,kind=AUTH",
    run: route,
  },
];

interface RouteOptions {
  readonly file?: string;
  readonly policy?: string;
  readonly models?: string;
  readonly details?: true;
  readonly fields?: Stated;
}

async function route(words: readonly string[], options: RouteOptions): Promise<Result> {
  const stated = options.fields ?? { task: {}, runtime: {} };
  const input = readRouteInput(words.join(" "), options.file);
  const config = configIn(options.policy, options.models);
  const { policy, registry } = config;
  // Stated fields are checked as those of a task, whatever they go with.
  const own = { kind: "task", body: { task: { task_id: "cli", instruction: "" } }, name: "arguments" } as const;
  const asTask = await routeTask(input.kind === "task" ? input : own, stated, config);
  const configuration = { ...config, fields: fieldRulesOf(policy), privacy: privacyEngine(policy.privacy) };
  const routed =
    input.kind === "task" ? asTask : dryRunOfChat(input.body, { configuration, health: {}, stated, nowMs: Date.now() });
  const record = routedRecord(routed, registry);
  const { decision, ...more } = record;
  const { action, model, evidence, ...rest } = decision;
  const shown = { decision: model === null ? action : `${action} → ${model}`, ...rest, ...more };
  return { value: options.details ? record : decision, text: textOf({ ...shown, evidence: evidence.join(", ") }) };
}

const nothingSpent = { goal: { spent: zeroUsd, held: zeroUsd }, day: { spent: zeroUsd, held: zeroUsd } };

/** As `POST /v1/route/decision` would. */
async function routeTask(
  { body, name }: RouteInput & { kind: "task" },
  stated: Stated,
  { policy, registry, caps }: Config,
) {
  const section = (key: "task" | "runtime") => ({ ...(isSection(body[key]) ? body[key] : {}), ...stated[key] });
  const bytes = Buffer.from(JSON.stringify({ task: section("task"), runtime: section("runtime") }));
  const parsed = await parseDecisionRequest(bytes, privacyEngine(policy.privacy));
  if ("status" in parsed) throw invalid([{ file: name, path: "", message: parsed.detail }]);
  const { task, runtime, size } = parsed;
  const decision = decide(task, runtime, { policy, registry, caps, health: {}, size, spend: nothingSpent });
  return { decision, task, runtime, size };
}

/** `name=value` between commas, for the schema to check: numbers and truth values as JSON has them, else text. */
function statedFields(text: string): Stated {
  const stated = text.split(",").map((field): [string, unknown] => {
    const [name = "", value = ""] = field.split("=").map((part) => part.trim());
    if (!(name in { ...RoutingTask.shape, ...RuntimeState.shape }))
      throw new InvalidArgumentError(`no field ${JSON.stringify(name)}`);
    return [name, /^(?:true|false|\d+(?:\.\d+)?)$/.test(value) ? JSON.parse(value) : value];
  });
  const isRuntime = ([name]: [string, unknown]) => name in RuntimeState.shape;
  const task = stated.filter((field) => !isRuntime(field));
  return { task: Object.fromEntries(task), runtime: Object.fromEntries(stated.filter(isRuntime)) };
}

type RouteInput =
  /** As `POST /v1/route/decision` takes it. */
  | { readonly kind: "task"; readonly body: Readonly<Record<string, unknown>>; readonly name: string }
  /** To be assessed as `POST /v1/chat/completions` does. */
  | { readonly kind: "chat"; readonly body: object };

/** Text is a message of the user; JSON is a task if it has a `task`, else a chat body or its messages. */
function readRouteInput(words: string, file: string | undefined): RouteInput {
  if (file !== undefined && words !== "") throw invalidInput("both words and --file: give one of them");
  const path = file ?? (words === "-" ? "-" : undefined);
  const [name, text] = path === undefined ? ["arguments", words] : [path, readInput(path, invalidInput)];
  if (text.trim() === "") {
    throw invalidInput(
      'nothing to decide about: say what is asked for (smart-gateway route "fix the login"), or --file',
    );
  }
  if (path === undefined || !/^\s*[{[]/.test(text))
    return { kind: "chat", body: { messages: [{ role: "user", content: text }] } };
  let document: unknown;
  try {
    document = JSON.parse(text);
  } catch {
    throw invalidInput(`${name} is not valid JSON: give a chat body, a list of messages or {task, runtime}`);
  }
  if (isSection(document) && ("task" in document || "runtime" in document)) {
    return { kind: "task", body: document, name };
  }
  return { kind: "chat", body: isSection(document) ? document : { messages: document } };
}
