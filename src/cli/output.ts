/**
 * Prints text and a line break on standard output: what every command prints with. Not `console.log`, which says nothing when the
 * text could not be written; an error of `process.stdout` ends the command (main.ts).
 */
export function print(text: string): void {
  process.stdout.write(`${text}\n`);
}

/** One JSON value on standard output: what every command prints with `--json`, and nothing else. */
export function printJson(value: unknown): void {
  print(JSON.stringify(value, null, 2));
}
