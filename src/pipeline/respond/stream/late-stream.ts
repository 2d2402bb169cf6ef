import { type InBandError, inBandErrorOf } from "#pipeline/respond/failure-answer.ts";
import { type CallerStream, keepAlive } from "#pipeline/respond/reply.ts";
import type { AbortControllerLike } from "#platform/abort.ts";
import type { UpstreamFailure } from "#upstream/upstream.ts";
import type { CompletionIdentity } from "./shape-options.ts";
import { StreamShaper } from "./shape-stream.ts";

/** What follows once the upstream has answered: its stream, or the error to end the caller's stream with. */
export type BegunStream = CallerStream | InBandError;

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

  async next(): Promise<string | undefined> {
    if (this.#failed) return undefined;
    if (!this.#headSent) {
      // The runtime sends the head of a response with the first bytes of its body: the caller gets both now.
      this.#headSent = true;
      return keepAlive;
    }
    const begun = this.#stream ?? (await this.#begun);
    if ("next" in begun) {
      this.#stream = begun;
      return begun.next();
    }
    return this.#fail(begun);
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
