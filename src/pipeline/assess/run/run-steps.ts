import { type ChatMessage, isSystemRole } from "#domain/chat.ts";
import { isTurnOfHarness, spokeBefore } from "#pipeline/assess/conversation/user-message.ts";
import { answeredId, modelFacts, observedIn } from "./message-facts.ts";
import { type CallFacts, callFacts } from "./tool-call.ts";
import { type Observation, observe } from "./tool-result.ts";

/** What one message adds to a run: something that the model has written, or a result that a tool gave. */
export type RunStep = { readonly kind: "model" /** Characters. */; readonly prose: number } | ResultStep;
export interface ResultStep {
  readonly kind: "result";
  readonly observation: Observation;
}

const unknownCall = callFacts({ name: "", args: "" });
/** What a harness hands on without a call in front is what a program has printed. */
const unknownProgram = callFacts({ name: "run", args: "" });
/** The harness makes such an edit, and says nothing unless it could not. */
const editInText: RunStep = { kind: "result", observation: observe(callFacts({ name: "edit", args: "" }), "") };

/** The run in the messages from an index on, oldest first. Linear in them. */
export function runStepsFrom(messages: readonly ChatMessage[], start: number): readonly RunStep[] {
  const steps: RunStep[] = [];
  const byId = new Map<string, CallFacts>();
  let last = unknownCall;
  for (let at = start; at < messages.length; at++) {
    const message = messages[at];
    if (message === undefined) continue;
    const { role } = message;
    if (role === "assistant") {
      const spoke = modelFacts(message);
      for (const call of spoke.calls) if (call.id !== undefined) byId.set(call.id, call);
      last = spoke.calls.at(-1) ?? last;
      steps.push({ kind: "model", prose: spoke.prose });
      if (spoke.edits) steps.push(editInText);
    } else if (role === "tool" || role === "function") {
      const call = byId.get(answeredId(message) ?? "") ?? last;
      steps.push({ kind: "result", observation: observedIn(message, call) });
    } else if ((role === "user" || isSystemRole(role)) && isTurnOfHarness(messages, at)) {
      const call = spokeBefore(messages, at)?.written ?? unknownProgram;
      steps.push({ kind: "result", observation: observedIn(message, call) });
    }
  }
  return steps;
}
