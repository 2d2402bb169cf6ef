import { isObject, type Json, type JsonObject } from "#domain/chat.ts";
import type { Agent } from "./agents.ts";
import type { ExchangeRecord } from "./recording-proxy.ts";
import { closing, edited, thought } from "./scripted-model.ts";

export type Outcome =
  | { readonly kind: "not_tried" | "not_installed"; readonly reason: string }
  | {
      readonly kind: "ran";
      /** Undefined if it was ended at the time limit. */
      readonly code: number | undefined;
      readonly output: string;
      readonly seconds: number;
      readonly exchanges: readonly ExchangeRecord[];
      /** The content of calc.py after the run. */
      readonly calc: string;
      /** Lines of `git status --porcelain`. */
      readonly changed: readonly string[];
      readonly spentNanoUsd: number;
      readonly billedNanoUsd: number;
    };

/** One row of the table. */
export interface AgentReport {
  readonly agent: string;
  readonly result: string;
  /** Requests by path and status. */
  readonly requests: string;
  /** Headers in which it names a session, a goal or a task. */
  readonly identity: string;
  /** Fields of its chat requests. */
  readonly fields: string;
  /** The cost that the ledger has settled; a remark says if it differs from the upstream's bill. */
  readonly settled: string;
  readonly remarks: string;
}

export function reportOf(agent: Agent, outcome: Outcome): AgentReport {
  const version = agent.packages[0]?.replace(/\[.*\]/, "") ?? agent.name;
  const row = { agent: version, requests: "", identity: "", fields: "", settled: "" };
  if (outcome.kind !== "ran") return { ...row, result: outcome.kind.replace("_", " "), remarks: outcome.reason };
  const { exchanges, output } = outcome;
  const chats = exchanges.filter(({ request }) => / \S+\/chat\/completions /.test(request.start));
  const bodies = chats.map(({ request }) => parsed(request.body)).filter((body) => body !== undefined);
  const answered = agent.edits ? outcome.calc.includes(edited) : output.includes(closing);
  const refused = chats.filter(({ answer }) => answer !== undefined && !answer.start.includes(" 200 "));
  const remarks = [
    ...(outcome.code === 0
      ? []
      : [outcome.code === undefined ? "ended at the time limit" : `exit code ${outcome.code}`]),
    ...(outcome.calc.includes(thought) ? ["reasoning in the file"] : []),
    ...outcome.changed.filter((line) => line.startsWith("??") && line.includes(thought.slice(0, 10))),
    ...new Set(refused.map(({ answer }) => `${answer?.start.slice(9)}: ${answer?.body.slice(0, 200)}`)),
    ...(exchanges.some(({ answer }) => answer === undefined) ? ["a request without an answer"] : []),
    ...(exchanges.length === 0 ? [output.trim().split("\n").slice(-2).join(" ").slice(0, 200)] : []),
    ...(outcome.spentNanoUsd === outcome.billedNanoUsd
      ? []
      : [`ledger ${outcome.spentNanoUsd}, bill ${outcome.billedNanoUsd} nano-USD`]),
  ];
  return {
    agent: version,
    result: `${answered ? (agent.edits ? "edited" : "printed") : "no answer"} ${outcome.seconds} s`,
    requests: counted(
      exchanges.map(({ request, answer }) => `${pathOf(request.start)} ${answer?.start.slice(9, 12) ?? "-"}`),
    ),
    identity: counted(chats.flatMap(({ request }) => [...request.headers.keys()].filter(namesIdentity))),
    fields: counted(
      bodies.flatMap((body) => Object.keys(body).filter((name) => name !== "messages" && name !== "model")),
    ),
    settled: `${outcome.spentNanoUsd} nano-USD`,
    remarks: remarks.join("; "),
  };
}

function namesIdentity(header: string): boolean {
  return (
    /session|goal|task|thread|conversation|prompt_cache|affinity/.test(header) || header.startsWith("x-smart-gateway-")
  );
}

function pathOf(start: string): string {
  const [method = "", target = ""] = start.split(" ");
  return `${method} ${target.split("?")[0]}`;
}

function counted(words: readonly string[]): string {
  const counts = new Map<string, number>();
  for (const word of words) counts.set(word, (counts.get(word) ?? 0) + 1);
  return [...counts].map(([word, count]) => (count === 1 ? word : `${word} ×${count}`)).join(", ");
}

function parsed(text: string): JsonObject | undefined {
  try {
    const value: Json = JSON.parse(text);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined; // cut off by the end of the run
  }
}

/** A Markdown table. */
export function tableOf(reports: readonly AgentReport[]): string {
  const columns = ["agent", "result", "requests", "identity", "fields", "settled", "remarks"] as const;
  const line = (cells: readonly string[]) => `| ${cells.map((cell) => cell.replace(/[|\n]/g, " ")).join(" | ")} |`;
  return [
    line(columns),
    line(columns.map(() => "---")),
    ...reports.map((report) => line(columns.map((column) => report[column]))),
  ].join("\n");
}
