import { windowOf } from "#pipeline/assess/envelope/text-window.ts";
import { type UserWords, userWordsIn } from "#pipeline/assess/envelope/user-words.ts";
import { hashOf, normalized, sharedHash } from "./hashes.ts";
import type { CallFacts } from "./tool-call.ts";

/** What came of a call. What was only read has no failure, however much its text mentions errors. */
export interface Observation {
  /** The call that it is about. */
  readonly call: CallFacts;
  /** Equal texts have equal hashes. */
  readonly hash: number;
  /** `malformed`: the harness could not read the call. */
  readonly outcome: "succeeded" | "read" | "malformed" | Failed;
  /** How much failed, as the last count in the output of a check says. */
  readonly failures: number | undefined;
  /** The user has spoken by this result. */
  readonly user: UserWords | undefined;
}

export interface Failed {
  /** `ModuleNotFoundError`, `exit 2`: fit to be shown. */
  readonly errorType: string;
  /** The same error in the same check has the same signature though lines, folders, addresses, times and numbers differ. */
  readonly signature: string;
}

/** Where an exit status stands: in the first or the last lines of a result. */
const statusWindow = 240;
/** `<returncode>0`, `"exit_code": 0`, `Exit Code: 1`, `exit=0`, `exited with code 2`, `(exit 1)`: any case, any quote. */
const exitStatus =
  /(?:\b(?:return[_ ]?code|exit[_ ]?(?:code|status|value))\b["'\]>*`]*\s*(?:is|was|of)?\s*[:=]?\s*["'`[]?|\b(?:exit|rc|returned)\s*=\s*|^\W{0,3}exit(?:\s*:\s*|\s+)(?=\d{1,3}\s*$)|\bexited\s+(?:with\s+)?(?:code|status)?\s*:?\s*|(?:\$\?|\berror_?level\b)\s*(?:is|[:=])\s*|[([]exit(?:\s+(?:code|status))?:?\s+)(-?\d{1,10})\b/gim;
/** What the names of tests stand behind; they may speak of a status. */
const testName = /^\s*(?:[✓✔√●○×✗•-]\s*\S|ok\b|not ok\b|PASS|FAIL|test\b|it\b)/;
/** `{"status":"error"`, `"success": false`, `is_error: true` among the first fields. */
const failedField =
  /^\s*[{<][^{}[\]]{0,200}?["']?(?:\b(?:status|outcome)["']?\s*[:=]\s*["']?(?:error|fail)|\b(?:success|ok)["']?\s*[:=]\s*["']?false\b|\bis_?error["']?\s*[:=]\s*["']?true\b|\berror["']?\s*:\s*["'{])|^\s*<(?:\w{1,20}_)?error>/i;
const malformedCall =
  /^\s*(?:\[ERROR\] You did not use a tool|Please always provide EXACTLY|Tool call error\b|(?:Error: )?(?:Unknown|Invalid) tool\b|(?:Error: )?\S{1,80} is not a valid tool\b|(?:The )?tool call (?:was malformed|could not be parsed)|InputValidationError\b|Your (?:last )?(?:response|output) (?:was not|did not|could not)|# \d+ SEARCH\/REPLACE blocks? failed to match\b|The LLM did not conform to the edit format\b)/i;
/** What a tool or a command that edits says where nothing was edited. */
const notEdited =
  /\b(?:error|failed|could not|couldn't|cannot|can't|unable to|not (?:be )?found|does not (?:exist|match)|no (?:match|replacement|changes?)|already exists|is a directory|invalid|must (?:appear|match|be unique)|has not been read|multiple (?:matches|occurrences)|is not unique)\b/i;
const commandRefused =
  /^(?:(?:error|fatal): |CONFLICT \(| ! \[(?:remote )?rejected\]|\d+ out of \d+ hunks? FAILED|[a-z]{2,10}: (?:cannot|can't|unable to|missing|.{1,80}: No such) )[^\n]{0,200}/m;
const edited = /^\W*(?:success|updated|edited|wrote|written|saved|created|applied)/i;
const killed = /\b(?:terminated|killed) by signal\b|\btimed? ?out\b/i;
/** A line by which a program says what went wrong; names of files do not. */
const errorLine =
  /(?:Error|Exception)\b|\berror(?:\[\w{1,10}\]|\s[A-Z]{1,4}\d{3,5})?:|^\s*\[?ERROR\]?(?::|\s)|\bnpm ERR!|\b(?:panic|fatal):|\bFAIL(?:ED|URE)?\b|command not found|No such file or directory|ermission denied|Segmentation fault|Assertion failed|: undefined: \w|onnection refused|\bCONFLICT \(|(?:annot|ould not|nable to) (?:be )?(?:connect|resolve|locate|load)|is not recognized as|\*\*\* \[|^\s*not ok \d|^\(fail\) |\s\[E\]$|^\S{1,160}\.\w{1,8}:\d{1,6}:\d{1,5}: (?!warning|note|info)\S|Fehler:|Erreur ?:|错误[:：]|エラー[:：]|오류[:：]|шибка:/;
/** A line that only says how much failed: it tells that something did, and no error from another. */
const countLine =
  /\b[1-9]\d* (?:tests? )?(?:failed|failing|failures?|errors?|problems?|violations?|offenses?|issues?)\b|\b(?:tests?|checks?|build|compilation|merge|installation) failed\b|\bwould be reformatted\b|\bfailed=[1-9]/i;
/** Lines that say that there is none, and those of tests that passed, whatever their names. */
const noError =
  /(?<!=)\b(?:no|0) (?:errors?|failures?|failed|tests? failed|issues?|problems?)\b(?![^\n]*\b[1-9]\d* (?:failed|errors?|failures?))|^\s*ok \d+\b|\berrors?:\s*(?:0\b|\(?(?:none|null|nil|empty|n\/a)\b)|^\s*[✓✔√]|\bPASSED\s*$|\.\.\. ok\s*$/i;
const errorTypeIn =
  /\b([A-Za-z_]{1,60}(?:Error|Exception))\b|\b(panic|fatal|FAILED|Segmentation fault|Assertion failed|command not found|No such file|ermission denied|error(?:\[\w{1,10}\]|\s[A-Z]{1,4}\d{3,5})?)/;
/** `3 failed`, `FAILED (failures=1)`. */
const failures =
  /(?<!=)\b(\d{1,6}) (?:tests? )?(?:failed|failing|failures?|errors?)\b|\b(?:failures|errors)=(\d{1,6})/gi;

export function observe(call: CallFacts, whole: string): Observation {
  // The status and the last error stand at the edges.
  const shown = windowOf(whole, 500, 1_500);
  // The output of a program may stand in an object, its lines in one.
  const text = /^\s*\{/.test(shown) ? shown.replaceAll("\\n", "\n") : shown;
  const counted = call.runs ? [...text.matchAll(failures)].at(-1) : undefined;
  return {
    call,
    hash: hashOf(shown),
    outcome: outcomeOf(call, text),
    failures: counted === undefined ? undefined : Number(counted[1] ?? counted[2]),
    user: userWordsIn(call.speaker, shown),
  };
}

/** An exit status beats text. */
function outcomeOf({ changes, runs, command, check }: CallFacts, text: string): Observation["outcome"] {
  if (malformedCall.test(text)) return "malformed";
  if (!changes && !runs) return "read";
  const failed = (lines: readonly string[], otherwise: string): Failed => {
    const named = errorTypeIn.exec(lines.at(-1) ?? "");
    const said = new Set(lines.slice(-maxLines).map((line) => normalized(fromErrorType(line.slice(0, 300)))));
    const error = said.size === 0 ? normalized(otherwise) : [...said].sort().join("\n");
    return { errorType: named?.[1] ?? named?.[2] ?? otherwise, signature: sharedHash(`${check} ${error}`) };
  };
  const exit = exitStatusIn(text);
  if (exit === 0) return "succeeded";
  if (exit !== undefined) return failed(linesIn(text, errorLine), `exit ${exit}`);
  if (failedField.test(text)) return failed(linesIn(text, errorLine), "error");
  if (runs) {
    const errors = linesIn(text, errorLine);
    const fails = errors.length > 0 || linesIn(text, countLine).length > 0 || killed.test(text.slice(0, 300));
    return fails ? failed(errors, "FAILED") : "succeeded";
  }
  // A tool that edits says in its first line whether it did; a command prints nothing, or why it could not.
  const first = text.trimStart().split("\n", 1)[0]?.slice(0, 300) ?? "";
  const refusal = command
    ? commandRefused.exec(text)?.[0]
    : notEdited.test(first) && !edited.test(first)
      ? first
      : undefined;
  return refusal === undefined ? "succeeded" : failed([refusal], "refused");
}

function exitStatusIn(text: string): number | undefined {
  const atStart = statedIn(text.slice(0, statusWindow));
  return atStart !== undefined || text.length <= statusWindow ? atStart : statedIn(text.slice(-statusWindow));
}

function statedIn(text: string): number | undefined {
  for (const { 1: digits, index } of text.matchAll(exitStatus)) {
    const line = text.slice(text.lastIndexOf("\n", index - 1) + 1, index);
    if (!testName.test(line)) return Number(digits);
  }
  return undefined;
}

/** So many lines tell an error from another. */
const maxLines = 12;

/** Lines of that kind; stack traces and test summaries end with what matters. */
function linesIn(text: string, pattern: RegExp): string[] {
  return text.split("\n").filter((line) => pattern.test(line) && !noError.test(line));
}

/** The error from its type on: what a reporter puts in front of it differs from run to run, but for the name of a test. */
function fromErrorType(line: string): string {
  if (/^\s*(?:FAIL|ERROR)/.test(line)) return line;
  return line.slice(/[A-Za-z_.]*(?:Error|Exception|Warning)\b/.exec(line)?.index ?? 0);
}
