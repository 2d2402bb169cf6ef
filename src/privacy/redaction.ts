import type { ChatMessage, JsonObject } from "#domain/chat.ts";
import type { Restorer } from "./restore/restore.ts";
import type { Span } from "./text/spans.ts";

/**
 * What the privacy gate reports. A finding never holds the value it found, nor its length.
 * The engine behind this port is pure: same text, same policy, same answer.
 */
export interface Finding {
  /** Id of the rule that fired, snake_case: `github_token`. */
  readonly rule: string;
  readonly count: number;
  /** Index of the message the finding stands in; -1 for text outside `messages`. */
  readonly messageIndex: number;
}

/** The findings of one whole request. */
export interface Redaction {
  readonly findings: readonly Finding[];
  /** All replacements made, over all findings. */
  readonly total: number;
}

export type ChatBody = JsonObject & { messages: ChatMessage[] };

/** A request body as the upstream may see it, and what was taken out of it. */
export interface RedactedBody extends Redaction {
  /** The very object that was handed in when nothing was found; else a copy that shares the untouched parts. */
  readonly body: ChatBody;
  /**
   * Found in `tools`, `functions`, `tool_choice` or `response_format`: these are forwarded unchanged, so such a finding
   * makes the request sensitive but is not replaced, and not counted in `total`.
   */
  readonly unredactable: readonly Finding[];
  /** Present when the policy restores values and some were replaced. Holds values: for this request only. */
  readonly restore?: Restorer;
}

/** All that makes a request sensitive: what was replaced, and what is forwarded unchanged. */
export function findingsIn({ findings, unredactable }: RedactedBody): readonly Finding[] {
  return unredactable.length === 0 ? findings : [...findings, ...unredactable];
}

export interface RedactedText {
  /** The same string when nothing was found. */
  readonly text: string;
  readonly findings: readonly Finding[];
}

/** Takes one known key out of answers, and out of what upstreams say of failures. */
export interface KeyFilter {
  /** One search of the text, which mostly does not have it. */
  isIn(text: string): boolean;
  /** The text without the key, or what is left of it where it was cut off. JSON stays JSON. */
  text(text: string): string;
}

/** Most secrets that are taken out of one large body. */
export const maxSecrets = 50_000;

/** A large body holds more secrets than one request can: replacing each would keep others waiting. */
export class TooManySecrets extends Error {}

/** A credential stands where it can be neither replaced nor sent. Holds the place, never the value. */
export class CredentialNotReplaceable extends Error {
  readonly rule: string;
  /** The key of an object, rather than an id. */
  readonly isKey: boolean;
  /** Where the id is, or the object with the key: `messages[2].tool_calls[0].id`; "" for the body itself. */
  readonly path: string;

  constructor(rule: string, isKey: boolean, segments: readonly (string | number)[]) {
    super("a credential in a name");
    this.rule = rule;
    this.isKey = isKey;
    let path = "";
    for (const segment of segments) {
      if (typeof segment === "number") path += `[${segment}]`;
      // Keys are the caller's, and may be text of any kind and length.
      else path += `${path === "" ? "" : "."}${/^[\w-]{1,64}$/.test(segment) ? segment : "*"}`;
      if (path.length > maxPathLength) break;
    }
    this.path = path.length > maxPathLength ? `${path.slice(0, maxPathLength)}…` : path;
  }
}

const maxPathLength = 200;

/** The privacy gate, built once per policy. If it throws, refuse the request. */
export interface PrivacyEngine {
  /** Where credentials stand in a text, to mark them for whoever wrote it. */
  placesIn(text: string): readonly Span[];
  redactText(text: string): RedactedText;
  /** Throws `CredentialNotReplaceable` where a credential stands in a key or an id; nothing else. */
  redactBody(body: ChatBody): RedactedBody;
  /**
   * The same for a large body: now, if nearly all of it has been scanned before, else in ticks of the event loop.
   * Rejects also with `TooManySecrets` beyond `maxSecrets`.
   */
  redactLargeBody(body: ChatBody): RedactedBody | Promise<RedactedBody>;
  /** Keeps the gateway's own upstream key out of answers, whatever the policy says; absent where there is no key. */
  readonly keyFilter?: KeyFilter;
  /** Rules the policy switched off by name; to be logged at start. */
  readonly disabledRules: readonly string[];
}
