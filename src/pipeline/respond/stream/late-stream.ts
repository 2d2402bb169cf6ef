import { inBandError } from "#pipeline/respond/failure-answer.ts";
import { type CallerStream, keepAlive } from "#pipeline/respond/reply.ts";
import type { AbortControllerLike } from "#platform/abort.ts";
import type { Receiver } from "#platform/receiver.ts";
import type { UpstreamFailure } from "#upstream/upstream.ts";
import type { StreamShaper } from "./shape-stream.ts";

/** What follows once the upstream has answered: its stream, or all of the text, which may be an error. */
export type BegunStream = CallerStream | string;

/** A stream that began towards the caller before the upstream had sent anything. */
export class LateStream implements CallerStream {
  readonly #begun: Promise<BegunStream>;
  readonly #caller: AbortControllerLike;
  readonly #shaper: StreamShaper;
  #stream: CallerStream | undefined;
  #headSent = false;
  #ended = false;

  /** `shaper`: writes the error that ends it from our side. */
  constructor(begun: Promise<BegunStream>, caller: AbortControllerLike, shaper: StreamShaper) {
    this.#begun = begun;
    this.#caller = caller;
    this.#shaper = shaper;
  }

  read(receiver: Receiver<string>): void {
    if (this.#ended) receiver.onEnd();
    else if (this.#stream !== undefined) this.#stream.read(receiver);
    else if (this.#headSent) {
      this.#begun.then(
        (begun) => this.#readBegun(begun, receiver),
        (error) => receiver.onError(error),
      );
    } else {
      // The runtime sends the head of a response with the first bytes of its body: the caller gets both now.
      this.#headSent = true;
      receiver.onValue(keepAlive);
    }
  }

  #readBegun(begun: BegunStream, receiver: Receiver<string>): void {
    if (typeof begun === "string") {
      this.#ended = true;
      receiver.onValue(begun);
    } else {
      this.#stream = begun;
      begun.read(receiver);
    }
  }

  cancel(): void {
    this.#caller.abort();
    if (this.#stream !== undefined) this.#stream.cancel();
    else void this.#begun.then((begun) => typeof begun === "object" && begun.cancel());
  }

  breakOff(failure: UpstreamFailure): string {
    if (this.#stream !== undefined) return this.#stream.breakOff(failure);
    if (this.#ended) return "";
    this.#ended = true;
    this.cancel();
    return this.#shaper.fail(inBandError(failure));
  }
}
