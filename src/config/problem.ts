/** One problem in the operator's input: in the environment, a configuration file or the keys file. */
export interface Problem {
  /** The file as the operator named it; `environment` for settings. */
  readonly file: string;
  /** Where in it: `budget.per_goal_hard_usd`, `PORT`; empty for the file as a whole. */
  readonly path: string;
  /** Counted from 1; absent where there are no lines. */
  readonly line?: number;
  /** What is wrong, as a sentence part: `expected a number, found text "5"`. */
  readonly message: string;
  /** What to do about it, when that can be said. */
  readonly suggestion?: string;
}
/** Problems are values, listed all at once. */
export type Invalid = {
  readonly kind: "invalid";
  readonly problems: readonly Problem[];
};

/** A problem with a variable of the environment. */
export function environmentProblem(name: string, message: string, suggestion?: string): Problem {
  return { file: "environment", path: name, message, ...(suggestion === undefined ? {} : { suggestion }) };
}

/** Sorted by line where they have lines; otherwise in the order given. */
export function inOrder(problems: readonly Problem[]): Problem[] {
  return problems.toSorted((a, b) => (a.file === b.file ? (a.line ?? 0) - (b.line ?? 0) : 0));
}

/** A problem as a line of the log. */
export function oneLine(problem: Problem): string {
  return formatProblems([problem]).replace(/\n +/g, " ");
}

/** All problems, one block each, for a terminal. */
export function formatProblems(problems: readonly Problem[]): string {
  return problems
    .map(({ file, path, line, message, suggestion }) => {
      const place = line === undefined ? file : `${file}:${line}`;
      const subject = path === "" ? message : `${path}: ${message}`;
      return suggestion === undefined ? `${place}\n  ${subject}` : `${place}\n  ${subject}\n  → ${suggestion}`;
    })
    .join("\n");
}

/** Quotes a value of the operator's files in a message: short, on one line, without control characters. */
export function quoted(value: string): string {
  const clean = value.replace(/[\u0000-\u001f\u007f-\u009f]/g, "�");
  return JSON.stringify(clean.length > 60 ? `${clean.slice(0, 57)}…` : clean);
}

/** The candidate that a misspelt word most likely meant; undefined when none is near. */
export function nearest(word: string, candidates: Iterable<string>): string | undefined {
  const wanted = word.toLowerCase().slice(0, 64);
  let best: string | undefined;
  // A third of the letters may be wrong, at least two: `flash_bellow`, `prot`, `perGoalHardUsd`.
  let bestDistance = Math.max(2, Math.floor(wanted.length / 3)) + 1;
  for (const candidate of candidates) {
    const distance = editDistance(wanted, candidate.toLowerCase());
    if (distance < bestDistance) {
      best = candidate;
      bestDistance = distance;
    }
  }
  return best;
}

/** How many letters to insert, delete, replace or swap with their neighbour to make one word of the other. */
function editDistance(a: string, b: string): number {
  const rows = [Array.from({ length: b.length + 1 }, (_, column) => column)];
  const at = (row: number, column: number) => rows[row]?.[column] ?? Number.POSITIVE_INFINITY;
  for (let row = 1; row <= a.length; row++) {
    rows.push([row]);
    for (let column = 1; column <= b.length; column++) {
      const replaced = at(row - 1, column - 1) + (a[row - 1] === b[column - 1] ? 0 : 1);
      const swaps = a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1];
      const swapped = swaps ? at(row - 2, column - 2) + 1 : Number.POSITIVE_INFINITY;
      rows[row]?.push(Math.min(at(row - 1, column) + 1, at(row, column - 1) + 1, replaced, swapped));
    }
  }
  return at(a.length, b.length);
}
