import type { HttpError } from "#http/errors.ts";
import type { BodiesInFlight, HeldBytes } from "#http/limits/bodies-in-flight.ts";
import { largeBodyBytes, nextLargeTask } from "#platform/event-loop.ts";
import { isJsonContentType } from "./headers.ts";

export interface BodyBytes {
  readonly kind: "ok";
  /** As received. */
  readonly bytes: Uint8Array;
  /** To be released once nothing is left of the body. */
  readonly held: HeldBytes;
}
/** The body is larger than allowed, there is no room for it now, or it did not arrive whole. */
interface RefusedBody {
  readonly kind: "refused";
  readonly error: HttpError;
}
type ReadBytes = BodyBytes | RefusedBody;

/** Smaller ones share pages of the allocator with other objects. */
const minFreedBytes = 65_536;

/**
 * Gives the memory of a body back at once, for the next body to use: the collector would find it only after many more, which would
 * get memory that the system has to clear first. Afterwards all views of the bytes are empty.
 */
export function freeBytes({ bytes }: BodyBytes): void {
  const { buffer } = bytes;
  // Not where the buffer may hold something else too.
  if (bytes.byteLength < minFreedBytes || buffer.byteLength !== bytes.byteLength) return;
  if (buffer instanceof ArrayBuffer) buffer.transfer(0);
}

const utf8 = new TextDecoder("utf-8", { fatal: true });

/**
 * The body as text. One that is not UTF-8, as JSON has to be, is refused: invalid bytes would become replacement characters.
 */
export async function readText(
  request: Request,
  maxBytes: number,
  inFlight: BodiesInFlight,
): Promise<{ readonly kind: "ok"; readonly text: string } | RefusedBody> {
  const read = await readBytes(request, maxBytes, inFlight);
  if (read.kind === "refused") return read;
  try {
    return { kind: "ok", text: utf8.decode(read.bytes) };
  } catch {
    return invalid("The body is not valid JSON: it is not UTF-8.");
  } finally {
    read.held.release();
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
  if (!isJsonContentType(request.headers)) return invalid("Content-Type must be application/json.");
  try {
    return { kind: "ok", value: JSON.parse(read.text === "" ? "{}" : read.text) };
  } catch {
    return invalid("The body is not valid JSON."); // the parser's message quotes the body
  }
}

/**
 * The body as bytes. Room is reserved before the body is read or, without a declared length, while it is read, up to the limit.
 */
export async function readBytes(request: Request, maxBytes: number, inFlight: BodiesInFlight): Promise<ReadBytes> {
  const length = Number(request.headers.get("content-length") ?? 0);
  // The runtime refuses an invalid length; the byte count must stay correct in any case.
  const declared = Number.isSafeInteger(length) ? length : 0;
  if (declared > maxBytes) return tooLarge(maxBytes);
  const held = inFlight.hold(declared);
  if (held === undefined) return noRoom;
  let read: ReadBytes;
  try {
    if (declared > 0) {
      const bytes = await request.bytes();
      if (declared > largeBodyBytes) await nextLargeTask();
      read = { kind: "ok", bytes, held };
    } else {
      read = await readCounting(request, maxBytes, held);
    }
  } catch {
    read = incomplete;
  }
  if (read.kind !== "ok") held.release();
  return read;
}

async function readCounting(request: Request, maxBytes: number, held: HeldBytes): Promise<ReadBytes> {
  if (request.body === null) return { kind: "ok", bytes: new Uint8Array(0), held };
  const reader = request.body.getReader();
  const parts: Uint8Array[] = [];
  let bytes = 0;
  for (;;) {
    const step = await reader.read();
    if (step.done) break;
    bytes += step.value.byteLength;
    const refusal = bytes > maxBytes ? tooLarge(maxBytes) : held.growTo(bytes) ? undefined : noRoom;
    if (refusal !== undefined) {
      // What is left of it is discarded behind the answer.
      reader.releaseLock();
      return refusal;
    }
    parts.push(step.value);
  }
  if (bytes > largeBodyBytes) await nextLargeTask();
  return { kind: "ok", bytes: Buffer.concat(parts), held };
}

function invalid(detail: string, status = 422): RefusedBody {
  return { kind: "refused", error: { status, code: "invalid_request", detail } };
}

/** The connection closed before. */
const incomplete = invalid("The request body did not arrive whole.", 400);

function tooLarge(maxBytes: number): RefusedBody {
  return {
    kind: "refused",
    error: {
      status: 413,
      code: "request_too_large",
      detail: `The request body is larger than ${maxBytes} bytes (MAX_REQUEST_BYTES).`,
    },
  };
}

const noRoom: RefusedBody = {
  kind: "refused",
  error: {
    status: 503,
    code: "overloaded",
    detail: "The gateway holds as many bytes of request bodies as it may (MAX_BYTES_IN_FLIGHT). Try again shortly.",
    headers: { "retry-after": "1" },
  },
};
