import { type CallerError, errorOf } from "#domain/errors.ts";
import type { BodiesInFlight, HeldBody } from "#http/limits/bodies-in-flight.ts";
import { largeBodyBytes, nextLargeTask } from "#platform/event-loop.ts";
import { isJsonContentType } from "./headers.ts";

/** A body as received. Its room is given back once nothing is left of it. */
export interface BodyBytes extends HeldBody {
  readonly bytes: Uint8Array;
}

/** Smaller ones share pages of the allocator with other objects. */
const minFreedBytes = 65_536;

/**
 * Gives the memory of a body back at once, for the next body to use: the collector would find it only after many more,
 * which would get memory that the system has to clear first. Afterwards all views of the bytes are empty.
 */
export function freeBytes(bytes: Uint8Array): void {
  const { buffer } = bytes;
  // Not where the buffer may hold something else too.
  if (bytes.byteLength < minFreedBytes || buffer.byteLength !== bytes.byteLength) return;
  if (buffer instanceof ArrayBuffer) buffer.transfer(0);
}

const utf8 = new TextDecoder("utf-8", { fatal: true });

/** The body as text. What is not UTF-8, as JSON has to be, is refused: bytes would become replacement characters. */
export async function readText(request: Request, maxBytes: number, inFlight: BodiesInFlight) {
  const body = await readBytes(request, maxBytes, inFlight);
  if ("status" in body) return body;
  try {
    return utf8.decode(body.bytes);
  } catch {
    return unprocessable(errorOf("invalid_request.not_json", { why: ": it is not UTF-8" }));
  } finally {
    inFlight.resize(body, 0);
  }
}

/** The value of a JSON body; nothing at all stands for `{}`. */
export async function readJson(request: Request, maxBytes: number, inFlight: BodiesInFlight) {
  const text = await readText(request, maxBytes, inFlight);
  if (typeof text !== "string") return text;
  if (!isJsonContentType(request.headers)) return unprocessable(errorOf("invalid_request.content_type"));
  try {
    return { value: JSON.parse(text === "" ? "{}" : text) as unknown };
  } catch {
    return unprocessable(errorOf("invalid_request.not_json", { why: "" })); // the parser's message quotes the body
  }
}

/** What is a 400 in a chat request, as SDKs know it, is a 422 elsewhere. */
export function unprocessable(error: CallerError): CallerError {
  return { ...error, status: 422 };
}

/**
 * The body as bytes, up to the limit. What has arrived counts, not what was announced: a caller who announces bodies
 * and sends none would take the room of all others.
 */
export async function readBytes(
  request: Request,
  maxBytes: number,
  inFlight: BodiesInFlight,
): Promise<BodyBytes | CallerError> {
  const length = Number(request.headers.get("content-length") ?? 0);
  // The runtime refuses an invalid length; the byte count must stay correct in any case.
  const declared = Number.isSafeInteger(length) ? length : 0;
  if (declared > maxBytes) return tooLarge(maxBytes);
  const held: HeldBody = { heldBytes: 0 };
  let read: Uint8Array | CallerError;
  try {
    if (declared > 0 && inFlight.announce(declared)) {
      const bytes = await request.bytes().finally(() => inFlight.arrived(declared));
      read = inFlight.resize(held, bytes.length) ? bytes : noRoom;
    } else read = await readChunks(request, maxBytes, inFlight, held);
  } catch {
    read = errorOf("invalid_request.not_whole"); // the connection closed before
  }
  if (!(read instanceof Uint8Array)) {
    inFlight.resize(held, 0);
    return read;
  }
  if (read.length > largeBodyBytes) await nextLargeTask();
  return { bytes: read, heldBytes: held.heldBytes };
}

async function readChunks(
  request: Request,
  maxBytes: number,
  inFlight: BodiesInFlight,
  held: HeldBody,
): Promise<Uint8Array | CallerError> {
  const parts: Uint8Array[] = [];
  if (request.body === null) return new Uint8Array(0);
  const reader = request.body.getReader();
  for (let bytes = 0; ; ) {
    const step = await reader.read();
    if (step.done) return parts.length === 1 && parts[0] !== undefined ? parts[0] : Buffer.concat(parts);
    bytes += step.value.byteLength;
    const refusal = bytes > maxBytes ? tooLarge(maxBytes) : inFlight.resize(held, bytes) ? undefined : noRoom;
    if (refusal !== undefined) {
      // What is left of it is discarded behind the answer.
      reader.releaseLock();
      return refusal;
    }
    parts.push(step.value);
  }
}

const tooLarge = (bytes: number) => errorOf("request_too_large", { bytes });
const noRoom = errorOf("overloaded.bodies");
