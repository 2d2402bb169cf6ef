import { type CallerError, errorType } from "#domain/errors.ts";

/** Errors on the wire: exactly `{"detail"}`, and for SDKs that show nothing else an `error` object beside it. */

export interface HttpError extends CallerError {
  readonly headers?: Readonly<Record<string, string>>;
  /** For log and record: what stood in `model`, if it is plain and no credential. */
  readonly model?: string | undefined;
  /** For log and record: the label of the caller's key, where the caller may not come in. */
  readonly label?: string;
  /** The decision, for a caller that wants it explained. */
  readonly explained?: unknown;
}

/** The HTTP answer to an error, in the dialect of whoever asks. */
export function errorResponse(error: HttpError, request: Request, headers: Record<string, string>): Response {
  const { status, detail, code, param = null, explained } = error;
  const body: Record<string, unknown> = { detail };
  if (wantsErrorObject(request.headers)) {
    const type = errorType(status);
    body["error"] = { message: detail, type, code: readsOnlyNumbers(request.headers) ? status : code, param };
  }
  if (explained !== undefined) body["smart_gateway"] = explained;
  const all = { ...headers, ...errorHeaders(error), "content-type": "application/json" };
  return new Response(JSON.stringify(body), { status, headers: all });
}

/** The headers that say whether, how and when to try again. */
export function errorHeaders({ status, retryAfterS, shouldRetry, headers }: HttpError): Record<string, string> {
  const all = { ...headers };
  if (status === 401) all["www-authenticate"] = "Bearer";
  if (retryAfterS !== undefined) all["retry-after"] = String(retryAfterS);
  // Without the header, SDKs repeat some statuses and not others. What is wrong with the request itself stays wrong.
  const isPassing = shouldRetry ?? retryAfterS !== undefined;
  if (isPassing || status < 500 || shouldRetry === false) all["x-should-retry"] = String(isPassing);
  return all;
}

/**
 * SDKs of the Stainless family name their language; the Vercel AI SDK and OpenRouter's SDK name themselves. The AI SDK
 * writes `ai-sdk/openai-compatible/2.0.87`, from version 7 on `ai-sdk-openai-compatible/3.0.92`.
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
