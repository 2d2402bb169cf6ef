import { type InBandError, inBandErrorOf } from "#pipeline/respond/failure-answer.ts";
import { type CallerStream, keepAlive } from "#pipeline/respond/reply.ts";
import type { AbortControllerLike } from "#platform/abort.ts";
import type { Receiver } from "#platform/receiver.ts";
import type { UpstreamFailure } from "#upstream/upstream.ts";
import { type CompletionIdentity, StreamShaper } from "./shape-stream.ts";

/** What follows once the upstream has answered: its stream, or the error to end the caller's stream with. */
export type BegunStream = CallerStream | InBandError;

/** A stream of which all has come. */
export function wholeStream(text: string): CallerStream {
  let left = text;
  return {
    read(receiver) {
      const all = left;
      left = "";
      if (all === "") receiver.onEnd();
      else receiver.onValue(all);
    },
    cancel: () => undefined,
    breakOff: () => "",
  };
}

/** A stream that began towards the caller before the upstream had sent anything. */
export class LateStream implements CallerStream {
  readonly #begun: Promise<BegunStream>;
  readonly #caller: AbortControllerLike;
  readonly #model: string;
  readonly #identity: CompletionIdentity;
  #stream: CallerStream | undefined;
  #headSent = false;
  #failed = false;

  /** `model`: the upstream id of the decision's model, for an error chunk of our own; `identity`: the same chunk's names. */
  constructor(begun: Promise<BegunStream>, caller: AbortControllerLike, model: string, identity: CompletionIdentity) {
    this.#begun = begun;
    this.#caller = caller;
    this.#model = model;
    this.#identity = identity;
  }

  read(receiver: Receiver<string>): void {
    if (this.#failed) receiver.onEnd();
    else if (this.#stream !== undefined) this.#stream.read(receiver);
    else if (this.#headSent) {
      this.#begun.then(
        (begun) => {
          if ("read" in begun) {
            this.#stream = begun;
            begun.read(receiver);
          } else receiver.onValue(this.#fail(begun));
        },
        (error) => receiver.onError(error),
      );
    } else {
      // The runtime sends the head of a response with the first bytes of its body: the caller gets both now.
      this.#headSent = true;
      receiver.onValue(keepAlive);
    }
  }

  cancel(): void {
    this.#caller.abort();
    if (this.#stream !== undefined) this.#stream.cancel();
    else void this.#begun.then((begun) => "cancel" in begun && begun.cancel());
  }

  breakOff(failure: UpstreamFailure): string {
    return this.#stream === undefined ? this.#fail(inBandErrorOf(failure)) : this.#stream.breakOff(failure);
  }

  #fail(error: InBandError): string {
    if (this.#failed) return "";
    this.#failed = true;
    const shaper = new StreamShaper({
      model: this.#model,
      identity: this.#identity,
      wantsUsage: false,
      reasoning: "field",
      maxHeldCharacters: 0,
    });
    this.cancel();
    return shaper.fail(error);
  }
}
