import type { CallEffect } from "./calls/call-effect.ts";
import { scriptFailed } from "./calls/inline-script.ts";
import { failedTestsIn } from "./test-summary.ts";

/**
 * How a tool call went. `failed` and `succeeded` are said of what was run or changed; what was only read is `read`, however
 * much its text mentions errors; `malformed` is an answer of the harness to a call that it could not read.
 */
export type ResultStatus =
  | { readonly kind: "succeeded" | "read" | "malformed" }
  | {
      readonly kind: "failed";
      /** `ModuleNotFoundError`, `FAILED`, `exit 2`: fit to be shown. */
      readonly errorType: string;
      /** The line that reports the error; its text is hashed, never shown. */
      readonly line: string;
    };

/** Where an exit status stands: in the first or the last lines of a result. */
const statusWindow = 240;
/** `<returncode>0`, `"exit_code": 0`, `Exit Code: 1`, `exit=0`, `exited with code 2`, `(exit 1)`: any case, any quote. */
const exitStatus =
  /(?:\b(?:return[_ ]?code|exit[_ ]?(?:code|status|value))\b["'\]>*`]*\s*(?:is|was|of)?\s*[:=]?\s*["'`[]?|\b(?:exit|rc|returned)\s*=\s*|^\W{0,3}exit(?:\s*:\s*|\s+)(?=\d{1,3}\s*$)|(?:\$\?|\berror_?level\b)\s*(?:is|[:=])\s*|\bexited\s+(?:with\s+)?(?:code|status)?\s*:?\s*|[([]exit(?:\s+(?:code|status))?:?\s+)(-?\d{1,10})\b/gim;
/** What stands in all of these: the pattern itself takes 100 instructions a character. */
const namesStatus = /exit|return(?:ed|[_ ]?code)|rc\s*=|\$\?|error_?level/i;
/** What the names of tests stand behind; they may speak of a status. */
const testName = /^\s*(?:[✓✔√●○×✗•-]\s*[^\s]|ok\b|not ok\b|PASS|FAIL|test\b|it\b)/;
/** An error of a program that speaks of the status of another one. */
const errorWithStatus = /(?:rror|ERR!|xception)\b[^\n]*\bexit/;
const errorFlag = /["']?\bis_?error\b["']?\s*[:=]\s*["']?(true|false)\b/i;
/** The same among the first fields of an object: `{"status":"error"`, `{"id":3,"success":false`. */
const stateField =
  /^\s*\{[^{}[\]]{0,200}?"(?:status|success|ok|conclusion|outcome)"\s*:\s*(?:"?(true|success|succeeded|passed|ok)\b|"?(false|error|failed|failure)\b)/i;
/** The status beside what a process wrote to its two streams. */
const codeBesideStreams = /"(?:code|rc|status)"\s*:\s*(-?\d{1,10})\b/;
const killed = /\b(?:terminated|killed) by signal\b|^Signal: (?!\(?(?:none|null)\b|0\b)\S/im;
const timedOut = /\btimed? ?out\b/i;
const malformedCall =
  /^\s*(?:\[ERROR\] You did not use a tool|Please always provide EXACTLY|Tool call error\b|(?:Error: )?(?:Unknown|Invalid) tool\b|(?:Error: )?\S{1,80} is not a valid tool\b|(?:The )?tool call (?:was malformed|could not be parsed)|InputValidationError\b|Your (?:last )?(?:response|output) (?:was not|did not|could not)|# \d+ SEARCH\/REPLACE blocks? failed to match\b|The LLM did not conform to the edit format\b)/i;

/** What a failure begins with when a tool itself reports it. Narrow, as texts that are read may begin in many ways. */
const refusalAtStart =
  /^\s*(?:<error>|\[error\]|error:(?!\s*\(?(?:none|null|nil|empty|n\/a)\b)|error (?:executing|reading|editing|writing|running|calling|applying)\b|failed to\b|could not (?:find|read|open|apply)\b|cannot (?:find|read|open|apply)\b|unable to (?:find(?! image)|read|open|apply)\b|no such file|file not found|permission denied|enoent\b|old_?string (?:not found|does not)|no match(?:es)? found for|the (?:tool|edit|command) (?:execution )?failed)[^\n]{0,200}/i;
/** The one line by which a tool that reads says that it could not: more lines, or other errors, are the text that was read. */
const refusalToRead =
  /^\s*[^\n]{0,200}(?:not found|no such file|enoent|does(?: not|n't) exist|permission denied|access (?:is )?denied|not allowed|outside)[^\n]{0,200}\s*$/i;
/** What a result begins with whose tool has put it into the form of a protocol. */
const inProtocol = /^\s*[{<]/;
/** By which a protocol says that a tool has failed, whatever it was to do. */
const protocolError =
  /^\s*(?:<\w{2,30}>\s*<error>|<(?:[a-z]{1,12}_){1,2}error>|<error_(?:details|message)>|\{\s*"error"\s*:\s*(?:\{\s*"(?:code|message|type)"|"[^"])|MCP error -?\d|#{1,3} Error\s*\n)[^\n]{0,200}(?:\n[^\n]{1,200})?/;
/** The first line of a tool that edits, where nothing was edited: for certain, or unless it also says that something was. */
const nothingEdited =
  /\b(?:failed|failure|none of (?:them|the)|introduced (?:new )?(?:syntax )?errors?|no (?:match|replacement|changes?))\b/i;
const hardlyEdited =
  /\b(?:could not|couldn't|cannot|can't|unable to|not (?:be )?(?:found|applied|made)|does not (?:exist|match)|already exists|is a directory|invalid|must (?:appear|match|occur|be unique)|has not been read|appears \d+ times|multiple (?:matches|occurrences)|is not unique)\b/i;
const edited = /\b(?:success|successful(?:ly)?|updated|edited|written|wrote|saved|created|applied)\b/i;
/** A line of git, patch or cp that says that it did not do it. */
const gitRefused = /^(?:(?:error|fatal): |CONFLICT \(| ! \[(?:remote )?rejected\])[^\n]{0,200}/m;
const commandRefused =
  /^(?:\d+ out of \d+ hunks? FAILED|(?:cp|mv|rm|mkdir|ln|chmod|tar|unzip|patch): (?:cannot|can't|unable to|missing) )[^\n]{0,200}/m;
const beginsEdited = /^\W*(?:success|successful(?:ly)?|updated|edited|wrote|saved|created|applied)\b/i;
/** Words by which the output of a command says what went wrong; sought natively, as most output has none of them. */
const errorWords = [
  "rror", // Error:, TypeError, error:, error[E0382], npm error, Found 2 errors
  "xception",
  "FAILED",
  "ERR",
  "panic:",
  "fatal:",
  "not found",
  "No such file",
  "ermission denied",
  "Segmentation fault",
  "Assertion failed",
  ": undefined: ", // Go
  "core dumped",
  "problems (", // ESLint
  " failed", // tests failed, version solving failed
  "not be resolved",
  "No solution",
  "nable to ",
  " detected", // 3 offenses detected
  " found",
  "would be re", // formatters that only check
  "onnect", // Connection refused, could not connect
  "resolve host",
  "aborted",
  "failed=", // Ansible
  " SC", // ShellCheck
  "*** ", // make
  "not recognized", // Windows
  "nicht gefunden",
  "no se reconoce",
  "pas reconnu",
  "ehler:",
  "rreur",
  "错误",
  "エラー",
  "오류",
  "шибка:",
  "łąd:",
];
/** What such a line looks like; names of files do not. */
const errorLine = new RegExp(
  [
    String.raw`\b[A-Za-z_.]{0,40}(?:Error|Exception)\b`,
    String.raw`\berror(?:\[\w{1,10}\]|\s[A-Z]{1,4}\d{3,5})?:`,
    String.raw`^\s*\[?ERROR\]?(?::|\s)|\bERROR:|\bnpm (?:ERR!|error )`,
    String.raw`\b(?:panic|fatal):|\bFAILED\b|: undefined: \w|\bFound [1-9]\d* errors?\b|\bproblems? \([1-9]`,
    String.raw`\b(?:[Pp]arse|[Ss]yntax|[Rr]untime|[Cc]ompilation|[Ll]inker|[Ii]nternal) error\b`,
    "command not found|No such file or directory|ermission denied|Segmentation fault|\\bAssertion failed|core dumped",
    // What a check found, what could not be installed, whom nobody could reach.
    String.raw`\b(?:[Tt]ests?|[Cc]hecks?|[Ss]uites?|[Cc]ompilation|[Bb]uild|[Ss]olving|[Ii]nstallation|[Mm]igration|[Dd]eployment) failed\b|\bcould not be (?:resolved|installed|found|built|compiled)\b|\bNo solution found\b|\b[Uu]nable to (?:locate|resolve|find(?! image)|connect|open|load|start|install)\b`,
    String.raw`\b[1-9]\d* (?:offenses?|violations?|issues?|problems?) (?:detected|found)\b|\b[Ii]ssues? found\b|\bwould be reformatted\b|\b[Cc]onnection refused\b|\b(?:Failed|[Cc]ould not|[Cc]ouldn't|[Cc]annot) (?:to )?(?:connect|resolve host)\b|\baborted!|\b(?:failed|unreachable)=[1-9]|\b[Aa]n error occurred\b|\*\*\* (?:\[|No rule)|\bSC\d{4}\b`,
    "is not recognized as|nicht gefunden werden|no se reconoce como|pas reconnu en tant",
    String.raw`Fehler:|Erreur ?:|erreur ?:|错误[:：]|エラー[:：]|오류[:：]|[Оо]шибка:|[Bb]łąd:`,
  ].join("|"),
);
/** Lines that say that there is none, and those of tests that passed, whatever their names. */
const noError =
  /(?<!=)\b(?:no|0) (?:errors?|failures?|failed|tests? failed|issues?|problems?|offenses?|violations?)\b|^\s*ok \d+\b|\berrors?:\s*(?:0\b|\(?(?:none|null|nil|empty|n\/a)\b)|(?<!=)\b0 (?:FAILED|remaining)\b|^\s*[✓✔√]|\bPASSED\s*$|\.\.\. ok\s*$/i;
const typeInLine =
  /\b([A-Za-z_]{1,60}(?:Error|Exception))\b|\b(panic|fatal|FAILED|Segmentation fault|Assertion failed|command not found|No such file|ermission denied|error(?:\[\w{1,10}\]|\s[A-Z]{1,4}\d{3,5})?)/;
/** What a build tool ends with. */
const buildFailed =
  /^(?:\[\w+\] )?BUILD FAIL(?:ED|URE)\b|^Result: FAIL(?:ED)?$|^vet: \S|^\S{1,160}:\d+(?::\d+)?:? \(?[A-Z]{1,4}\d{3,5}\b|^FAIL(?:\t|$)|^error: (?:test failed|\d+ targets? failed)/m;
/** What a compiler or a linter finds: `cart.go:9:2: declared and not used: x`. */
const finding =
  /^\S{1,160}\.\w{1,8}:\d{1,6}:\d{1,5}:\s?(?!\s|warning|note|info|remark|hint|debug|style|refactor|convention)\S/im;
const buildPassed = /^(?:\[\w+\] )?BUILD SUCCESS(?:FUL)?\b|^Build succeeded\b/m;

export function statusOf(effect: CallEffect, text: string): ResultStatus {
  if (malformedCall.test(text)) return { kind: "malformed" };
  const { changes, runs, command } = effect;
  const acts = changes || runs;
  // What a command shows that only reads is no failure, whatever stands in it. A search that finds nothing ends with 1.
  if (!acts && command !== "") return { kind: "read" };
  if (effect.showsByScript) return statusOfShownText(text);
  const exit = exitStatusIn(text);
  if (exit !== undefined) {
    if (exit === 0) return acts ? { kind: "succeeded" } : { kind: "read" };
    return acts ? failed(lastErrorLine(text), `exit ${exit}`) : { kind: "read" };
  }
  const broken = protocolError.exec(text)?.[0];
  if (broken !== undefined) return failed(broken.trim(), "error");
  const flag = acts || inProtocol.test(text) ? errorFlag.exec(edgesOf(text))?.[1]?.toLowerCase() : undefined;
  if (flag === "true") return failed(lastErrorLine(text), "error");
  if (flag === "false") return acts ? { kind: "succeeded" } : { kind: "read" };
  const state = acts && flag === undefined ? stateField.exec(text) : null;
  if (state !== null) return state[1] === undefined ? failed(lastErrorLine(text), "error") : { kind: "succeeded" };
  const refusal = refusalAtStart.exec(text)?.[0];
  if (refusal !== undefined && (acts || (text.length < 400 && refusalToRead.test(text)))) {
    return failed(refusal.trim(), "refused");
  }
  // What was read may mention errors without being one; only what was run is searched.
  if (!acts) return { kind: "read" };
  if (killed.test(edgesOf(text))) return failed(undefined, "signal");
  if (!runs) return editStatusOf(command, text);
  return statusOfRun(text);
}

/** How a script went that shows a text: what the text mentions is not the script's. A status of its own stands in the first or the last line. */
function statusOfShownText(text: string): ResultStatus {
  const lines = text.trim();
  const behindFirst = lines.indexOf("\n");
  const first = lines.slice(0, behindFirst < 0 ? statusWindow : Math.min(statusWindow, behindFirst));
  const last = lines.slice(Math.max(lines.length - statusWindow, lines.lastIndexOf("\n") + 1));
  const exit = [first, last]
    .filter((line) => !errorWithStatus.test(line))
    .map(statedIn)
    .find((stated) => stated !== undefined);
  if (exit === 0 || (exit === undefined && !scriptFailed(text))) return { kind: "read" };
  return failed(lastErrorLine(text), exit === undefined ? "error" : `exit ${exit}`);
}

/** How an edit went that states nothing by a protocol: its tool says so in the first line; a command prints nothing, or why it could not. */
function editStatusOf(command: string, text: string): ResultStatus {
  if (command !== "") {
    const refusal = ((/\bgit\b/.test(command) ? gitRefused.exec(text) : null) ?? commandRefused.exec(text))?.[0];
    return refusal === undefined ? { kind: "succeeded" } : failed(refusal, "refused");
  }
  const start = text.search(/\S/);
  const end = text.indexOf("\n", start);
  const line = text.slice(Math.max(0, start), end < 0 ? 300 : Math.min(end, 300));
  const refused = nothingEdited.test(line) ? !beginsEdited.test(line) : hardlyEdited.test(line) && !edited.test(line);
  return refused ? failed(line, "refused") : { kind: "succeeded" };
}

/** How something went that was run and states no exit status. */
function statusOfRun(text: string): ResultStatus {
  const tests = failedTestsIn(text);
  const broken = buildFailed.test(text) || (tests === undefined && finding.test(text));
  if (!broken && (tests === 0 || (tests === undefined && buildPassed.test(text)))) return { kind: "succeeded" };
  if (tests === undefined && timedOut.test(text.slice(0, 300))) return failed(undefined, "timeout");
  const line = lastErrorLine(text);
  return line !== undefined || tests !== undefined || broken ? failed(line, "FAILED") : { kind: "succeeded" };
}

/** The exit status that a result states; undefined when it states none. */
function exitStatusIn(text: string): number | undefined {
  if (text.startsWith("{") && text.includes('"stderr"')) {
    const code = codeBesideStreams.exec(edgesOf(text))?.[1];
    if (code !== undefined) return Number(code);
  }
  const atStart = statedIn(text.slice(0, statusWindow));
  if (atStart !== undefined || text.length <= statusWindow) return atStart;
  return statedIn(text.slice(-statusWindow));
}

function statedIn(text: string): number | undefined {
  if (!namesStatus.test(text)) return undefined;
  for (const { 1: digits, index } of text.matchAll(exitStatus)) {
    const line = text.slice(text.lastIndexOf("\n", index - 1) + 1, index);
    if (!testName.test(line)) return Number(digits);
  }
  return undefined;
}

function edgesOf(text: string): string {
  return text.length <= 2 * statusWindow ? text : `${text.slice(0, statusWindow)}\n${text.slice(-statusWindow)}`;
}

function failed(line: string | undefined, otherwise: string): ResultStatus {
  const named = line === undefined ? null : typeInLine.exec(line);
  return { kind: "failed", errorType: named?.[1] ?? named?.[2] ?? otherwise, line: line ?? otherwise };
}

/** The last line that reports an error: stack traces and test summaries end with what matters. */
function lastErrorLine(text: string): string | undefined {
  let last = -1;
  let line: string | undefined;
  for (const word of errorWords) {
    if (!text.includes(word)) continue; // many times faster than lastIndexOf on this runtime
    // A few tries per word: a name such as `errors.ts` may stand after the line that counts.
    let at = text.length;
    for (let tries = 0; tries < 4; tries++) {
      at = text.lastIndexOf(word, at - 1);
      if (at <= last) break;
      const start = text.lastIndexOf("\n", at) + 1;
      const end = text.indexOf("\n", at);
      const candidate = text.slice(Math.max(start, at - 120), end < 0 ? at + 200 : Math.min(end, at + 200));
      if (errorLine.test(candidate) && !noError.test(candidate)) {
        last = at;
        line = candidate;
        break;
      }
    }
  }
  return line;
}
