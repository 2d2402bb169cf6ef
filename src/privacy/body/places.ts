import type { ChatMessage } from "#domain/chat.ts";
import { type Splice, SplicedMessage } from "#domain/received/spliced-message.ts";
import type { Span } from "#privacy/text/spans.ts";

/** A value of a message with what stands in its place. */
export interface ReplacedValue {
  readonly rule: string;
  readonly value: string;
  readonly placeholder: string;
}

/** A message with more values is read each time. */
const maxPlaces = 32;

/**
 * Where values stand in the bytes of a message: replaced there, they give the redacted message. Undefined where they are written in a way
 * that does not show it: in JSON within JSON with escapes, as numbers, or elsewhere before.
 * @param replaced in the order of the message
 */
export function placesOf(
  bytes: Uint8Array,
  replaced: readonly ReplacedValue[],
  redacted: ChatMessage,
): readonly Span[] | undefined {
  if (replaced.length === 0 || replaced.length > maxPlaces) return undefined;
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const places: Span[] = [];
  const splices: Splice[] = [];
  let at = 0;
  for (const { rule, value, placeholder } of replaced) {
    const written = Buffer.from(JSON.stringify(value).slice(1, -1));
    const start = buffer.indexOf(written, at);
    if (start < 0) return undefined;
    at = start + written.length;
    places.push({ start, end: at, rule });
    splices.push({ from: start, to: at, text: placeholder });
  }
  return isSplicedFrom(bytes, splices, redacted) ? places : undefined;
}

function isSplicedFrom(bytes: Uint8Array, splices: readonly Splice[], redacted: ChatMessage): boolean {
  try {
    return JSON.stringify(new SplicedMessage(bytes, splices).parse()) === JSON.stringify(redacted);
  } catch {
    return false; // cut inside an escape sequence
  }
}

/** The value that stands at a place, which `placesOf` has found. */
export function valueAt(bytes: Uint8Array, { start, end }: Span): string {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("utf8", start, end);
  return text.includes("\\") ? (JSON.parse(`"${text}"`) as string) : text; // the inside of a string
}
