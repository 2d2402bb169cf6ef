/** Unknown outside, so that nobody can have one text taken for another. */
const [seed = 0n] = crypto.getRandomValues(new BigUint64Array(1));

/** A name for a text, in as many bits as a number holds. Chance makes two of 2^53 texts equal; it guards no secrets. */
export function hashOfText(text: string): number {
  return shortened(Bun.hash.xxHash3(text, seed));
}

export function shortened(hash: bigint): number {
  return Number(BigInt.asUintN(53, hash));
}
