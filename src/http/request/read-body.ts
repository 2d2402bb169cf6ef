import type { HttpError } from "#http/errors.ts";
import type { BodiesInFlight, HeldBytes } from "#http/limits/bodies-in-flight.ts";
import { largeBodyBytes, largeWorkTurn } from "#platform/event-loop-turns.ts";

export type ReadBody = BodyText | { readonly kind: "not_utf8" } | RefusedBody | IncompleteBody;
export interface BodyText {
  readonly kind: "ok";
  readonly text: string;
  /** As received. */
  readonly bytes: Uint8Array;
  /** To be released once nothing is left of the body. */
  readonly held: HeldBytes;
}
/** The body is larger than allowed, or there is no room for it now. */
export interface RefusedBody {
  readonly kind: "refused";
  readonly error: HttpError;
}
/** The connection closed before the body was complete. */
export interface IncompleteBody {
  readonly kind: "incomplete";
}

/**
 * The body as text, and its size in bytes. Room is reserved before the body is read or, without a declared length, while it
 * is read, up to the limit.
 */
export async function readBody(request: Request, maxBytes: number, inFlight: BodiesInFlight): Promise<ReadBody> {
  const length = Number(request.headers.get("content-length") ?? 0);
  // The runtime refuses an invalid length; the byte count must stay correct in any case.
  const declared = Number.isSafeInteger(length) ? length : 0;
  if (declared > maxBytes) return tooLarge(maxBytes);
  const held = inFlight.hold(declared);
  if (held === undefined) return noRoom;
  let read: ReadBody;
  try {
    if (declared > 0) {
      const bytes = await request.bytes();
      if (declared > largeBodyBytes) await largeWorkTurn();
      read = decoded(bytes, held);
    } else {
      read = await readCounting(request, maxBytes, held);
    }
  } catch {
    read = { kind: "incomplete" };
  }
  if (read.kind !== "ok") held.release();
  return read;
}

async function readCounting(request: Request, maxBytes: number, held: HeldBytes): Promise<ReadBody> {
  if (request.body === null) return { kind: "ok", text: "", bytes: new Uint8Array(0), held };
  const reader = request.body.getReader();
  const parts: Uint8Array[] = [];
  let bytes = 0;
  for (;;) {
    const step = await reader.read();
    if (step.done) break;
    bytes += step.value.byteLength;
    const refusal = bytes > maxBytes ? tooLarge(maxBytes) : held.growTo(bytes) ? undefined : noRoom;
    if (refusal !== undefined) {
      await reader.cancel();
      return refusal;
    }
    parts.push(step.value);
  }
  if (bytes > largeBodyBytes) await largeWorkTurn();
  return decoded(Buffer.concat(parts), held);
}

const utf8 = new TextDecoder("utf-8", { fatal: true });

/** JSON is UTF-8: invalid bytes would become replacement characters, and the upstream would read a changed text. */
function decoded(bytes: Uint8Array, held: HeldBytes): ReadBody {
  try {
    return { kind: "ok", text: utf8.decode(bytes), bytes, held };
  } catch {
    return { kind: "not_utf8" };
  }
}

function tooLarge(maxBytes: number): RefusedBody {
  return {
    kind: "refused",
    error: {
      status: 413,
      code: "request_too_large",
      detail: `The request body is larger than ${maxBytes} bytes (MAX_REQUEST_BYTES).`,
      // The rest of the body is not read, so the connection cannot serve another request.
      headers: { connection: "close" },
    },
  };
}

const noRoom: RefusedBody = {
  kind: "refused",
  error: {
    status: 503,
    code: "overloaded",
    detail: "The gateway holds as many bytes of request bodies as it may (MAX_BYTES_IN_FLIGHT). Try again shortly.",
    headers: { "retry-after": "1", connection: "close" },
  },
};
