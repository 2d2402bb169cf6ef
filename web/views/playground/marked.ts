/** A piece of the typed text; with a rule where the privacy gate found something. */
export interface Piece {
  readonly start: number;
  readonly text: string;
  readonly rule: string | null;
}

interface Finding {
  readonly rule: string;
  readonly start: number;
  readonly end: number;
}

/** The text cut at its findings. Findings that overlap one another are one; those behind the text are left out. */
export function piecesOf(text: string, findings: readonly Finding[]): Piece[] {
  const pieces: Piece[] = [];
  let at = 0;
  for (const { rule, start, end } of [...findings].sort((a, b) => a.start - b.start)) {
    const from = Math.max(at, start);
    const to = Math.min(text.length, end);
    if (to <= from) continue;
    if (from > at) pieces.push({ start: at, text: text.slice(at, from), rule: null });
    pieces.push({ start: from, text: text.slice(from, to), rule });
    at = to;
  }
  if (at < text.length) pieces.push({ start: at, text: text.slice(at), rule: null });
  return pieces;
}
