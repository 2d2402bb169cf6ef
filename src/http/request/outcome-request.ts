import { z } from "zod";
import { type Outcome, outcomes } from "#domain/routing.ts";

/** The body of `POST /v1/route/outcome`. Unknown keys are ignored, `null` counts as an absent score. */
export const OutcomeReport = z.object({
  decision_id: z
    .string()
    .min(1)
    .max(128)
    .describe("The decision that the outcome belongs to: `X-Smart-Gateway-Decision-Id` of the answer."),
  outcome: z.enum(outcomes).describe("Whether the answer has done what was asked."),
  score: z.number().min(0).max(1).nullish().describe("How well, where it is known: 0 to 1."),
});

export type ParsedOutcome =
  | { readonly kind: "ok"; readonly decisionId: string; readonly outcome: Outcome; readonly score: number | undefined }
  | { readonly kind: "invalid"; readonly detail: string };

/** Bytes of the largest body that can be meant. */
export const maxOutcomeBytes = 16_384;

export function parseOutcome(text: string): ParsedOutcome {
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch {
    // The parser's message quotes the body, so it stays here.
    return { kind: "invalid", detail: "The body is not valid JSON." };
  }
  const parsed = OutcomeReport.safeParse(body);
  if (parsed.success) {
    const { decision_id, outcome, score } = parsed.data;
    return { kind: "ok", decisionId: decision_id, outcome, score: score ?? undefined };
  }
  const fields = new Set(parsed.error.issues.map(({ path }) => String(path[0] ?? "")));
  const details = [...fields].map(
    (field) => wanted[field] ?? "The body must be a JSON object with `decision_id` and `outcome`.",
  );
  return { kind: "invalid", detail: details.join("; ") };
}

/** What a field must be. The value that was sent is not quoted. */
const wanted: Readonly<Record<string, string>> = {
  decision_id: "decision_id: must be a text of 1 to 128 characters, as X-Smart-Gateway-Decision-Id gave it",
  outcome: `outcome: must be one of ${outcomes.join(", ")}`,
  score: "score: must be a number from 0 to 1, or absent",
};
