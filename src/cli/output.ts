import { CommanderError } from "commander";
import { isSection } from "#config/config-file.ts";
import { formatProblems, type Invalid, type Problem } from "#config/problem.ts";
import { dollarText } from "#domain/money/money.ts";
import { OperatorProblem } from "#operator/problem.ts";

/** `badUsage`: also settings or files that are not valid, or no such database. */
export const exitCodes = { ok: 0, failed: 1, badUsage: 2 } as const;

export function codeFor(ok: boolean): number {
  return ok ? exitCodes.ok : exitCodes.failed;
}

/** What a command has found or done: `value` is printed with --json, else `text`. */
export interface Result {
  readonly value: unknown;
  readonly text?: string;
  /** 1 where the answer is no, or something is wrong. */
  readonly exitCode?: number;
}

/** Settings or configuration files that are not valid. */
class InvalidConfiguration extends OperatorProblem {
  readonly problems: readonly Problem[];

  constructor(problems: readonly Problem[]) {
    super("invalid", formatProblems(problems));
    this.problems = problems;
  }
}

export function invalid(problems: readonly Problem[]): OperatorProblem {
  return new InvalidConfiguration(problems);
}

/** What was loaded; throws the problems of the operator's files or settings where it is not valid. */
export function valid<T extends { readonly kind: string }>(loaded: T | Invalid): Exclude<T, Invalid> {
  if ("problems" in loaded) throw invalid(loaded.problems);
  return loaded as Exclude<T, Invalid>; // by the line above
}

/** Prints what has ended the command, and returns its exit code. Throws what is a defect. */
export function reportFailure(error: unknown, json: boolean): number {
  if (error instanceof OperatorProblem) {
    const problem = error instanceof InvalidConfiguration ? { problems: error.problems } : { problem: error.message };
    if (json) printJson({ ok: false, ...problem });
    else console.error(error.message);
    return error.kind === "invalid" || error.code === "unknown_model" ? exitCodes.badUsage : exitCodes.failed;
  }
  if (!(error instanceof CommanderError)) throw error;
  // Of the parser; it has said it already, but in JSON. Help that was asked for has code 0.
  if (error.exitCode === 0) return exitCodes.ok;
  if (json) printJson({ ok: false, problem: error.message.replace(/^error: /, "") });
  return exitCodes.badUsage;
}

/** Not `console.log`, which hides that a text could not be written; an error of `process.stdout` ends the command. */
export function printText(text: string): void {
  process.stdout.write(`${text}\n`);
}

function printJson(value: unknown): void {
  printText(JSON.stringify(value, null, 2));
}

export function printResult({ value, text, exitCode = exitCodes.ok }: Result, json: boolean): void {
  if (json) printJson(value);
  else printText(text ?? textOf(value));
  process.exitCode = exitCode;
}

/** Any value for a reader: a list of records is a table, a record is lines of `name  value`, and its parts below. */
export function textOf(value: unknown): string {
  if (isTable(value)) return textTable(value);
  if (!isSection(value)) return String(value);
  const entries = Object.entries(value).filter(([, entry]) => entry !== null && entry !== undefined);
  const lines = entries.filter(([, entry]) => !isSection(entry) && !isTable(entry));
  const blocks = entries.filter(([, entry]) => (isSection(entry) ? Object.keys(entry).length > 0 : isTable(entry)));
  const width = Math.max(0, ...lines.map(([name]) => titleOf(name).length));
  return [
    ...lines.map(([name, entry]) => `${titleOf(name).padEnd(width)}  ${cellText(name, entry)}`),
    ...blocks.map(([name, entry]) => `${titleOf(name)}:\n${textOf(entry).replace(/^/gm, "  ")}`),
  ].join("\n");
}

/** Rows as aligned columns, titled by their keys; all columns of the first row if none are named. */
export function textTable(rows: readonly object[], columns: readonly string[] = Object.keys(rows[0] ?? {})): string {
  const cells = rows.map((row) => {
    const values = new Map<string, unknown>(Object.entries(row));
    return columns.map((column) => cellText(column, values.get(column)));
  });
  return alignedLines([columns.map((column) => titleOf(column).toUpperCase()), ...cells]).join("\n");
}

/** Lines of cells as columns, each at least so wide; numbers are aligned to the right. */
export function alignedLines(rows: readonly (readonly string[])[], least: readonly number[] = []): string[] {
  const widths = (rows[0] ?? []).map((_, at) => Math.max(least[at] ?? 0, ...rows.map((row) => row[at]?.length ?? 0)));
  const isNumber = (cell = "") => /^[-–−+~?]?\$?[\d.,]*%?(?: (?:ms|s|m \d\d s))?$/.test(cell);
  // The first may be titles.
  const numeric = widths.map((_, at) => rows.slice(Math.min(1, rows.length - 1)).every((row) => isNumber(row[at])));
  const aligned = (cell: string, at: number) =>
    numeric[at] ? cell.padStart(widths[at] ?? 0) : cell.padEnd(widths[at] ?? 0);
  return rows.map((row) => row.map(aligned).join("  ").trimEnd());
}

function isTable(value: unknown): value is readonly object[] {
  return Array.isArray(value) && value.length > 0 && value.every(isSection);
}

/** Amounts are shown in dollars, times as such: their names need no unit. */
function titleOf(name: string): string {
  return name.replace(/_nano_usd$|(?<=since|until|expires|used|seen)_ms$/, "").replaceAll("_", " ");
}

function isoTime(ms: number): string {
  return new Date(ms).toISOString().replace(/\.\d+Z$/, "Z");
}

function cellText(name: string, value: unknown): string {
  if (value === null || value === undefined) return "-";
  if (name.endsWith("_nano_usd") && typeof value === "number") return dollarText(value);
  if (name.endsWith("_ms") && typeof value === "number" && value > 1e11) return isoTime(value);
  if (Array.isArray(value)) return value.map((each) => cellText("", each)).join(", ") || "none";
  if (isSection(value))
    return Object.entries(value)
      .map(([key, entry]) => `${key}=${cellText(key, entry)}`)
      .join(" ");
  return String(value);
}
