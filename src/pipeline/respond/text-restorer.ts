import type { RedactedBody } from "#privacy/redaction.ts";

/** Puts redacted values back into answer text; one per choice, because each choice is a text of its own. */
export interface TextRestorer {
  push(text: string): string;
  flush(): string;
}

/** Makes restorers for an answer; undefined where nothing is restored. The result holds nothing but the redacted values. */
export function restorerOf({ restore }: RedactedBody): (() => TextRestorer) | undefined {
  return restore === undefined ? undefined : streamsOf(restore);
}

function streamsOf(restore: NonNullable<RedactedBody["restore"]>): () => TextRestorer {
  return () => restore.stream();
}
