import type { Answer } from "./gateway.ts";

/** A stream as a strict client reads it. */
export interface ReadStream {
  readonly text: string;
  /** The JSON of every `data:` line but `[DONE]`. */
  readonly chunks: readonly Answer[];
  readonly comments: readonly string[];
  /** Whether `data: [DONE]` came exactly once and last. */
  readonly done: boolean;
  /** The error with which the connection broke. */
  readonly broken: string | undefined;
}

/** Reads a stream to its end, however it ends. `onText` receives the whole text so far after each read. */
export async function readStream(
  response: Response,
  onText: (text: string) => void = () => undefined,
): Promise<ReadStream> {
  const decoder = new TextDecoder();
  let text = "";
  let broken: string | undefined;
  try {
    for await (const bytes of response.body ?? []) {
      text += decoder.decode(bytes, { stream: true });
      onText(text);
    }
  } catch (error) {
    broken = error instanceof Error ? error.name : String(error);
  }
  return { ...parseStream(text), broken };
}

export function parseStream(text: string): Omit<ReadStream, "broken"> {
  const events = text.split("\n\n").filter((event) => event !== "");
  const comments = events.filter((event) => event.startsWith(":"));
  const data = events
    .filter((event) => !event.startsWith(":"))
    .map((event) => {
      if (!event.startsWith("data: ") || event.includes("\n")) throw new Error(`not one data line: ${event}`);
      return event.slice("data: ".length);
    });
  const ends = data.filter((line) => line === "[DONE]").length;
  return {
    text,
    chunks: data.filter((line) => line !== "[DONE]").map((line) => JSON.parse(line)),
    comments,
    done: ends === 1 && data.at(-1) === "[DONE]",
  };
}

/** The text of one choice, joined. */
export function contentOf(chunks: readonly Answer[], index = 0): string {
  return chunks
    .flatMap((chunk) => chunk.choices)
    .filter((choice) => choice.index === index)
    .map((choice) => choice.delta.content ?? "")
    .join("");
}

export function finishReasonsOf(chunks: readonly Answer[]): string[] {
  return chunks.flatMap((chunk) => chunk.choices).flatMap((choice) => choice.finish_reason ?? []);
}
