// Patterns that `scripts/check-patterns.ts` passes over, each with what bounds its cost.

/** `pattern`: the source of one that is not linear; absent: one that is made while the program runs. */
export type Exception = { readonly file: string; readonly pattern?: string; readonly bound: string };

export const exceptions: readonly Exception[] = [
  { file: "src/dashboard/api.ts", bound: "made of the paths of our own table; a parameter ends at the next slash" },
  {
    file: "src/pipeline/settle/consequences.ts",
    bound: "a model's id of the registry, escaped, and plain words: no repetition",
  },
];
