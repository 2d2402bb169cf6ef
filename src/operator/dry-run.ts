import type { ModelRegistry } from "#domain/model.ts";
import { parseChatRequest } from "#http/chat-body/parse-chat.ts";
import {
  contributionsOf,
  type DryRun,
  type DryRunOptions,
  dryRun,
  evidenceOf,
  expectedCost,
} from "#pipeline/dry-run.ts";
import { OperatorProblem } from "./problem.ts";

/** Where a chat body would go, as the chat endpoint decides; nothing is sent. Throws what chat would refuse. */
export function dryRunOfChat(body: object, options: DryRunOptions): DryRun {
  const bytes = Buffer.from(JSON.stringify({ model: "smart-router", ...body }));
  const received = { bytes, headers: new Headers(), requestId: "dry-run", receivedAtMs: options.nowMs };
  const parsed = parseChatRequest(received);
  if (parsed.kind === "refused")
    throw new OperatorProblem("invalid", `chat answers ${parsed.status}: ${parsed.detail}`);
  let run: ReturnType<typeof dryRun>;
  try {
    run = dryRun(parsed.request, options);
  } catch {
    // What the gate throws may quote the text.
    throw new OperatorProblem("invalid", "The privacy gate would refuse this request.", "privacy_gate_failed");
  }
  if (run.kind === "decided") return run;
  throw new OperatorProblem("invalid", `chat answers ${run.status} ${run.code}: ${run.detail}`, run.code);
}

/** One decision with what it was made from. `redactions`: absent for a stated task. */
type Routed = Pick<DryRun, "decision" | "task" | "runtime" | "size"> & Partial<Pick<DryRun, "redactions">>;

/** A decision as data, with the inferred task, the contributions, the rules and the cost. */
export function routedRecord({ decision, task, runtime, size, redactions }: Routed, registry: ModelRegistry) {
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
