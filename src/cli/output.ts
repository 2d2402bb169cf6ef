import { CommanderError } from "commander";
import { formatProblems, type Invalid, type Problem } from "#config/problem.ts";

/** How a command ends: done, failed at what it was asked, or asked wrongly (usage, settings, configuration files, no such database). */
export const exitCodes = { ok: 0, failed: 1, badUsage: 2 } as const;

/** What every command takes. */
export interface OutputOptions {
  readonly json?: true;
}

/** What commands on the configuration take. */
export interface ConfigOptions extends OutputOptions {
  /** The model registry file. */
  readonly models?: string;
}

/** Ends a command: its message goes to standard error, or with --json as `{ok: false, problem}` to standard output. */
export class CommandFailure extends Error {
  readonly exitCode: number;
  readonly problems: readonly Problem[] | undefined;

  constructor(exitCode: number, message: string, problems?: readonly Problem[]) {
    super(message);
    this.exitCode = exitCode;
    this.problems = problems;
  }
}

export function badUsage(problem: string): CommandFailure {
  return new CommandFailure(exitCodes.badUsage, problem);
}

export function failed(problem: string): CommandFailure {
  return new CommandFailure(exitCodes.failed, problem);
}

/** What was loaded; throws the problems of the operator's files or settings where it is not valid. */
export function valid<T extends { readonly kind: string }>(loaded: T): Exclude<T, Invalid> {
  throwProblems(loaded);
  return loaded as Exclude<T, Invalid>; // by the line above
}

/** Throws the problems of all that is not valid, together. */
export function throwProblems(...loaded: readonly ({ readonly kind: string } | Invalid)[]): void {
  const problems = loaded.flatMap((each) => (isInvalid(each) ? each.problems : []));
  if (problems.length > 0) throw new CommandFailure(exitCodes.badUsage, formatProblems(problems), problems);
}

function isInvalid(loaded: { readonly kind: string }): loaded is Invalid {
  return loaded.kind === "invalid";
}

/** Prints what has ended the command, and returns its exit code. Throws what is a defect. */
export function reportFailure(error: unknown, json: boolean): number {
  if (error instanceof CommandFailure) {
    const { message, problems } = error;
    if (json) printJson(problems === undefined ? { ok: false, problem: message } : { ok: false, problems });
    else console.error(message);
    return error.exitCode;
  }
  if (!(error instanceof CommanderError)) throw error;
  // Help that was asked for has code 0; all else that the parser throws is about how it was called, and said already but in JSON.
  if (error.exitCode === 0) return exitCodes.ok;
  if (json) printJson({ ok: false, problem: error.message.replace(/^error: /, "") });
  return exitCodes.badUsage;
}

/**
 * Prints text and a line break on standard output. Not `console.log`, which says nothing when the text could not be written; an
 * error of `process.stdout` ends the command (main.ts).
 */
export function printText(text: string): void {
  process.stdout.write(`${text}\n`);
}

/** One JSON value on standard output: what every command prints with `--json`, and nothing else. */
export function printJson(value: unknown): void {
  printText(JSON.stringify(value, null, 2));
}

/** Prints a command's result: the value with --json, else `text`. */
export function print(value: unknown, { json }: OutputOptions, text: string): void {
  if (json) printJson(value);
  else printText(text);
}

type Row = Readonly<Record<string, unknown>>;

/**
 * Rows as aligned columns for a terminal, titled by their keys. A column whose cells all look like numbers is aligned to the right;
 * nothing is a dash.
 */
export function textTable<R extends Row>(rows: readonly R[], columns: readonly (keyof R & string)[]): string {
  const cells = rows.map((row) => columns.map((column) => String(row[column] ?? "-")));
  const titles = columns.map((column) => column.replaceAll("_", " ").toUpperCase());
  const widths = titles.map((title, column) => Math.max(title.length, ...cells.map((row) => row[column]?.length ?? 0)));
  const numeric = titles.map((_, column) => cells.every((row) => /^[\d.,%$+-]*$/.test(row[column] ?? "")));
  const line = (row: readonly string[]) =>
    row
      .map((cell, column) => (numeric[column] ? cell.padStart(widths[column] ?? 0) : cell.padEnd(widths[column] ?? 0)))
      .join("  ")
      .trimEnd();
  return [titles, ...cells].map(line).join("\n");
}

/** A record as lines of `name  value`; what is null or undefined has no line. */
export function textRecord(record: Row): string {
  const entries = Object.entries(record).filter(([, value]) => value !== null && value !== undefined);
  const width = Math.max(0, ...entries.map(([name]) => name.length));
  return entries
    .map(
      ([name, value]) =>
        `${name.replaceAll("_", " ").padEnd(width)}  ${String(value).replaceAll("\n", `\n${" ".repeat(width + 2)}`)}`,
    )
    .join("\n");
}

/** Shows on a terminal's standard error how far a long command has come: standard output stays what was asked for. */
export function progress(label: string, total: number): { at(done: number): void; end(): void } {
  if (process.stderr.isTTY !== true || total <= 0) return { at() {}, end() {} };
  let shown = -1;
  return {
    at(done) {
      const percent = Math.min(100, Math.floor((100 * done) / total));
      if (percent !== shown) process.stderr.write(`\r\u001b[2K${label} ${percent} %`);
      shown = percent;
    },
    end: () => process.stderr.write("\r\u001b[2K"),
  };
}
