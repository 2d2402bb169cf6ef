import type { Conversation, ToolCall, ToolResult } from "#pipeline/assess/envelope/conversation.ts";
import { changesFiles, runsThings } from "./tools.ts";

/** How the loop has gone since the ask. */
export interface RunSignals {
  readonly toolDepth: number;
  /** Distinct files that edit-like calls named. */
  readonly filesTouched: number;
  /** As the newest test summary says; 0 when there is none. */
  readonly testsFailed: number;
  /** Hash of the newest error, normalized; null when the newest results show none. */
  readonly errorSignature: string | null;
  /** How often that error has been seen in the results read. */
  readonly sameErrorCount: number;
}

/** An error counts as unsolved while it stands among this many newest results. */
const stillFresh = 4;

export function runSignalsOf(conversation: Conversation): RunSignals {
  const { calls, results } = conversation;
  const errors = results.map(errorIn);
  const newest = errors.findLastIndex((error) => error !== undefined);
  const signature = newest >= 0 && newest >= errors.length - stillFresh ? errors[newest] : undefined;
  return {
    toolDepth: calls.length,
    filesTouched: filesTouchedBy(calls),
    testsFailed: failedTestsIn(results),
    errorSignature: signature ?? null,
    sameErrorCount: signature === undefined ? 0 : errors.filter((error) => error === signature).length,
  };
}

/** Distinct files are counted up to here: the hard rule's trigger lies far below. */
const filesCounted = 200;
const pathInArguments =
  /["<](?:path|file_?path|file_?name|target_?file|absolute_?path|relative_?path|file|uri|new_path)(?:"\s*:\s*"|>)\s*([^"<\n]{1,300})/gi;
const pathInPatch = /\*\*\* (?:Update|Add|Delete) File: ([^\n\\]{1,300})/g;

function filesTouchedBy(calls: readonly ToolCall[]): number {
  const paths = new Set<string>();
  for (const { name, args } of calls) {
    if (!changesFiles(name) || paths.size >= filesCounted) continue;
    // The path stands before or after the new text, which may be long.
    const shown = args.length <= 1_200 ? args : `${args.slice(0, 600)}\n${args.slice(-600)}`;
    const inPatch = args.includes("*** ") ? args.slice(0, 40_000).matchAll(pathInPatch) : [];
    for (const [, path = ""] of inPatch) paths.add(path.trim());
    for (const [, path = ""] of shown.matchAll(pathInArguments)) paths.add(path.trim());
  }
  return Math.min(paths.size, filesCounted);
}

/** What a failure begins with when a tool itself reports it. Narrow, as texts that are read may begin in many ways. */
const refusalAtStart =
  /^\s*(?:<error>|\[error\]|error:|error (?:executing|reading|editing|writing|running|calling|applying)\b|failed to\b|could not (?:find|read|open|apply)\b|cannot (?:find|read|open|apply)\b|unable to (?:find|read|open|apply)\b|no such file|file not found|permission denied|enoent\b|old_?string (?:not found|does not)|no match(?:es)? found for|the (?:tool|edit|command) (?:execution )?failed)[^\n]{0,200}/i;
/** Words by which the output of a command says what went wrong; sought natively, as most output has none of them. */
const errorWords = [
  "rror", // Error:, TypeError, error:, error[E0382]
  "xception",
  "FAILED",
  "panic:",
  "fatal:",
  "not found",
  "No such file",
  "ermission denied",
  "Segmentation fault",
  "Assertion failed",
];
/** What such a line looks like; "no errors", "0 errors" and names of files do not. */
const errorLine =
  /\b[A-Za-z_.]{0,40}(?:Error|Exception)\b|\berror(?:\[\w{1,10}\]|\s[A-Z]{1,4}\d{3,5})?:|\bpanic:|\bfatal:|\bFAILED\b|command not found|No such file or directory|ermission denied|Segmentation fault|\bAssertion failed/;
const exitedWell = /\b(?:[Ee]xit(?:ed with)?(?: code| status)?|returncode|exit_code"?)\s*[:=]?\s*0\b/;
const exitedBadly = /\b(?:[Ee]xit(?:ed with)?(?: code| status)?|returncode|exit_code"?)\s*[:=]?\s*[1-9]\d{0,2}\b/;

/** The signature of the error a result shows; undefined when it shows none. */
function errorIn({ call, text }: ToolResult): string | undefined {
  const name = call?.name ?? "";
  const runs = runsThings(name);
  const tellsExit = runs && (text.includes("exit") || text.includes("Exit") || text.includes("returncode"));
  if (tellsExit && exitedWell.test(text)) return undefined;
  const refusal = refusalAtStart.exec(text)?.[0];
  if (refusal !== undefined) return signatureOf(refusal);
  // What was read may speak of errors without being one; only what was run is searched.
  if (!runs) return undefined;
  const last = lastErrorLine(text);
  if (last !== undefined) return signatureOf(last);
  return tellsExit && exitedBadly.test(text) ? signatureOf(`exit ${call?.args.slice(0, 200) ?? ""}`) : undefined;
}

/** The last line that tells of an error: stack traces and test summaries end with what matters. */
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
      if (errorLine.test(candidate)) {
        last = at;
        line = candidate;
        break;
      }
    }
  }
  return line;
}

/** The same error has the same signature though lines, paths, addresses, times and quoted values differ. */
function signatureOf(error: string): string {
  const normalized = error
    .slice(0, 300)
    .toLowerCase()
    .replace(/\u001b\[[0-9;]*m/g, "")
    .replace(/\b0x[0-9a-f]+\b|\b[0-9a-f]{8,}\b/g, "#")
    .replace(/[\w.~-]*[/\\][\w./\\~-]+/g, "/")
    .replace(/\d+(?:[.:]\d+)*(?:ms|s)?/g, "#")
    .replace(/\s+/g, " ")
    .trim();
  return fnv1a(normalized);
}

/** FNV-1a, twice 32 bits with different seeds: 16 hex digits. Tells errors apart; protects nothing. */
export function fnv1a(text: string): string {
  let low = 0x811c9dc5;
  let high = 0x01234567;
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index);
    low = Math.imul(low ^ code, 0x01000193);
    high = Math.imul(high ^ code, 0x01000193);
  }
  return (high >>> 0).toString(16).padStart(8, "0") + (low >>> 0).toString(16).padStart(8, "0");
}

/** Test summaries: pytest, Jest, Vitest, Mocha, cargo, Bun, unittest, RSpec, JUnit; the number that failed comes first. */
const failedTests =
  /\b(\d{1,6}) (?:failed|failing|failures?|fail)\b|\bFAILED \((?:failures|errors)=(\d{1,6})|Failures: (\d{1,6})/;
const passedTests = /\b\d{1,6} (?:passed|passing|pass)\b|\btest result: ok|^OK\b|^ok\s+\S+\s+[\d.]+s/m;

function failedTestsIn(results: readonly ToolResult[]): number {
  for (let index = results.length - 1; index >= 0; index--) {
    if (!runsThings(results[index]?.call?.name ?? "")) continue;
    const text = results[index]?.text ?? "";
    const failed = failedIn(text, "ail") ?? failedIn(text, "FAILED (");
    if (failed !== undefined) return failed;
    if (text.includes("--- FAIL: ")) return text.split("--- FAIL: ").length - 1;
    if ((text.includes("pass") || /^ok\b/im.test(text)) && passedTests.test(text)) return 0;
  }
  return 0;
}

/** The number in the last summary that holds `word`; regular expressions see only the places where it stands. */
function failedIn(text: string, word: string): number | undefined {
  if (!text.includes(word)) return undefined;
  let at = text.length;
  for (let tries = 0; tries < 6; tries++) {
    at = text.lastIndexOf(word, at - 1);
    if (at < 0) return undefined;
    const summary = failedTests.exec(text.slice(Math.max(0, at - 20), at + 40));
    if (summary !== null) return Number(summary[1] ?? summary[2] ?? summary[3]);
    if (at === 0) return undefined;
  }
  return undefined;
}
