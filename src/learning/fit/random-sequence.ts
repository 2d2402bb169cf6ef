/** Uniform numbers in [0, 1) of a linear congruential generator: the same records give the same weights and the same folds. */
export function randomSequence(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}
