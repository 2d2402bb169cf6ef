import type { ReceivedBody } from "#domain/chat.ts";
import { type KnownBeginning, MessageMemory } from "./message-memory.ts";
import { type PlacedTools, ToolsMemory } from "./tools-memory.ts";

/** What stands in a body as it stood in earlier ones. */
export interface KnownParts {
  readonly beginning: KnownBeginning;
  readonly tools?: PlacedTools | undefined;
}

/** Recognizes what bodies have in common with earlier ones: an agent sends its history and its tools with every turn. */
export class BodyMemory {
  readonly messages = new MessageMemory();
  readonly tools = new ToolsMemory();

  /** Undefined where no messages are known: then the body is parsed as a whole. */
  partsOf(bytes: Uint8Array): KnownParts | undefined {
    const beginning = this.messages.beginningOf(bytes);
    if (beginning === undefined) return undefined;
    const tools = this.tools.findIn(bytes, 0, beginning.from) ?? this.tools.findIn(bytes, beginning.to, bytes.length);
    return { beginning, tools };
  }

  /** @param known what of the body was known before */
  remember(received: ReceivedBody, known?: KnownParts): void {
    this.messages.remember(received, known?.beginning);
    this.tools.remember(received);
  }
}
