import type { HttpError } from "./errors.ts";

export type ReadBody = { readonly kind: "ok"; readonly text: string; readonly bytes: number } | TooLarge | Gone;
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
    if (declared !== null) {
      const text = await request.text();
      return { kind: "ok", text, bytes: Number(declared) };
    }
    return await readCounting(request, maxBytes);
  } catch {
    return { kind: "gone" };
  }
}

async function readCounting(request: Request, maxBytes: number): Promise<ReadBody> {
  if (request.body === null) return { kind: "ok", text: "", bytes: 0 };
  const decoder = new TextDecoder();
  const reader = request.body.getReader();
  let text = "";
  let bytes = 0;
  for (;;) {
    const step = await reader.read();
    if (step.done) break;
    bytes += step.value.byteLength;
    if (bytes > maxBytes) {
      await reader.cancel();
      return tooLarge(maxBytes);
    }
    text += decoder.decode(step.value, { stream: true });
  }
  return { kind: "ok", text: text + decoder.decode(), bytes };
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
