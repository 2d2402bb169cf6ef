/** The same error has the same signature though lines, paths, addresses, times and numbers differ. */
export function normalizedError(line: string): string {
  return line
    .slice(0, 300)
    .toLowerCase()
    .replace(/\u001b\[[0-9;]*m/g, "")
    .replace(/\b0x[0-9a-f]+\b|\b[0-9a-f]{8,}\b/g, "#")
    .replace(/[\w.~-]*[/\\][\w./\\~-]+/g, "/")
    .replace(/\d+(?:[.:]\d+)*(?:ms|s)?/g, "#")
    .replace(/\s+/g, " ")
    .trim();
}

/** The error from its type on: what a reporter puts in front of it differs from run to run. */
export function fromErrorType(line: string): string {
  const at = /[A-Za-z_.]*(?:Error|Exception|Warning|Failed)\b/.exec(line)?.index;
  return at === undefined ? line : line.slice(at);
}

/**
 * What a command checks: its last part, without where it runs and where its output goes. `cd a && pytest x.py 2>&1 | tail`
 * and `pytest x.py` are the same check.
 */
export function checkOf(command: string): string {
  const parts = command.slice(0, 2_000).split(/&&|;|\n/);
  let last = "";
  for (const part of parts) if (part.trim() !== "") last = part;
  const piped = last.indexOf(" | ");
  return normalizedError((piped < 0 ? last : last.slice(0, piped)).replace(/\d?>&\d/g, "")).slice(0, 100);
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
