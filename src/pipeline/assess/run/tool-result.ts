import { windowOf } from "#pipeline/assess/conversation/text.ts";
import { hashOf, normalized } from "./hashes.ts";
import type { CallFacts } from "./tool-call.ts";

/** What came of a call. What was only read has no failure, however much its text mentions errors. */
export interface Observation {
  readonly call: CallFacts;
  /** Equal texts have equal hashes. */
  readonly hash: string;
  /** `malformed`: the call could not be read. */
  readonly outcome: "succeeded" | "read" | "malformed" | Failed;
  /** How much failed, as the last count in the output of a check says. */
  readonly failures: number | undefined;
}

export interface Failed {
  /** `ModuleNotFoundError`, `exit 2`: fit to be shown. */
  readonly errorType: string;
  /** The same error in the same check has the same signature though lines, folders, times and numbers differ. */
  readonly signature: string;
}

/** Characters of a result that are read: the status and the last error stand at its edges. */
const readFirst = 500;
const readLast = 1_500;
const statusWindow = 240;
const maxLineLength = 300;
/** So many lines tell an error from another; stack traces and test summaries end with what matters. */
const maxErrorLines = 12;
/** `<returncode>0`, `"exit_code": 0`, `Exit status: 1`, `exit=0`, `exited with code 2`, `(exit 1)`, `$? = 0`. */
const exitStatus =
  /(?:\b(?:return[_ ]?code|exit(?:ed)?(?:[_ ]?(?:code|status|value))?|rc|error_?level)\b|\$\?)[^\w\n-]{0,6}(?:(?:with|code|status)\b[^\w\n-]{0,3}){0,2}(-?\d{1,10})\b/i;
/** `{"status":"error"`, `"success": false`, `is_error: true`, `"error": "…"` among the first fields of an object. */
const failedField =
  /\b(?:status["']?[:=] ?["']?(?:error|fail)|(?:success|ok)["']?[:=] ?false\b|is_?error["']?[:=] ?["']?true\b|error["']?: ?["'{]|error>)/i;
/** A line by which a program says what went wrong, and one that only says how much did. */
const errorLine =
  /(?:Error|Exception)\b|\berror(?:\[\w{1,10}\]| [A-Z]{1,4}\d{3,5})?:|^\s*\[?ERROR\b|\b(?:panic|fatal):|\bFAIL(?:ED|URE)?\b|\bCONFLICT \(|not found$|No such file|ermission denied|onnection refused|Fehler:/;
const countLine =
  /\b[1-9]\d{0,5} (?:tests? )?(?:failed|failing|failures?|errors?|problems?|offenses?)\b|\btimed? ?out\b/i;
/** Lines that say that there is none, and those of tests that passed, whatever their names. */
const noError =
  /\b(?:no|0) (?:errors?|failures?|failed)\b|\berrors?: ?(?:0\b|\(?none\b)|^\s*(?:ok \d|[✓✔√])|\bPASSED\s*$/i;
const errorTypeIn =
  /\b([A-Za-z_]{1,60}(?:Error|Exception)|panic|fatal|FAILED|error(?:\[\w{1,10}\]| [A-Z]{1,4}\d{3,5})?)\b/;
/** `3 failed`, `FAILED (failures=1)`. */
const failureCount = /\b(\d{1,6}) (?:failed|failing|failures?|errors?)\b|\b(?:failures|errors)=(\d{1,6})/gi;

export function observe(call: CallFacts, whole: string): Observation {
  const shown = windowOf(whole, readFirst, readLast);
  // The output of a program may stand in an object, its lines in one.
  const text = shown.startsWith("{") ? shown.replaceAll("\\n", "\n") : shown;
  const counted = call.runs ? [...text.matchAll(failureCount)].at(-1) : undefined;
  const failures = counted === undefined ? undefined : Number(counted[1] ?? counted[2]);
  return { call, hash: hashOf(shown), outcome: outcomeOf(call, text), failures };
}

/** A stated status beats text. */
function outcomeOf({ changes, runs, command, malformed, check }: CallFacts, text: string): Observation["outcome"] {
  if (malformed) return "malformed";
  if (!changes && !runs) return "read";
  const lines = text.split("\n").map((line) => line.slice(0, maxLineLength));
  const errors = lines.filter((line) => errorLine.test(line) && !noError.test(line));
  const failed = (otherwise: string): Failed => {
    const said = new Set(errors.slice(-maxErrorLines).map((line) => normalized(fromErrorType(line))));
    const error = said.size === 0 ? normalized(otherwise) : [...said].sort().join("\n");
    const errorType = errorTypeIn.exec(errors.at(-1) ?? "")?.[1] ?? otherwise;
    return { errorType, signature: hashOf(`${check} ${error}`) };
  };
  const exit = statedIn(text.slice(0, statusWindow)) ?? statedIn(text.slice(-statusWindow));
  if (exit !== undefined) return exit === 0 ? "succeeded" : failed(`exit ${exit}`);
  if (/^\s*[{<]/.test(text) && failedField.test(text.slice(0, statusWindow))) return failed("error");
  // A tool that edits says in its first line whether it did.
  const said = runs || command ? errors : errors.filter((line) => line === lines[0]);
  const counted = runs && lines.some((line) => countLine.test(line) && !noError.test(line));
  return said.length > 0 || counted ? failed("FAILED") : "succeeded";
}

function statedIn(text: string): number | undefined {
  const status = exitStatus.exec(text)?.[1];
  return status === undefined ? undefined : Number(status);
}

/** The error from its type on: what a reporter puts in front differs from run to run, but for the name of a test. */
function fromErrorType(line: string): string {
  if (/^\s*(?:FAIL|ERROR)/.test(line)) return line;
  return line.slice(/\b[A-Za-z_.]{0,60}(?:Error|Exception|Warning)\b/.exec(line)?.index ?? 0);
}
