import type { CallEffect } from "./calls/call-effect.ts";
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
  /(?:\b(?:return[_ ]?code|exit[_ ]?(?:code|status|value))\b["'\]>*`]*\s*(?:is|was|of)?\s*[:=]?\s*["'`[]?|\b(?:exit|rc|returned)\s*=\s*|\bexited\s+(?:with\s+)?(?:code|status)?\s*:?\s*|[([]exit(?:\s+(?:code|status))?:?\s+)(-?\d{1,5})\b/i;
const errorFlag = /["']?\bis_?error\b["']?\s*[:=]\s*["']?(true|false)\b/i;
const timedOut = /\btimed? ?out\b/i;
const malformedCall =
  /^\s*(?:\[ERROR\] You did not use a tool|Please always provide EXACTLY|Tool call error\b|(?:Error: )?(?:Unknown|Invalid) tool\b|(?:The )?tool call (?:was malformed|could not be parsed)|InputValidationError\b|Your (?:last )?(?:response|output) (?:was not|did not|could not))/i;

/** What a failure begins with when a tool itself reports it. Narrow, as texts that are read may begin in many ways. */
const refusalAtStart =
  /^\s*(?:<error>|\[error\]|error:(?!\s*\(?none\)?)|error (?:executing|reading|editing|writing|running|calling|applying)\b|failed to\b|could not (?:find|read|open|apply)\b|cannot (?:find|read|open|apply)\b|unable to (?:find|read|open|apply)\b|no such file|file not found|permission denied|enoent\b|old_?string (?:not found|does not)|no match(?:es)? found for|the (?:tool|edit|command) (?:execution )?failed)[^\n]{0,200}/i;
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
/** What such a line looks like; names of files do not. */
const errorLine =
  /\b[A-Za-z_.]{0,40}(?:Error|Exception)\b|\berror(?:\[\w{1,10}\]|\s[A-Z]{1,4}\d{3,5})?:|\bpanic:|\bfatal:|\bFAILED\b|command not found|No such file or directory|ermission denied|Segmentation fault|\bAssertion failed/;
/** Lines that say that there is none. */
const noError = /\b(?:no|0) (?:errors?|failures?|failed)\b|\berrors?:\s*(?:0\b|\(?none\b)|\b0 FAILED\b/i;
const typeInLine =
  /\b([A-Za-z_]{1,60}(?:Error|Exception))\b|\b(panic|fatal|FAILED|Segmentation fault|Assertion failed|command not found|No such file|ermission denied|error(?:\[\w{1,10}\]|\s[A-Z]{1,4}\d{3,5})?)/;

export function statusOf(effect: CallEffect, text: string): ResultStatus {
  if (malformedCall.test(text)) return { kind: "malformed" };
  const { changes, runs } = effect;
  const acts = changes || runs;
  const exit = exitStatusIn(text);
  if (exit !== undefined) {
    if (exit === 0) return acts ? { kind: "succeeded" } : { kind: "read" };
    // A search that finds nothing ends with 1, and a comparison that finds a difference too.
    return acts ? failed(lastErrorLine(text), `exit ${exit}`) : { kind: "read" };
  }
  const flag = errorFlag.exec(edgesOf(text))?.[1]?.toLowerCase();
  if (flag === "true") return failed(lastErrorLine(text), "error");
  if (flag === "false") return acts ? { kind: "succeeded" } : { kind: "read" };
  const refusal = refusalAtStart.exec(text)?.[0];
  if (refusal !== undefined && (acts || text.length < 400)) return failed(refusal.trim(), "refused");
  // What was read may mention errors without being one; only what was run is searched.
  if (!runs) return acts ? { kind: "succeeded" } : { kind: "read" };
  if (timedOut.test(text.slice(0, 300))) return failed(undefined, "timeout");
  const tests = failedTestsIn(text);
  if (tests === 0) return { kind: "succeeded" };
  const line = lastErrorLine(text);
  if (line !== undefined || tests !== undefined) return failed(line, "FAILED");
  return { kind: "succeeded" };
}

/** The exit status that a result states; undefined when it states none. */
function exitStatusIn(text: string): number | undefined {
  const status = exitStatus.exec(text.slice(0, statusWindow))?.[1];
  if (status !== undefined) return Number(status);
  if (text.length <= statusWindow) return undefined;
  const atEnd = exitStatus.exec(text.slice(-statusWindow))?.[1];
  return atEnd === undefined ? undefined : Number(atEnd);
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
