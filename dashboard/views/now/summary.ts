import type { AnswerOf } from "#dashboard/api-schema.ts";

export type Summary = AnswerOf<"GET summary">;
