import { dirname, resolve } from "node:path";
import { LearnedWeights } from "#domain/learned-weights.ts";
import { readJsonFile, validate } from "#settings/config-file.ts";
import type { Invalid } from "#settings/problem.ts";
import type { Policy } from "./schema.ts";

/** The path of the learned weights that the policy names; undefined when it names none. */
export function weightsPathOf({ routing }: Policy, policyPath: string | undefined): string | undefined {
  const { weights_file } = routing.learned;
  return weights_file === "" ? undefined : resolve(dirname(policyPath ?? "."), weights_file);
}

/** Learned weights from a file. Its form, the version of its features and every number are checked; never throws. */
export function loadWeights(path: string): { readonly kind: "ok"; readonly weights: LearnedWeights } | Invalid {
  const read = readJsonFile(path, "routing.learned.weights_file");
  if (read.kind === "invalid") return read;
  const checked = validate(LearnedWeights, read.document);
  if (checked.kind === "ok") return { kind: "ok", weights: checked.value };
  // One problem for each table: hundreds of them would hide the cause.
  const [first, ...others] = checked.problems;
  const suggestion = "fit again: smart-gateway policy learn --write";
  const problems = first === undefined ? [] : [{ ...first, suggestion }, ...others.slice(0, 4)];
  return { kind: "invalid", problems };
}
