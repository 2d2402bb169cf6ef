import type { KnownParts } from "./memory/body-memory.ts";

/** A part of a body that is left out, and what stands in its place. */
interface Cut {
  readonly from: number;
  readonly to: number;
  readonly placeholder: Uint8Array;
}

const nothing = new Uint8Array(0);

/** A body without what is known of it. */
export interface WithoutKnownParts {
  /** The body without its known messages, and with no tools in the place of known ones. */
  readonly bytes: Uint8Array;
  /** From a place in these bytes to the same place in the body. */
  readonly placeInBody: (at: number) => number;
}

const noTools = Buffer.from('"tools":[]');

export function withoutKnownParts(body: Uint8Array, { beginning, tools }: KnownParts): WithoutKnownParts {
  const cuts: Cut[] = [{ from: beginning.from, to: beginning.to, placeholder: nothing }];
  if (tools !== undefined) cuts.push({ from: tools.from, to: tools.to, placeholder: noTools });
  cuts.sort((a, b) => a.from - b.from);
  const pieces: Uint8Array[] = [];
  let end = 0;
  for (const { from, to, placeholder } of cuts) {
    pieces.push(body.subarray(end, from), placeholder);
    end = to;
  }
  pieces.push(body.subarray(end));
  const placeInBody = (at: number) => {
    let place = at;
    for (const { from, to, placeholder } of cuts) {
      if (place >= from + placeholder.length) place += to - from - placeholder.length;
    }
    return place;
  };
  return { bytes: Buffer.concat(pieces), placeInBody };
}
