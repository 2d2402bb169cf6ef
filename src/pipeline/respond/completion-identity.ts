import type { Json, JsonObject } from "#domain/chat.ts";
import type { Ports } from "#pipeline/ports.ts";

/** What a completion is called, and when it was made, in Unix seconds. */
export interface CompletionIdentity {
  readonly id: string;
  readonly created: number;
}

/** For completions to which the upstream has given no id or no time. */
export function completionIdentity(decisionId: string, ports: Pick<Ports, "clock">): CompletionIdentity {
  return { id: `chatcmpl-${decisionId}`, created: Math.floor(ports.clock.now() / 1_000) };
}

/** A time above this is in milliseconds. */
const lastSecond = 100_000_000_000;

/**
 * What an answer or a chunk says of both, as far as it says something: an empty id (Azure's first chunk), `0`, and what
 * is no text or no number say nothing; numeric ids, times as text, in fractions or in milliseconds are read.
 */
export function statedIdentity({ id, created }: JsonObject): Partial<CompletionIdentity> {
  const name = typeof id === "number" ? String(id) : id;
  const seconds = secondsOf(created);
  return {
    ...(typeof name === "string" && name.trim() !== "" && { id: name }),
    ...(seconds > 0 && { created: seconds }),
  };
}

function secondsOf(value: Json | undefined): number {
  const number = typeof value === "string" && value.length < 32 ? Number(value) : value;
  if (typeof number !== "number" || !(number >= 1) || !Number.isFinite(number)) return 0;
  return Math.floor(number > lastSecond ? number / 1_000 : number);
}
