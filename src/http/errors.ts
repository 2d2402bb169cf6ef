import type { ErrorCode } from "#domain/error-codes.ts";

/** Errors on the wire: exactly `{"detail"}`, and for SDKs that show nothing else an `error` object beside it. */

export interface HttpError {
  readonly status: number;
  /** What is wrong and what to do; names the field; never a prompt, a key or a stack. */
  readonly detail: string;
  readonly code?: ErrorCode;
  /** The request field at fault. */
  readonly param?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** For log and record: what stood in `model`, if it is plain and no credential. */
  readonly model?: string | undefined;
  /** For log and record: the label of the caller's key, where the caller may not come in. */
  readonly label?: string;
  /** The decision, for a caller that wants it explained. */
  readonly explained?: unknown;
}

const types: Readonly<Record<number, string>> = {
  401: "authentication_error",
  403: "permission_error",
  404: "not_found_error",
  429: "rate_limit_error",
};

/** The HTTP answer to an error, in the dialect of whoever asks. */
export function errorResponse(error: HttpError, request: Request, headers: Record<string, string>): Response {
  const body = wantsErrorObject(request.headers)
    ? {
        detail: error.detail,
        error: {
          message: error.detail,
          type: types[error.status] ?? (error.status < 500 ? "invalid_request_error" : "api_error"),
          code: readsOnlyNumbers(request.headers) ? error.status : (error.code ?? null),
          param: error.param ?? null,
        },
      }
    : { detail: error.detail };
  if (error.explained !== undefined) Object.assign(body, { smart_gateway: error.explained });
  const all: Record<string, string> = { ...headers, ...error.headers, "content-type": "application/json" };
  // Without the header, SDKs repeat some statuses and not others. What is wrong with the request itself stays wrong.
  const isPassing = "retry-after" in all;
  if (isPassing || error.status < 500) all["x-should-retry"] ??= String(isPassing);
  return new Response(JSON.stringify(body), { status: error.status, headers: all });
}

/**
 * SDKs of the Stainless family name their language; the Vercel AI SDK and OpenRouter's SDK name themselves. The AI SDK writes
 * `ai-sdk/openai-compatible/2.0.87`, from version 7 on `ai-sdk-openai-compatible/3.0.92`.
 */
const sdkAgents = /(?:^|[\s(])(?:ai|ai-sdk(?:-[\w-]{1,40})?)\/|openrouter/i;

function wantsErrorObject(headers: Headers): boolean {
  if (headers.has("x-stainless-lang")) return true;
  if (openAiForm.test(headers.get("x-smart-gateway-errors") ?? "")) return true;
  const agent = headers.get("user-agent");
  return agent !== null && sdkAgents.test(agent);
}

/** The value of `X-Smart-Gateway-Errors` that asks for the `error` object. */
export const openAiForm = /^\s*openai\s*$/i;

/** OpenRouter's SDK takes an error whose code is text for a malformed answer, and shows nothing of it. */
function readsOnlyNumbers(headers: Headers): boolean {
  return /openrouter/i.test(headers.get("user-agent") ?? "");
}
