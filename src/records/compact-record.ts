import type { ModelRegistry } from "#domain/model.ts";
import { zeroUsd } from "#domain/money/money.ts";
import type { AskFeatures } from "#pipeline/assess/ask/features.ts";
import type { Snapshot } from "#pipeline/decide/snapshot.ts";
import { factsOf, type RecordContext, type RecordFacts, recordWith, requestHead } from "./build-record.ts";
import type { DecisionRecord } from "./decision-record.ts";
import type { RequestRecord, RoutedInputs } from "./record.ts";
import type { RecordEntry } from "./store/record-head.ts";

/**
 * The form in which a request's record is written: the objects that the request has left, as they are, without what their
 * snapshot shares with other requests. The record is made of it when somebody reads it: most are never read, and making it
 * would cost as much as routing the request.
 */
interface CompactRecord {
  readonly request: Omit<RequestRecord, "routed">;
  readonly facts: RecordFacts;
  readonly routed?: Omit<RoutedInputs, "decision" | "snapshot" | "learned" | "features"> & {
    /** Where it is another than the request's. */
    readonly decision?: RoutedInputs["decision"];
    readonly features: CompactFeatures;
    readonly snapshot: Pick<Snapshot, (typeof ownParts)[number]>;
    readonly thresholds: readonly [flashBelow: number, proFrom: number];
  };
}
type CompactFeatures = Omit<AskFeatures, "topics"> & { readonly topics: { words: number; distinctWords: number } };

/** The parts of a snapshot that are a request's own. */
const ownParts = ["health", "spend", "size", "ownCaps", "scale", "runEvidence", "affinity", "draw", "verdict"] as const;

/** Texts of compact records begin so; those of whole records with `{"seq"`. */
const mark = '{"compact":';

export function compactEntry(request: RequestRecord, context: RecordContext): RecordEntry {
  const facts = factsOf(request, context);
  const { routed } = request;
  const compact: CompactRecord =
    routed === undefined
      ? { request, facts }
      : {
          // JSON leaves out what is undefined.
          request: { ...request, routed: undefined } as Omit<RequestRecord, "routed">,
          facts,
          routed: {
            ...(routed.decision === request.decision ? {} : { decision: routed.decision }),
            task: routed.task,
            runtime: routed.runtime,
            housekeeping: routed.housekeeping,
            conversationKey: "",
            sessionId: undefined,
            namesTask: routed.namesTask,
            ...(routed.ledgerSpend === undefined ? {} : { ledgerSpend: routed.ledgerSpend }),
            features: countsOf(routed.features),
            snapshot: ownPartsOf(routed.snapshot),
            thresholds: [routed.snapshot.policy.routing.flash_below, routed.snapshot.policy.routing.pro_from],
          },
        };
  return { head: requestHead(request, facts), text: `${mark}${JSON.stringify(compact)}}` };
}

/** The record that a line of a block stands for. */
export function readText(text: string): DecisionRecord {
  if (!text.startsWith(mark)) return JSON.parse(text);
  const { request, facts, routed }: CompactRecord = JSON.parse(text).compact;
  if (routed === undefined) return recordWith(request, facts);
  const { thresholds, snapshot, features, ...inputs } = routed;
  const [flash_below, pro_from] = thresholds;
  return recordWith(
    {
      ...request,
      routed: {
        ...inputs,
        decision: routed.decision ?? request.decision,
        features: features as AskFeatures, // the counts are all that is read
        learned: undefined,
        snapshot: {
          ...snapshot,
          registry: noModels,
          caps: noCaps,
          policy: { routing: { flash_below, pro_from } } as Snapshot["policy"], // the thresholds are all that is read
        },
      },
    },
    facts,
  );
}

const noModels: ModelRegistry = { models: new Map(), byRole: {} };
const noCaps = { goalSoft: zeroUsd, goalHard: zeroUsd, daySoft: zeroUsd, dayHard: zeroUsd };

function countsOf({ topics, ...counts }: AskFeatures): CompactFeatures {
  return { ...counts, topics: { words: topics.words, distinctWords: topics.distinctWords } };
}

/** Health is told of models that are not well; the others are healthy. */
function ownPartsOf(snapshot: Snapshot): Pick<Snapshot, (typeof ownParts)[number]> {
  const { size, spend, ownCaps, scale, runEvidence, affinity, draw, verdict } = snapshot;
  const health: { [model: string]: Snapshot["health"][string] } = {};
  for (const model in snapshot.health) {
    const state = snapshot.health[model];
    if (state !== undefined && (state.state !== "HEALTHY" || !state.routable)) health[model] = state;
  }
  return {
    health,
    size,
    spend,
    ...(ownCaps === undefined ? {} : { ownCaps }),
    ...(scale === undefined ? {} : { scale }),
    ...(runEvidence === undefined ? {} : { runEvidence }),
    ...(affinity === undefined ? {} : { affinity }),
    ...(draw === undefined ? {} : { draw }),
    ...(verdict === undefined ? {} : { verdict }),
  };
}
