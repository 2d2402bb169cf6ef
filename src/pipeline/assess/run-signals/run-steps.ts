import { type ChatMessage, isSystemRole } from "#domain/chat.ts";
import { filesNamedBy } from "./calls/files-touched.ts";
import type { ToolCall } from "./calls/tool-call.ts";
import { worksInRepository } from "./calls/tools.ts";
import type { UserWords } from "./calls/user-words.ts";
import { type NamedObservation, observationOf } from "./observation.ts";
import { type RunMessage, type RunResult, runMessageAt } from "./run-messages.ts";
import { hashOfText } from "./text-hash.ts";

/** What a call tells, whatever came before it. Holds names and hashes, no text. */
export interface ObservedCall {
  /** Hash of the id under which its result comes. */
  readonly id: number | undefined;
  readonly worksInRepository: boolean;
  /** Hashes of the files that an edit-like call names. */
  readonly files: readonly number[];
}

/** What a message adds to its run. */
interface Step {
  /** Counted from the first message of those that were read together. */
  readonly index: number;
  readonly calls: readonly ObservedCall[];
  /** `elsewhere`: the call that it answers is none of the messages that were read together. */
  readonly result: NamedObservation | "elsewhere" | undefined;
}

/** The calls of a run and what they gave, oldest first. */
export interface RunSteps {
  readonly calls: readonly ObservedCall[];
  readonly results: readonly NamedObservation[];
}

/** A run, and where in it the user spoke by the result of a tool. */
export interface RunWithUser extends RunSteps {
  readonly spoken: readonly Spoken[];
}

export interface Spoken {
  readonly words: UserWords;
  /** Index of the message. */
  readonly at: number;
  /** How many calls and results there were by then, this one among them. */
  readonly calls: number;
  readonly results: number;
}

/** The run in the messages from an index on. */
export function runStepsFrom(messages: readonly ChatMessage[], start: number): RunWithUser {
  const run = new RunReader(messages);
  if (start < messages.length) run.add(start, stepsIn(messages, start, messages.length));
  return run;
}

/** The steps of the messages `[from, to)`, by what stands in these alone. */
function stepsIn(messages: readonly ChatMessage[], from: number, to: number): readonly Step[] {
  const steps: Step[] = [];
  const byId = new Map<string, ToolCall>();
  let last: ToolCall | undefined;
  /** The call of a result may stand in front of all that is read here. */
  let isFirst = true;
  for (let index = from; index < to; index++) {
    const message = runMessageAt(messages, index);
    const isElsewhere = isFirst && message?.result !== undefined && message.calls.length > 0;
    isFirst &&= isSystemRole(messages[index]?.role);
    if (message === undefined) continue;
    if (isElsewhere) {
      steps.push({ index: index - from, calls: [], result: "elsewhere" });
      continue;
    }
    for (const { id, call } of message.calls) {
      last = call;
      if (id !== undefined) byId.set(id, call);
    }
    const { result } = message;
    if (result === undefined && message.calls.length === 0) continue;
    steps.push({
      index: index - from,
      calls: observedCalls(message),
      result: result === undefined ? undefined : observed(result, byId, last),
    });
  }
  return steps;
}

function observed({ answers, text }: RunResult, byId: ReadonlyMap<string, ToolCall>, last: ToolCall | undefined) {
  if (answers === "no_call") return observationOf({ call: undefined, text });
  const call = answers === "last_call" ? last : byId.get(answers.id);
  return call === undefined ? "elsewhere" : observationOf({ call, text });
}

function observedCalls({ calls }: RunMessage): ObservedCall[] {
  return calls.map(({ id, call }) => ({
    id: id === undefined ? undefined : hashOfText(id),
    worksInRepository: worksInRepository(call.name),
    files: filesNamedBy(call),
  }));
}

/** So many calls are looked through for the one that a result answers. */
const newestCalls = 8;

/** Puts the steps of a run together. */
class RunReader implements RunWithUser {
  readonly calls: ObservedCall[] = [];
  readonly results: NamedObservation[] = [];
  readonly spoken: Spoken[] = [];
  readonly #messages: readonly ChatMessage[];
  /** Of each call: its message, and its place among the calls of that. */
  readonly #indexes: number[] = [];
  readonly #ordinals: number[] = [];
  /** Calls by their ids; only where one was looked for that was not among the newest. */
  #byId: Map<number, number> | undefined;
  /** Messages that were read once more for their calls: there may be thousands of calls in one. */
  readonly #read = new Map<number, RunMessage | undefined>();

  constructor(messages: readonly ChatMessage[]) {
    this.#messages = messages;
  }

  /** Adds steps that were counted from a message. */
  add(from: number, steps: readonly Step[]): void {
    for (const { index, calls, result } of steps) {
      this.#addCalls(from + index, calls);
      if (result === "elsewhere") this.#addFromElsewhere(from + index);
      else if (result !== undefined) this.#addResult(from + index, result);
    }
  }

  #addCalls(index: number, calls: readonly ObservedCall[]): void {
    let ordinal = 0;
    // An iterator of entries would be made for each step of the run.
    for (const call of calls) {
      if (call.id !== undefined) this.#byId?.set(call.id, this.calls.length);
      this.calls.push(call);
      this.#indexes.push(index);
      this.#ordinals.push(ordinal++);
    }
  }

  /** A result whose call stands in a message before those that were read together, if anywhere. */
  #addFromElsewhere(index: number): void {
    const message = runMessageAt(this.#messages, index);
    if (message?.result === undefined) return;
    this.#addCalls(index, observedCalls(message));
    const { answers, text } = message.result;
    const place = typeof answers === "object" ? this.#placeOf(hashOfText(answers.id)) : this.calls.length - 1;
    this.#addResult(index, observationOf({ call: this.#callAt(place), text }));
  }

  #addResult(at: number, result: NamedObservation): void {
    this.results.push(result);
    const words = result.observation.user;
    if (words !== undefined) this.spoken.push({ words, at, calls: this.calls.length, results: this.results.length });
  }

  /** The place of the newest call with an id; -1 where there is none. */
  #placeOf(id: number): number {
    if (this.#byId === undefined) {
      // Nearly always the call stands in the message before.
      for (let place = this.calls.length - 1; place >= this.calls.length - newestCalls; place--) {
        if (this.calls[place]?.id === id) return place;
      }
      this.#byId = new Map();
      for (const [place, call] of this.calls.entries()) if (call.id !== undefined) this.#byId.set(call.id, place);
    }
    return this.#byId.get(id) ?? -1;
  }

  #callAt(place: number): ToolCall | undefined {
    const index = this.#indexes[place];
    if (index === undefined) return undefined;
    let message = this.#read.get(index);
    if (message === undefined) {
      message = runMessageAt(this.#messages, index);
      this.#read.set(index, message);
    }
    return message?.calls[this.#ordinals[place] ?? -1]?.call;
  }
}
