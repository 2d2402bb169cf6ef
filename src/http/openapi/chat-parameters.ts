import { z } from "zod";
import { FailureClass } from "#domain/routing.ts";

const parameter = (name: string, description: string, schema: object = { type: "string" }) => ({
  name,
  in: "header",
  required: false,
  description,
  schema,
});
/** As any language prints it. */
const flag = { type: "string", pattern: "^([Tt][Rr][Uu][Ee]|[Ff][Aa][Ll][Ss][Ee])$" };
const idSchema = { type: "string", minLength: 1, maxLength: 256, pattern: "^[^\\u0000-\\u001f\\u007f-\\u009f]*$" };

const { $schema: _, ...failureClass } = z.toJSONSchema(FailureClass, { io: "input" });

/** The headers that speak to the gateway. */
export const chatParameters = [
  parameter(
    "X-Smart-Gateway-Session",
    "A stable session id; without it, `X-Session-Id` counts, which some agents send. Session and goal together name a budget.",
    idSchema,
  ),
  parameter("X-Session-Id", "The session, where `X-Smart-Gateway-Session` is absent; ignored if it is no id.", {
    type: "string",
  }),
  parameter("X-Smart-Gateway-Goal", "The goal inside the session.", idSchema),
  parameter("X-Goal-Id", "The goal of this request; beats X-Smart-Gateway-Goal.", idSchema),
  parameter("X-Task-Id", "The task; its attempts and errors are remembered between requests.", idSchema),
  parameter("X-Pro", "`true` forces the pro tier.", flag),
  parameter("X-Scout", "`true` asks the free scout first; refused with 403 on sensitive data.", flag),
  parameter(
    "X-Smart-Gateway-Explain",
    "`true` adds the decision and its explanation: as `smart_gateway` in JSON answers, errors too, and as a comment before the first chunk of streams.",
    flag,
  ),
  parameter("X-Failure-Class", "How the last attempt failed.", failureClass),
  parameter("X-Same-Error-Count", "How often the same error has come back.", {
    type: "integer",
    minimum: 0,
    maximum: 999_999_999,
  }),
  parameter(
    "X-Request-Id",
    "Is returned in the answer and written to the log, if it is plain, at most 128 characters long and no credential; else the gateway makes one.",
  ),
  parameter("X-Smart-Gateway-Errors", "`openai` adds an `error` object to error bodies.", {
    type: "string",
    enum: ["openai"],
  }),
];
