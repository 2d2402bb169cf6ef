import { printJson } from "./output.ts";

/** How a command ends: done, failed at what it was asked, or asked wrongly (usage, settings, configuration files, no such database). */
export const exitCodes = { ok: 0, failed: 1, badUsage: 2 } as const;
export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes];

/** Ends the process with `code` once what was printed is written. */
export function exitWith(code: ExitCode): void {
  process.exitCode = code;
}

/** Ends the command with a problem: on standard error, or as `{ok, problem}` where JSON was asked for. */
export function failWith(code: ExitCode, problem: string, { json }: { readonly json?: boolean | undefined }): void {
  if (json === true) printJson({ ok: false, problem });
  else console.error(problem);
  exitWith(code);
}

/** The same for something that was tried and has failed: the problem is `what`, and the error's message. */
export function failWithError(what: string, error: unknown, options: { readonly json?: boolean | undefined }): void {
  failWith(exitCodes.failed, `${what}: ${error instanceof Error ? error.message : "unknown error"}`, options);
}
