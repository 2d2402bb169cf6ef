import type { Operation } from "#ledger/rules/operations.ts";

/** Resolutions that reads wait for: those that were handed in since the generation before it was closed. */
export interface Generation {
  outstanding: number;
  readonly written: PromiseWithResolvers<void>;
}

/** Tells a read when every resolution handed in before it is written. Counts them in generations, so that nobody waits for later ones. */
export class ResolutionTracker {
  #current = newGeneration();
  /** Earlier generations that are not written yet, oldest first; a generation is closed only for a read that waits for it. */
  #closed: Generation[] = [];

  /** The generation that resolutions join now. */
  get current(): Generation {
    return this.#current;
  }

  /** Resolves when every resolution handed in so far is written; undefined when they all are. */
  written(): Promise<void> | undefined {
    if (this.#current.outstanding > 0) {
      this.#closed.push(this.#current);
      this.#current = newGeneration();
    }
    return this.#closed.at(-1)?.written.promise;
  }

  /** To be called after counts went down. In order: a read that waits for a generation waits for those before it too. */
  resolveWritten(): void {
    while (this.#closed[0]?.outstanding === 0) this.#closed.shift()?.written.resolve();
  }
}

function newGeneration(): Generation {
  return { outstanding: 0, written: Promise.withResolvers() };
}

/** Whether an operation closes a reservation of this node, and so may give money back. */
export function isClosing(kind: Operation["kind"]): boolean {
  return kind === "resolve" || kind === "cancel";
}
