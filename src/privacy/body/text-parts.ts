import { isObject, type Json, type JsonObject } from "#domain/chat.ts";

/** How much of each of two adjacent parts is read again across their joint. */
export const boundaryWindow = 4_096;

/** A part of a message, or what of it lies near a joint, in the text of all that stands beside it. */
export interface WindowPart {
  /** Of the part. */
  readonly index: number;
  /** Where the piece begins in the part's text. */
  readonly offset: number;
  /** Where it stands in the joined text: `[from, to)`. */
  readonly from: number;
  readonly to: number;
}

/** Which member of a part is its text. */
export function textFieldOf(part: JsonObject): "text" | "refusal" | undefined {
  if (typeof part["text"] === "string") return "text";
  return typeof part["refusal"] === "string" ? "refusal" : undefined;
}

/** Whether two parts with text stand beside each other. */
export function hasAdjacentTexts(array: readonly Json[]): boolean {
  let wasText = false;
  for (const item of array) {
    const isText = isObject(item) && textFieldOf(item) !== undefined;
    if (isText && wasText) return true;
    wasText = isText;
  }
  return false;
}

/** The texts of parts that stand beside each other, joined; of long ones only what is near a joint. */
export function* boundaryWindows(
  array: readonly Json[],
): Generator<{ readonly text: string; readonly pieces: readonly WindowPart[] }> {
  let text = "";
  let pieces: WindowPart[] = [];
  const add = (index: number, offset: number, piece: string) => {
    if (piece === "") return;
    pieces.push({ index, offset, from: text.length, to: text.length + piece.length });
    text += piece;
  };
  for (let index = 0; index < array.length; index++) {
    const item = array[index];
    const field = isObject(item) ? textFieldOf(item) : undefined;
    const part = isObject(item) && field !== undefined ? String(item[field]) : undefined;
    if (part !== undefined && part.length <= 2 * boundaryWindow) {
      add(index, 0, part);
      continue;
    }
    if (part !== undefined) add(index, 0, part.slice(0, boundaryWindow));
    if (pieces.length > 1) yield { text, pieces };
    text = "";
    pieces = [];
    if (part !== undefined) add(index, part.length - boundaryWindow, part.slice(-boundaryWindow));
  }
  if (pieces.length > 1) yield { text, pieces };
}
