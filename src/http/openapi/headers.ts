import { taskKinds } from "#domain/routing.ts";

/** The headers that speak to the gateway, and the headers of its answers: each with what it says, and its schema. */
type Headers = { readonly [name: string]: readonly [description: string, schema?: object] };

const text = { type: "string" };
const count = { type: "integer", minimum: 0 };
// An empty value counts as absent, in all of them.
/** As any language prints it. */
const flag = { type: "string", pattern: "^([Tt][Rr][Uu][Ee]|[Ff][Aa][Ll][Ss][Ee])?$" };
const id = { type: "string", maxLength: 256, pattern: "^[^\\u0000-\\u001f\\u007f-\\u009f]*$" };
const word = (...words: readonly string[]) => ({ type: "string", enum: words });

const chatRequest: Headers = {
  "X-Smart-Gateway-Session": ["A stable session id; session and goal together name a budget.", id],
  "X-Session-Id": ["The session, where `X-Smart-Gateway-Session` is absent; ignored if it is no id."],
  "X-Smart-Gateway-Goal": ["The goal inside the session.", id],
  "X-Goal-Id": ["The goal of this request; beats X-Smart-Gateway-Goal.", id],
  "X-Task-Id": ["The task; its attempts and errors are remembered between requests.", id],
  "X-Pro": ["`true` forces the pro tier.", flag],
  "X-Scout": ["`true` asks the free scout first; refused with 403 on sensitive data.", flag],
  "X-Smart-Gateway-Sensitive": ["As `metadata.sensitive`, before which it goes; `false` admits free models.", flag],
  "X-Smart-Gateway-Explain": ["`true` adds `smart_gateway`, the decision and its explanation, to the answer.", flag],
  "X-Failure-Class": ["How the last attempt failed.", word("NONE", "LOCAL", "STRUCTURAL", "")],
  "X-Same-Error-Count": ["How often the same error has come back.", { type: "string", pattern: "^\\d{0,9}$" }],
  "X-Request-Id": ["Is returned and logged, if it is plain, at most 128 characters long and no credential."],
  "X-Smart-Gateway-Errors": ["`openai` adds an `error` object to error bodies.", word("openai", "")],
};

export const chatParameters = Object.entries(chatRequest).map(([name, [description, schema = text]]) => {
  return { name, in: "header", required: false, description, schema };
});

const common: Headers = {
  "X-Request-Id": ["The caller's own, if it is short and plain, else a new one."],
  "X-Smart-Gateway-Demo": ["`true` while answers come from the simulated upstream of demo mode."],
};
const ofDecisions: Headers = {
  "X-Smart-Gateway-Decision-Id": ["Names the decision's record."],
  "X-Smart-Gateway-Action": ["The decision's action."],
  "X-Smart-Gateway-Model": ["Internal key of the chosen model, or of the last fallback model. Empty on refusals."],
  "X-Smart-Gateway-Cause": ["The rule that fired."],
  "X-Smart-Gateway-Score": ["The complexity score.", { type: "number", minimum: 0, maximum: 100 }],
  "X-Smart-Gateway-Kind": ["The kind of work that the request was taken for.", word(...taskKinds)],
  "X-Smart-Gateway-Rule": ["The hard rules that fired, comma-separated; empty when none did."],
  "X-Smart-Gateway-Answered-By": ["Internal key of the model that answered, or failed last; empty while unknown."],
  "X-Smart-Gateway-Instead-Of": ["Internal key of the model that was chosen, where another answers because it cannot."],
  "X-Smart-Gateway-Redactions": ["How many values were taken out before anything was sent.", count],
};
const ofErrors: Headers = {
  "Retry-After": ["Seconds to wait, where waiting can help.", count],
  "x-should-retry": [
    "`true` where waiting can help, `false` where it cannot: SDKs then do or do not try again.",
    word("true", "false"),
  ],
  "WWW-Authenticate": ["`Bearer`, with 401."],
};

/** The headers of an answer. */
export function answerHeaders(isDecided: boolean, isError: boolean): object {
  const headers = { ...common, ...(isDecided ? ofDecisions : {}), ...(isError ? ofErrors : {}) };
  return Object.fromEntries(
    Object.entries(headers).map(([name, [description, schema = text]]) => [name, { description, schema }]),
  );
}
