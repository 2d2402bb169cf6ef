import type { Policy } from "#config/policy.ts";
import type { ModelKey, ModelRegistry } from "#domain/model.ts";
import type { Caps, NanoUsd } from "#domain/money/money.ts";
import type { HealthView } from "#health/health.ts";
import type { ScoreScale } from "#pipeline/assess/assess.ts";
import type { RequestSize } from "#pipeline/request-size.ts";

/** Everything `decide` may look at beside the task: taken at one moment, so that deciding is pure. */
export interface Snapshot {
  readonly policy: Policy;
  readonly registry: ModelRegistry;
  readonly health: HealthView;
  readonly spend: SpendView;
  readonly size: RequestSize;
  /** With the caps of their own that the goal and the day have, if any. */
  readonly caps: Caps;
  /** The hard caps of their own among them. */
  readonly ownCaps?: { readonly goalHard?: NanoUsd; readonly dayHard?: NanoUsd };
  /** How points become the score; absent where the task was stated and not inferred, as in a dry run: `declared`. */
  readonly scale?: ScoreScale;
  /** What a chat request's run so far has shown, as `key=value`; absent in a dry run. */
  readonly runEvidence?: readonly string[];
  /** The most characters of its own prose that the model wrote in a few calls of the run; absent in a dry run: 0. */
  readonly prose?: number;
  /** Which model the conversation was last routed to; absent for its first request and in a dry run. */
  readonly affinity?: Affinity;
  /** What a scout call has answered, once it has: picks the tier instead of asking (again). */
  readonly verdict?: "flash" | "pro" | "none";
}

/** Spent and held, of the goal and the day; zero in a dry run. `key`: of a caller's key with a cap of its own. */
export interface SpendView {
  readonly key?: { readonly spent: NanoUsd; readonly held: NanoUsd; readonly hard: NanoUsd };
  readonly goal: { readonly spent: NanoUsd; readonly held: NanoUsd };
  readonly day: { readonly spent: NanoUsd; readonly held: NanoUsd };
}

/** What is known of the conversation that a request goes on with. */
export interface Affinity {
  /** The model that its last request was routed to, and that has its context in the prompt cache. */
  readonly model: ModelKey;
  /** Whether the request is a further turn of the same ask. */
  readonly continuation: boolean;
}
