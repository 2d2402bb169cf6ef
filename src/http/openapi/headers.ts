import { taskKinds } from "#domain/routing.ts";

/** The headers that speak to the gateway, and the headers of its answers. */

const text = { type: "string" };
const count = { type: "integer", minimum: 0 };
const parameter = (name: string, description: string, schema: object) => ({
  name,
  in: "header",
  required: false,
  description,
  schema,
});
const header = (description: string, schema: object = text) => ({ description, schema });

// An empty value counts as absent, in all of them.
/** As any language prints it. */
const flag = { type: "string", pattern: "^([Tt][Rr][Uu][Ee]|[Ff][Aa][Ll][Ss][Ee])?$" };
const id = { type: "string", maxLength: 256, pattern: "^[^\\u0000-\\u001f\\u007f-\\u009f]*$" };
const word = (...words: string[]) => ({ type: "string", enum: [...words, ""] });

export const chatParameters = [
  parameter(
    "X-Smart-Gateway-Session",
    "A stable session id; without it, `X-Session-Id` counts, which some agents send. Session and goal together name a budget.",
    id,
  ),
  parameter("X-Session-Id", "The session, where `X-Smart-Gateway-Session` is absent; ignored if it is no id.", text),
  parameter("X-Smart-Gateway-Goal", "The goal inside the session.", id),
  parameter("X-Goal-Id", "The goal of this request; beats X-Smart-Gateway-Goal.", id),
  parameter("X-Task-Id", "The task; its attempts and errors are remembered between requests.", id),
  parameter("X-Pro", "`true` forces the pro tier.", flag),
  parameter("X-Scout", "`true` asks the free scout first; refused with 403 on sensitive data.", flag),
  parameter(
    "X-Smart-Gateway-Explain",
    "`true` adds the decision and its explanation: as `smart_gateway` in JSON answers, errors too, and as a comment before the first chunk of streams.",
    flag,
  ),
  parameter("X-Failure-Class", "How the last attempt failed.", word("NONE", "LOCAL", "STRUCTURAL")),
  parameter("X-Same-Error-Count", "How often the same error has come back.", { type: "string", pattern: "^\\d{0,9}$" }),
  parameter(
    "X-Request-Id",
    "Is returned in the answer and written to the log, if it is plain, at most 128 characters long and no credential; else the gateway makes one.",
    text,
  ),
  parameter("X-Smart-Gateway-Errors", "`openai` adds an `error` object to error bodies.", word("openai")),
];

export const commonHeaders = {
  "X-Request-Id": header("The caller's own, if it is short and plain, else a new one."),
  "X-Smart-Gateway-Demo": header("`true` while answers come from the simulated upstream of demo mode."),
};

export const decisionHeaders = {
  "X-Smart-Gateway-Decision-Id": header("Names the decision's record."),
  "X-Smart-Gateway-Action": header("The decision's action."),
  "X-Smart-Gateway-Model": header(
    "Internal key of the chosen model, or of the fallback model that was called last. The scout's where one was asked. Empty on refusals.",
  ),
  "X-Smart-Gateway-Cause": header("The rule that fired."),
  "X-Smart-Gateway-Score": header("The complexity score.", { type: "number", minimum: 0, maximum: 100 }),
  "X-Smart-Gateway-Kind": header("The kind of work that the request was taken for.", {
    type: "string",
    enum: taskKinds,
  }),
  "X-Smart-Gateway-Rule": header("The hard rules that fired, comma-separated; empty when none did."),
  "X-Smart-Gateway-Answered-By": header(
    "Internal key of the model that answered, or that failed last. Empty where none was called, or a stream began before its answer.",
  ),
  "X-Smart-Gateway-Instead-Of": header(
    "Internal key of the free model that was asked for, where a paid one answers because it cannot serve (policy: health.free_fallback).",
  ),
  "X-Smart-Gateway-Redactions": header("How many values were taken out before anything was sent.", count),
};

export const errorHeaders = {
  "Retry-After": header("Seconds to wait, where waiting can help.", count),
  "x-should-retry": header("`false` where waiting cannot help; SDKs then do not try again.", {
    type: "string",
    enum: ["false"],
  }),
  "WWW-Authenticate": header("`Bearer`, with 401."),
};
