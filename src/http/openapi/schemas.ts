import { z } from "zod";
import { errorRows } from "#domain/errors.ts";
import { aliases } from "#domain/routing.ts";
import { healthStates } from "#health/health.ts";

/**
 * What the gateway answers with, for the published reference and for tests that hold real answers to it. Answers that
 * pass through from the upstream are loose: fields not named here are the upstream's and travel unchanged.
 */

const codes = [...new Set(Object.values(errorRows).flatMap((rows) => rows.map(({ code }) => code)))];

export const ErrorAnswer = z
  .strictObject({
    detail: z.string().describe("What is wrong, and what to do about it. Never a prompt, a key or a stack."),
    error: z
      .strictObject({
        message: z.string(),
        type: z.string(),
        code: z.union([z.enum(codes), z.int()]), // the status, for OpenRouter's SDK, which reads nothing else
        param: z.string().nullable(),
      })
      .optional()
      .describe("Only for SDKs, and with `X-Smart-Gateway-Errors: openai`: the same in the form that SDKs show."),
    smart_gateway: z.looseObject({}).optional().describe("The decision, with `X-Smart-Gateway-Explain: true`."),
  })
  .describe("Every answer with a status of 400 or more.");

export const Functions = z
  .array(
    z.union([
      z.looseObject({ type: z.literal("function") }),
      z.looseObject({ type: z.null().optional(), function: z.looseObject({}) }),
    ]),
  )
  .describe("Function-calling tool definitions, forwarded unchanged. Tools of another type are refused.");

const unixTime = z.int().min(0).describe("Unix time, in seconds.");
const tokens = z.int().min(0);

const Usage = z.looseObject({ prompt_tokens: tokens, completion_tokens: tokens, total_tokens: tokens });

/** The members that answers and chunks share. */
const completion = {
  id: z.string().optional().describe("The upstream's completion id."),
  created: unixTime.optional(),
  model: z.string().optional().describe("The upstream's id of the model that answered, not the alias sent."),
  usage: Usage.nullish(),
};

const Message = z.looseObject({ role: z.literal("assistant").nullish(), content: z.string().nullish() });

const choice = { index: z.int().min(0), finish_reason: z.string().nullish() };

export const ChatCompletion = z
  .looseObject({
    ...completion,
    object: z.literal("chat.completion"),
    choices: z.array(z.looseObject({ ...choice, message: Message })),
  })
  .describe("The upstream's answer.");

export const ChatCompletionChunk = z
  .looseObject({
    ...completion,
    object: z.literal("chat.completion.chunk"),
    choices: z.array(z.looseObject({ ...choice, delta: Message })),
    error: z
      .looseObject({ code: z.int(), message: z.string(), metadata: z.looseObject({ error_type: z.string() }) })
      .optional()
      .describe("In the last chunk when the upstream broke off; its finish_reason is `error`."),
  })
  .describe("The data of one server-sent event.");

export const HealthAnswer = z.strictObject({
  status: z
    .enum(["ok", "degraded", "unavailable"])
    .describe(
      "unavailable (503): spend cannot be counted, the aggregator not be reached, or no senior model can serve.",
    ),
  version: z.string(),
  commit: z.string().describe("The commit that the program was made of, or `unknown`."),
  policy_version: z.string(),
  uptime_s: z.int().min(0),
  database: z.looseObject({
    kind: z.enum(["sqlite", "postgres", "memory"]),
    ok: z.boolean(),
    failed: z.enum(["restart_needed", "store_lost"]).optional(),
    lost_commits: z
      .looseObject({ batches: z.int(), restored: z.int(), silent: z.array(z.string()).readonly() })
      .optional()
      .describe(
        "Of a server that took over: batches that it lacked, entries written again, nodes that did not return.",
      ),
  }),
  records: z
    .strictObject({
      ok: z.boolean(),
      queued: z.int().min(0),
      dropped: z.int().min(0),
    })
    .optional(),
  config: z
    .strictObject({
      state: z.enum(["current", "refused"]).describe("Whether the policy and registry files are in force."),
      reason: z.string().optional().describe("Where the first problem of a refused file is."),
      hash: z.string().describe("Names the policy and registry in force."),
      loaded_at: z.iso.datetime().describe("When they were last found to be what the files say."),
    })
    .optional(),
  workers: z.strictObject({ wanted: z.int().min(1), serving: z.int().min(0) }).optional(),
  aggregator: z
    .strictObject({ since: z.iso.datetime(), reason: z.string() })
    .optional()
    .describe("While the aggregator cannot be reached."),
  models: z.record(
    z.string(),
    z.looseObject({
      state: z.enum(healthStates),
      since: z.iso.datetime().optional(),
      reason: z.string().optional(),
      retry_at: z.iso.datetime().optional(),
    }),
  ),
});

export type HealthAnswer = z.infer<typeof HealthAnswer>;

export const LiveAnswer = z.strictObject({ status: z.enum(["ok", "restart_needed"]) });
export const ReadyAnswer = z.strictObject({
  status: z.enum(["ok", "draining", "unavailable"]),
  requests_in_flight: z.int().min(0).optional(),
  streams: z.int().min(0).optional(),
});

const amount = z.string().regex(/^\d+(\.\d+)?$/);
const Account = z.strictObject({
  id: z.string().describe("The goal as the ledger names it, or the UTC day."),
  spent_usd: amount,
  held_usd: amount.describe("Held by calls that run, or whose outcome is unknown."),
  hard_cap_usd: amount,
  left_usd: amount,
});

export const RouteStatus = z.strictObject({
  goal: Account,
  day: Account,
  model: z
    .strictObject({ key: z.string(), upstream_id: z.string(), at_ms: z.int().min(0) })
    .nullable()
    .describe("The model that the goal was last sent to by this process."),
});

export const Model = z.looseObject({
  id: z.enum(aliases),
  object: z.literal("model"),
  created: unixTime,
  owned_by: z.string(),
  context_length: tokens.optional().describe("The smallest context window of the models it may be routed to."),
  max_output_tokens: tokens.optional().describe("The shortest longest answer of these models."),
});

export const ModelList = z.strictObject({ object: z.literal("list"), data: z.array(Model) });
