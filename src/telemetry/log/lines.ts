/** What precedes the time is the same on every line of an event; `fields` are flat, so one `stringify` makes the rest. */
export function jsonLine(level: string, node: string, event: string, fields: object, atMs: number): string {
  const head = `{"level":"${level}",${node}"event":"${event}","time":"${new Date(atMs).toISOString()}"`;
  const rest = JSON.stringify(fields);
  return rest === "{}" ? `${head}}\n` : `${head},${rest.slice(1)}\n`;
}

/** One event as a line for a terminal; text of several lines follows below it, indented. */
export function prettyLine(line: {
  readonly time: Date;
  readonly level: string;
  readonly event: string;
  readonly fields: readonly (readonly [name: string, value: unknown])[];
  readonly color: boolean;
}): string {
  const paint = (code: number, text: string) => (line.color ? `\u001b[${code}m${text}\u001b[0m` : text);
  const below: string[] = [];
  const beside = line.fields.flatMap(([name, value]) => {
    if (value === undefined || value === null) return [];
    const text = String(value);
    if (text.includes("\n")) {
      below.push(...text.split("\n").map((row) => `    ${row}`));
      return [];
    }
    return [`${paint(dim, `${name}=`)}${/[\s"]/.test(text) ? JSON.stringify(text) : text}`];
  });
  const time = line.time.toTimeString().slice(0, 8);
  const head = `${paint(dim, time)} ${paint(levelColor(line.level), line.level.toUpperCase().padEnd(5))} ${paint(cyan, line.event)}`;
  return `${[[head, ...beside].join(" "), ...below].join("\n")}\n`;
}

const [dim, cyan, red, yellow, green] = [2, 36, 31, 33, 32];

function levelColor(level: string): number {
  if (level === "error" || level === "fatal") return red;
  if (level === "warn") return yellow;
  return level === "info" ? green : dim;
}
