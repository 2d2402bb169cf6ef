import { z } from "zod";
import { messageRoles } from "#domain/chat.ts";
import { Alias, RoutingTask } from "#domain/routing.ts";

/** Ids end up in counters, records and headers: short, without control characters or halves of surrogate pairs. */
export const idPattern = /^[^\p{Cc}\p{Cs}]{1,256}$/u;
const id = z.string().regex(idPattern, "must be 1 to 256 characters without control characters");

/** No model writes more; a larger number would only make a reservation that no budget allows. */
const maxOutputTokens = 2_147_483_647;
const maxChoices = 128;

const TextPart = z.looseObject({ type: z.literal("text"), text: z.string() });
const RefusalPart = z.looseObject({ type: z.literal("refusal"), refusal: z.string() });

const Message = z.looseObject({
  role: z.enum(messageRoles),
  content: z.union([z.string(), z.array(z.discriminatedUnion("type", [TextPart, RefusalPart]))]).nullish(),
});

/** The routing-task fields, for their schemas. */
const taskShape = RoutingTask.shape;
export const Metadata = z
  .looseObject({
    sensitive: z.boolean().nullish().describe("Must be false for free models; true when absent."),
    reasoning: z.enum(["auto", "high", "AUTO", "HIGH"]).nullish().describe("high asks for the pro tier."),
    routing: z.enum(["auto", "pro", "flash", "free"]).nullish().describe("A hint only."),
    session_id: id.nullish().describe("Same as the header X-Smart-Gateway-Session."),
    goal_id: id.nullish().describe("Same as the header X-Smart-Gateway-Goal."),
    task_id: id.nullish().describe("Same as the header X-Task-Id."),
    repo_id: id.nullish().describe("For the log."),
    kind: taskShape.kind.unwrap().nullish(),
    explicit_route: taskShape.explicit_route.unwrap().nullish(),
    repo_context_present: taskShape.repo_context_present.unwrap().nullish(),
    repo_free_opt_in: taskShape.repo_free_opt_in.unwrap().nullish(),
    risk_level: taskShape.risk_level.unwrap().nullish(),
    blast_radius: taskShape.blast_radius.unwrap().nullish(),
    reasoning_requirement: taskShape.reasoning_requirement.unwrap().nullish(),
    ambiguity: taskShape.ambiguity.unwrap().nullish(),
    dependency_depth: taskShape.dependency_depth.unwrap().nullish(),
    verification_difficulty: taskShape.verification_difficulty.unwrap().nullish(),
    estimated_tool_depth: taskShape.estimated_tool_depth.unwrap().nullish(),
  })
  .describe("Gateway routing metadata. Other keys are the caller's and travel unchanged.");

const outputTokens = z.int().min(0).max(maxOutputTokens).nullish().describe("0 counts as not set.");

/**
 * The published schema of `POST /v1/chat/completions`. Its fields are checked with it, but for the messages, of which
 * an agent sends hundreds: `problemOfMessages` gives the same verdict.
 */
export const ChatCompletionsBody = z
  .looseObject({
    model: Alias.describe("One of the four routing aliases."),
    messages: z.array(Message).min(1).describe("Chat messages; text content only."),
    stream: z.boolean().nullish(),
    stream_options: z.looseObject({ include_usage: z.boolean().nullish() }).nullish(),
    temperature: z.number().nullish(),
    top_p: z.number().nullish(),
    n: z.int().min(1).max(maxChoices).nullish(),
    best_of: z.int().min(1).max(maxChoices).nullish().describe("How many answers are written, and paid for."),
    max_tokens: outputTokens,
    max_completion_tokens: outputTokens,
    stop: z.union([z.string(), z.array(z.string())], "must be a string or an array of strings").nullish(),
    tools: z
      .array(z.looseObject({}))
      .nullish()
      .describe("Function-calling tool definitions, forwarded unchanged. Tools of another type are refused."),
    tool_choice: z.union([z.string(), z.looseObject({})], "must be a string or an object").nullish(),
    response_format: z.looseObject({}).nullish(),
    user: z.string().nullish(),
    metadata: Metadata.nullish(),
  })
  .describe(
    "A chat completion request. Fields not named here are forwarded unchanged and not validated, but for those that may " +
      "change the model, the provider's terms or the price.",
  );
