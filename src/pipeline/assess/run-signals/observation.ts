import { effectOf } from "./calls/call-effect.ts";
import type { ToolCall, ToolResult } from "./calls/tool-call.ts";
import { inSnakeCase } from "./calls/tools.ts";
import { isRefusedByUser, type UserWords, userWordsIn } from "./calls/user-words.ts";
import { checkOf, fnv1a, fromErrorType, normalizedError } from "./error-signature.ts";
import { type FailingNames, failingNamesIn } from "./failing-names.ts";
import { statusOf } from "./result-status.ts";
import { failedTestsIn } from "./test-summary.ts";
import { shortened } from "./text-hash.ts";

/** What one tool result shows, whatever came before it. Holds names and hashes, no text. */
export interface Observation {
  readonly changes: boolean;
  readonly reverts: boolean;
  readonly runs: boolean;
  readonly kind: "succeeded" | "read" | "malformed" | "failed";
  /** As the result's test summary says; undefined where it has none, or where nothing was run. */
  readonly failedTests: number | undefined;
  /** Hash of what was checked. */
  readonly check: string;
  /** Of a failure: its type, and of each test or place that failed, else of the error, a hash with the check. */
  readonly errorType: string;
  readonly signatures: readonly string[];
  /** How much failed, where it can be counted. */
  readonly failures: number | undefined;
  /** The user has spoken by this result. */
  readonly user: UserWords | undefined;
}

/** An observation, with names for the call and for the call with its result; equal where these are equal. */
export interface NamedObservation {
  /** Undefined where nobody knows which call it was. */
  readonly call: number | undefined;
  readonly result: number;
  readonly observation: Observation;
}

/** So many observations are remembered at least, and twice as many at most: some 5 MB. */
const rememberedObservations = 16_384;
let young = new Map<number, Observation>();
let old = new Map<number, Observation>();

/**
 * Unknown outside, so that nobody can have results taken for others. That two are taken for one by chance (one in 2^53 for each
 * pair) would count one result wrongly, so a fast hash is enough; what guards secrets has a better one.
 */
const [seedOfCalls = 0n, seedOfNoCall = 0n] = crypto.getRandomValues(new BigUint64Array(2));

/** Agents resend the results of their run with every turn, and to read one takes several regular expressions. */
export function observationOf({ call, text }: ToolResult): NamedObservation {
  const callName = call === undefined ? seedOfNoCall : hashOfCall(call);
  const result = shortened(Bun.hash.xxHash3(text, callName));
  let observation = young.get(result);
  if (observation === undefined) {
    observation = old.get(result) ?? observe(call, text);
    if (young.size >= rememberedObservations) {
      old = young;
      young = new Map();
    }
    young.set(result, observation);
  }
  return { call: call === undefined ? undefined : shortened(callName), result, observation };
}

function hashOfCall({ name, args }: ToolCall): bigint {
  return Bun.hash.xxHash3(args, Bun.hash.xxHash3(name, seedOfCalls));
}

function observe(call: ToolCall | undefined, text: string): Observation {
  const user = call === undefined ? undefined : userWordsIn(inSnakeCase(call.name), text);
  const made = user === undefined || !isRefusedByUser(text);
  const effect = effectOf(made ? call : undefined);
  const { changes, reverts, runs, command } = effect;
  // The output of a program may stand in an object, its lines in one.
  const output = runs && /^\s*\{/.test(text) ? text.replace(/\\[nt]/g, (sign) => (sign === "\\n" ? "\n" : "\t")) : text;
  const status = statusOf(effect, output);
  const check = checkOf(command);
  const failed = status.kind === "failed" ? status : undefined;
  const failedTests = runs && !effect.showsByScript ? failedTestsIn(output) : undefined;
  const failing = failed === undefined || !runs ? noNames : failingNamesIn(output, failedTests !== undefined);
  return {
    changes,
    reverts,
    runs,
    kind: status.kind,
    failedTests,
    check: fnv1a(check),
    errorType: failed?.errorType ?? "",
    signatures: failed === undefined ? [] : signaturesOf(check, failing.names, failed.line),
    failures: failedTests || failing.count || undefined,
    user,
  };
}

const noNames: FailingNames = { names: [], count: 0 };

function signaturesOf(check: string, names: readonly string[], line: string): readonly string[] {
  const failing = names.length > 0 ? names : [normalizedError(fromErrorType(line))];
  return failing.map((each) => fnv1a(`${check}\0${each}`));
}
