import type { HttpError } from "./errors.ts";

export type ReadBody =
  | { readonly kind: "ok"; readonly text: string; readonly bytes: number }
  | { readonly kind: "not_utf8" }
  | TooLarge
  | Gone;
export interface TooLarge {
  readonly kind: "too_large";
  readonly error: HttpError;
}
/** The caller left, or its connection broke, before the body was whole. */
export interface Gone {
  readonly kind: "gone";
}

/** The body as text, and its size in bytes. Counts while reading where no length was declared, and stops at the limit. */
export async function readBody(request: Request, maxBytes: number): Promise<ReadBody> {
  const declared = request.headers.get("content-length");
  if (declared !== null && Number(declared) > maxBytes) return tooLarge(maxBytes);
  try {
    if (declared !== null) return decoded(await request.bytes());
    return await readCounting(request, maxBytes);
  } catch {
    return { kind: "gone" };
  }
}

async function readCounting(request: Request, maxBytes: number): Promise<ReadBody> {
  if (request.body === null) return { kind: "ok", text: "", bytes: 0 };
  const reader = request.body.getReader();
  const parts: Uint8Array[] = [];
  let bytes = 0;
  for (;;) {
    const step = await reader.read();
    if (step.done) break;
    bytes += step.value.byteLength;
    if (bytes > maxBytes) {
      await reader.cancel();
      return tooLarge(maxBytes);
    }
    parts.push(step.value);
  }
  return decoded(Buffer.concat(parts));
}

const utf8 = new TextDecoder("utf-8", { fatal: true });

/** JSON is UTF-8: bytes that are not would become replacement characters, and the upstream would read what nobody wrote. */
function decoded(bytes: Uint8Array): ReadBody {
  try {
    return { kind: "ok", text: utf8.decode(bytes), bytes: bytes.byteLength };
  } catch {
    return { kind: "not_utf8" };
  }
}

function tooLarge(maxBytes: number): TooLarge {
  return {
    kind: "too_large",
    error: {
      status: 413,
      code: "request_too_large",
      detail: `The request body is larger than ${maxBytes} bytes (MAX_REQUEST_BYTES).`,
      // What is still to come of the body is not read, so the connection cannot carry another request.
      headers: { connection: "close" },
    },
  };
}
