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

/** The findings of one whole request, and how to put values back where the policy allows it. */
export interface Redaction {
  readonly findings: readonly Finding[];
  /** All replacements made, over all findings. */
  readonly total: number;
}
