import { windowOf } from "#pipeline/assess/conversation/text.ts";
import { hashOf, normalized, sharedHash } from "./hashes.ts";
import type { CallFacts } from "./tool-call.ts";

/** What came of a call. What was only read has no failure, however much its text mentions errors. */
export interface Observation {
  /** The call that it is about. */
  readonly call: CallFacts;
  /** Equal texts have equal hashes. */
  readonly hash: number;
  /** `malformed`: the call could not be read. */
  readonly outcome: "succeeded" | "read" | "malformed" | Failed;
  /** How much failed, as the last count in the output of a check says. */
  readonly failures: number | undefined;
}

export interface Failed {
  /** `ModuleNotFoundError`, `exit 2`: fit to be shown. */
  readonly errorType: string;
  /** The same error in the same check has the same signature though lines, folders, addresses, times and numbers differ. */
  readonly signature: string;
}

/** Characters of a result that are read: the status and the last error stand at its edges. */
const readFirst = 500;
const readLast = 1_500;
const maxLineLength = 300;
/** Where an exit status stands: in the first or the last characters of a result. */
const statusWindow = 240;
/** `<returncode>0`, `"exit_code": 0`, `Exit status: 1`, `exit=0`, `exited with code 2`, `(exit 1)`, `$? = 0`. */
const exitStatus =
  /(?:\b(?:return[_ ]?code|exit(?:ed)?(?:[_ ]?(?:code|status|value))?|rc|error_?level)\b|\bexitCode\b|\$\?)[^\w\n-]{0,6}(?:(?:with|code|status|is|was)\b[^\w\n-]{0,3}){0,2}(-?\d{1,10})\b/i;
/** Names of tests and sentences may speak of a status. */
const notItsOwn = /^\s*(?:[○×✗•]\s*\S|ok\b|not ok\b|PASS|FAIL|test\b|it\b)/;
/** `{"status":"error"`, `"success": false`, `is_error: true` among the first fields of an object. */
const failedField =
  /["'<]?\b(?:(?:status|outcome)["']?[:=] ?["']?(?:error|fail)|(?:success|ok)["']?[:=] ?["']?false\b|is_?error["']?[:=] ?["']?true\b|error["']?: ?["'{]|error>)/i;
/** A line by which a program says what went wrong. */
const errorLine =
  /(?:Error|Exception)\b|\berror(?:\[\w{1,10}\]| [A-Z]{1,4}\d{3,5})?:|^\s*\[?ERROR\]?(?::|\s)|\b(?:panic|fatal):|\bFAIL(?:ED|URE)?\b|\bCONFLICT \(|not found$|command not found|No such file|ermission denied|onnection refused|Segmentation fault|Assertion failed|\*\*\* \[|^\s*not ok \d|\bFehler:|\bErreur ?:|错误[:：]|エラー[:：]|오류[:：]|шибка:/;
/** A line that only says how much failed: it tells that something did, and no error from another. */
const countLine = /\b[1-9]\d{0,5} (?:tests? )?(?:failed|failing|failures?|errors?|problems?)\b|\btimed? ?out\b/i;
/** Lines that say that there is none, and those of tests that passed, whatever their names. */
const noError =
  /\b(?:no|0) (?:errors?|failures?|failed|problems?)\b|\berrors?: ?(?:0\b|\(?(?:none|null|nil|n\/a)\b)|^\s*(?:ok \d|[✓✔√])|\bPASSED\s*$|\.\.\. ok\s*$/i;
/** What a tool that edits says where nothing was edited. */
const notEdited =
  /\b(?:error|failed|could not|couldn't|cannot|can't|unable|not found|does not (?:exist|match)|no (?:match|replacement|changes?)|invalid|must (?:match|be unique)|not unique)\b/i;
const edited = /^\W{0,5}(?:success|updated|edited|wrote|written|saved|created|applied)/i;
const errorTypeIn =
  /\b([A-Za-z_]{1,60}(?:Error|Exception))\b|\b(panic|fatal|FAILED|command not found|No such file|error(?:\[\w{1,10}\]| [A-Z]{1,4}\d{3,5})?)/;
/** `3 failed`, `FAILED (failures=1)`. */
const failureCount = /\b(\d{1,6}) (?:tests? )?(?:failed|failing|failures?|errors?)\b|\b(?:failures|errors)=(\d{1,6})/gi;

export function observe(call: CallFacts, whole: string): Observation {
  const shown = windowOf(whole, readFirst, readLast);
  // The output of a program may stand in an object, its lines in one.
  const text = shown.trimStart().startsWith("{") ? shown.replaceAll("\\n", "\n") : shown;
  const counted = call.runs ? [...text.matchAll(failureCount)].at(-1) : undefined;
  return {
    call,
    hash: hashOf(shown),
    outcome: outcomeOf(call, text),
    failures: counted === undefined ? undefined : Number(counted[1] ?? counted[2]),
  };
}

/** A stated status beats text. */
function outcomeOf({ changes, runs, command, malformed, check }: CallFacts, text: string): Observation["outcome"] {
  if (malformed) return "malformed";
  if (!changes && !runs) return "read";
  const lines = text.split("\n").map((line) => line.slice(0, maxLineLength));
  const errors = lines.filter((line) => errorLine.test(line) && !noError.test(line));
  const failed = (otherwise: string, own: readonly string[] = errors): Failed => {
    const named = errorTypeIn.exec(own.at(-1) ?? "");
    const said = new Set(own.slice(-maxErrorLines).map((line) => normalized(fromErrorType(line))));
    const error = said.size === 0 ? normalized(otherwise) : [...said].sort().join("\n");
    return { errorType: named?.[1] ?? named?.[2] ?? otherwise, signature: sharedHash(`${check} ${error}`) };
  };
  const exit = statedIn(text.slice(0, statusWindow)) ?? statedIn(text.slice(-statusWindow));
  if (exit === 0) return "succeeded";
  if (exit !== undefined) return failed(`exit ${exit}`);
  const start = text.trimStart();
  if ((start.startsWith("{") || start.startsWith("<")) && failedField.test(start.slice(0, statusWindow)))
    return failed("error");
  if (runs || command) {
    const counts = runs && lines.some((line) => countLine.test(line) && !noError.test(line));
    return errors.length > 0 || counts ? failed("FAILED") : "succeeded";
  }
  // A tool that edits says in its first line whether it did.
  const first = start.split("\n", 1)[0]?.slice(0, maxLineLength) ?? "";
  return notEdited.test(first) && !edited.test(first) ? failed("refused", [first]) : "succeeded";
}

/** So many lines tell an error from another; stack traces and test summaries end with what matters. */
const maxErrorLines = 12;

function statedIn(text: string): number | undefined {
  for (const line of text.split("\n")) {
    const status = notItsOwn.test(line) ? undefined : exitStatus.exec(line)?.[1];
    if (status !== undefined) return Number(status);
  }
  return undefined;
}

/** The error from its type on: what a reporter puts in front of it differs from run to run, but for the name of a test. */
function fromErrorType(line: string): string {
  if (/^\s*(?:FAIL|ERROR)/.test(line)) return line;
  return line.slice(/\b[A-Za-z_.]{0,60}(?:Error|Exception|Warning)\b/.exec(line)?.index ?? 0);
}
