import type { z } from "zod";
import { DecisionAttempt, DecisionInputs, DecisionRecord, type DecisionTokens } from "./decision-record.ts";

/** Some fields, and others that may be absent. */
type Sparse<T, Kept extends keyof T> = Pick<T, Kept> & { [K in Exclude<keyof T, Kept>]?: T[K] | null | undefined };

export type StoredAttempt = Sparse<
  DecisionAttempt,
  "number" | "model" | "outcome" | "started_ms" | "duration_ms" | "hold_nano_usd"
>;
export type StoredInputs = Sparse<Omit<DecisionInputs, "task" | "runtime">, "size" | "spend"> & {
  task: Sparse<DecisionInputs["task"], never>;
  runtime: Sparse<DecisionInputs["runtime"], never>;
};

/**
 * A decision record as it is built and stored: what is null, empty or usual is absent, and so is what other fields say.
 * It takes some 60 % of the bytes. Records of earlier releases, in which nothing is absent, are of this type too.
 */
export type StoredRecord = Sparse<
  Omit<DecisionRecord, "attempts" | "inputs" | "timings">,
  "seq" | "at_ms" | "recorded_ms" | "decision_id" | "request_id" | "status" | "outcome" | "cost_nano_usd"
> & {
  attempts: readonly StoredAttempt[];
  inputs?: StoredInputs | null | undefined;
  timings: Sparse<DecisionRecord["timings"], "total_ms">;
};

/** null, an empty list or object, false or 0 for each field that may have it. */
function emptyOf<T>(schema: z.ZodType<T> & { readonly shape: object }): Partial<T> {
  const fields = Object.entries<z.ZodType>({ ...schema.shape }).map(([name, field]) => [
    name,
    [null, [], {}, false, 0].find((empty) => field.safeParse(empty).success),
  ]);
  return Object.fromEntries(fields.filter(([, empty]) => empty !== undefined)) as Partial<T>; // as its schema allows
}

const usualAttempt = { ...emptyOf(DecisionAttempt), purpose: "EXECUTE" };
const usualRecord = { ...emptyOf(DecisionRecord), route: "chat_completions", cost_state: "known", repeated: 1 };
const usualInputs = emptyOf(DecisionInputs);
const usualTimings = emptyOf(DecisionRecord.shape.timings);
export const usualRuntime = { ...emptyOf(DecisionInputs.shape.runtime), failure_class: "NONE" } as const;
export const usualTask = {
  ...emptyOf(DecisionInputs.shape.task.omit({ hint: true, scout: true, pro: true })),
  explicit_route: "AUTO",
  reasoning: "AUTO",
  sensitive: true,
  risk_level: "LOW",
  blast_radius: "LOW",
} as const;

/** Those of the values that are not the usual ones. */
export function unusual<T extends object>(values: T, usual: Partial<T>): Partial<T> {
  const found: Partial<T> = {};
  for (const name in usual) if (values[name] !== usual[name]) found[name] = values[name];
  return found;
}

/** The whole record: what is absent is filled in. The one reader of what `buildRecord` leaves out. */
export function completeRecord(stored: StoredRecord): DecisionRecord {
  const { inputs, timings } = stored;
  const attempts = stored.attempts.map((attempt) => {
    const upstream_status = attempt.outcome === "answered" ? 200 : null;
    return { ...usualAttempt, upstream_status, ...attempt } as DecisionAttempt; // what is absent has a usual value
  });
  const last = attempts.at(-1);
  const task = { ...usualTask, hint: "auto", scout: false, pro: false, ...inputs?.task };
  return {
    ...usualRecord,
    ...readEvidence(stored.evidence ?? []),
    generation_ids: attempts.flatMap(({ generation_id }) => generation_id ?? []),
    upstream_host: last?.host ?? null,
    tokens: attempts.reduce<DecisionTokens | null>((sum, { tokens }) => addTokens(sum, tokens), null),
    hold_nano_usd: attempts.reduce((sum, { hold_nano_usd }) => sum + hold_nano_usd, 0),
    cost_source: last?.cost_source ?? null,
    ...stored,
    attempts,
    inputs: inputs ? { ...usualInputs, ...inputs, task, runtime: { ...usualRuntime, ...inputs.runtime } } : null,
    timings: { ...usualTimings, ...timings },
  } as DecisionRecord; // as above
}

function addTokens(sum: DecisionTokens | null, tokens: DecisionTokens | null): DecisionTokens | null {
  if (sum === null || tokens === null) return sum ?? tokens;
  const added = { ...sum };
  for (const kind of Object.keys(added) as (keyof DecisionTokens)[]) added[kind] += tokens[kind];
  return added;
}

/** The hard rules that the evidence names, and the points of each feature. */
export function readEvidence(evidence: readonly string[]): Pick<DecisionRecord, "rule" | "contributions" | "points"> {
  const rules: string[] = [];
  const contributions: { name: string; value: number }[] = [];
  let points: number | null = null;
  for (const entry of evidence) {
    const at = entry.indexOf("=");
    if (entry.startsWith("hard_rule=")) rules.push(entry.slice(at + 1));
    else if (entry.startsWith("points=")) points = Number(entry.slice(at + 1));
    else if (entry.startsWith("points_")) {
      contributions.push({ name: entry.slice("points_".length, at), value: Number(entry.slice(at + 1)) });
    }
  }
  return { rule: rules.length === 0 ? null : rules.join(", "), contributions, points };
}
