import { type ChatMessage, isSystemRole } from "#domain/chat.ts";
import { spokenIn, type UserWords, userWordsIn } from "#pipeline/assess/envelope/user-words.ts";
import { type GivenResult, modelFacts, toolFacts, userFacts } from "./message-facts.ts";
import { type CallFacts, callFacts } from "./tool-call.ts";
import { type Outcome, outcomeOf, type ResultFacts, resultFacts } from "./tool-result.ts";

/** What one message adds to a run: something that the model has written, or a result that a tool gave. */
export type RunStep = ModelStep | ResultStep;

interface ModelStep {
  readonly kind: "model";
  /** Index of the message. */
  readonly at: number;
  /** Characters of the model's own prose. */
  readonly prose: number;
  readonly calls: readonly CallFacts[];
}

export interface ResultStep {
  readonly kind: "result";
  readonly at: number;
  /** The call that it answers. */
  readonly call: CallFacts;
  readonly result: ResultFacts;
  readonly outcome: Outcome;
  /** The user has spoken by this result. */
  readonly user: UserWords | undefined;
}

const unknownCall = callFacts({ name: "", args: "" });
/** What a harness hands on without naming a tool is what a program has printed. */
const unknownProgram = callFacts({ name: "run", args: "" });
const editInText = callFacts({ name: "edit", args: "" });
const nothingSaid: GivenResult = { result: resultFacts(""), spoken: spokenIn(""), id: undefined };

/** The run in the messages from an index on, oldest first. Linear in them. */
export function runStepsFrom(messages: readonly ChatMessage[], start: number): readonly RunStep[] {
  const steps: RunStep[] = [];
  const byId = new Map<number, CallFacts>();
  let last = unknownCall;
  /** The model's message in front, where only results stand between. */
  let spoke: ReturnType<typeof modelFacts> | undefined;
  const add = (at: number, call: CallFacts, { result, spoken }: GivenResult) =>
    steps.push({
      kind: "result",
      at,
      call,
      result,
      outcome: outcomeOf(call, result),
      user: userWordsIn(call.speaker, spoken),
    });
  for (let at = start; at < messages.length; at++) {
    const message = messages[at];
    if (message?.role === "assistant") {
      spoke = modelFacts(message);
      for (const call of spoke.calls) if (call.id !== undefined) byId.set(call.id, call);
      last = spoke.calls.at(-1) ?? last;
      steps.push({ kind: "model", at, prose: spoke.prose, calls: spoke.calls });
      // The harness makes such an edit, and says nothing unless it could not.
      if (spoke.edits) add(at, editInText, nothingSaid);
    } else if (message?.role === "tool" || message?.role === "function") {
      const given = toolFacts(message);
      add(at, (given.id === undefined ? undefined : byId.get(given.id)) ?? last, given);
    } else if (message?.role === "user" || (isSystemRole(message?.role) && spoke !== undefined)) {
      // gptme gives results in the system's role, several in a row where the model has made several calls.
      const { turn } = userFacts(message as ChatMessage); // it has a role
      if (turn?.kind === "note") add(at, unknownCall, turn);
      else if (turn !== undefined) {
        const written = turn.tool === undefined || spoke?.written?.tool === turn.tool.tool ? spoke?.written : undefined;
        last = turn.call ?? written ?? turn.tool ?? unknownProgram;
        add(at, last, turn);
      } else if (message?.role === "user") spoke = undefined;
    }
  }
  return steps;
}
