import { type CallerError, errorOf } from "#domain/errors.ts";
import type { BodiesInFlight, HeldBody } from "#http/limits/bodies-in-flight.ts";
import { largeBodyBytes, nextLargeTask } from "#platform/event-loop.ts";
import { isJsonContentType } from "./headers.ts";

/** Why there is no body: it is larger than allowed, there is no room for it now, it did not arrive whole, or is not what it must be. */
interface RefusedBody {
  readonly kind: "refused";
  readonly error: CallerError;
}

/** A body as received. It is released once nothing is left of it. */
export interface BodyBytes extends HeldBody {
  readonly kind: "ok";
  readonly bytes: Uint8Array;
}

/** Smaller ones share pages of the allocator with other objects. */
const minFreedBytes = 65_536;

/**
 * Gives the memory of a body back at once, for the next body to use: the collector would find it only after many more, which would
 * get memory that the system has to clear first. Afterwards all views of the bytes are empty.
 */
export function freeBytes(bytes: Uint8Array): void {
  const { buffer } = bytes;
  // Not where the buffer may hold something else too.
  if (bytes.byteLength < minFreedBytes || buffer.byteLength !== bytes.byteLength) return;
  if (buffer instanceof ArrayBuffer) buffer.transfer(0);
}

const utf8 = new TextDecoder("utf-8", { fatal: true });

/** The body as text. One that is not UTF-8, as JSON has to be, is refused: invalid bytes would become replacement characters. */
export async function readText(
  request: Request,
  maxBytes: number,
  inFlight: BodiesInFlight,
): Promise<{ readonly kind: "ok"; readonly text: string } | RefusedBody> {
  const body = await readBytes(request, maxBytes, inFlight);
  if (body.kind === "refused") return body;
  try {
    return { kind: "ok", text: utf8.decode(body.bytes) };
  } catch {
    return refused({ ...errorOf("invalid_request.not_json", { why: ": it is not UTF-8" }), status: 422 });
  } finally {
    inFlight.resize(body, 0);
  }
}

/** The value of a JSON body. */
export async function readJson(
  request: Request,
  maxBytes: number,
  inFlight: BodiesInFlight,
): Promise<{ readonly kind: "ok"; readonly value: unknown } | RefusedBody> {
  const read = await readText(request, maxBytes, inFlight);
  if (read.kind === "refused") return read;
  if (!isJsonContentType(request.headers)) return refused({ ...errorOf("invalid_request.content_type"), status: 422 });
  try {
    return { kind: "ok", value: JSON.parse(read.text === "" ? "{}" : read.text) };
  } catch {
    return refused({ ...errorOf("invalid_request.not_json", { why: "" }), status: 422 }); // the parser's message quotes the body
  }
}

/**
 * The body as bytes, up to the limit. What has arrived counts, not what was announced: a caller who announces bodies and sends none would
 * take the room of all others.
 */
export async function readBytes(
  request: Request,
  maxBytes: number,
  inFlight: BodiesInFlight,
): Promise<BodyBytes | RefusedBody> {
  const length = Number(request.headers.get("content-length") ?? 0);
  // The runtime refuses an invalid length; the byte count must stay correct in any case.
  const declared = Number.isSafeInteger(length) ? length : 0;
  if (declared > maxBytes) return tooLarge(maxBytes);
  const held: HeldBody = { heldBytes: 0 };
  let read: Uint8Array | RefusedBody;
  try {
    if (declared > 0 && inFlight.announce(declared)) {
      const bytes = await request.bytes().finally(() => inFlight.arrived(declared));
      read = inFlight.resize(held, bytes.length) ? bytes : noRoom;
    } else read = await readChunks(request, maxBytes, inFlight, held);
  } catch {
    read = refused(errorOf("invalid_request.not_whole")); // the connection closed before
  }
  if (!(read instanceof Uint8Array)) {
    inFlight.resize(held, 0);
    return read;
  }
  if (read.length > largeBodyBytes) await nextLargeTask();
  return { kind: "ok", bytes: read, heldBytes: held.heldBytes };
}

async function readChunks(
  request: Request,
  maxBytes: number,
  inFlight: BodiesInFlight,
  held: HeldBody,
): Promise<Uint8Array | RefusedBody> {
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

const refused = (error: CallerError): RefusedBody => ({ kind: "refused", error });
const tooLarge = (bytes: number): RefusedBody => refused(errorOf("request_too_large", { bytes }));
const noRoom = refused(errorOf("overloaded.bodies"));
