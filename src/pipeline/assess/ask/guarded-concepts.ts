import type { TaskKind } from "#domain/routing.ts";
import type { AskFeatures } from "./features.ts";
import type { Topic } from "./topic-terms.ts";

/** Words into an ask within which the concepts have to be named: what is wanted is said first, and details prove little. */
const reach = 30;
/** More numbers than this make a sum of an ask, even of one about payments. */
const manyNumbers = 4;

type GuardedKind = Extract<TaskKind, "SECURITY" | "AUTH" | "PAYMENT" | "DESTRUCTIVE_MIGRATION">;

/**
 * The guarded kind that several concepts make together, where no single word names it: a password that is logged, a link that
 * never expires, somebody who sees what is not theirs, a customer who pays twice, customers who are removed from production.
 */
export function guardedByConcepts(features: AskFeatures): GuardedKind | undefined {
  const { topics } = features;
  const has = (topic: Topic) => topics.first(topic) < reach;
  const looks = has("appearance") || has("interface");
  if (opensUp(features, has)) return "SECURITY";
  if (has("asking")) return undefined;
  if (paysWrongly(features, has, looks)) return "PAYMENT";
  if (looks) return undefined;
  if (destroysLiveData(features, has)) return "DESTRUCTIVE_MIGRATION";
  return letsIn(has) ? "AUTH" : undefined;
}

type Has = (topic: Topic) => boolean;

/** A secret is seen or to be kept, or there is a way in that is to be closed. */
function opensUp({ topics }: AskFeatures, has: Has): boolean {
  if (topics.first("asking") < 1) return false;
  const secures = has("securing");
  const closes = secures || has("curbing") || has("acting") || has("discarding") || has("exposed") || has("accessing");
  if (has("danger") && (closes || topics.words < reach)) return true;
  if (has("secret")) return secures || has("exposed") || has("curbing");
  return has("secretWeak") && (secures || has("exposed"));
}

/** Money moves twice or wrongly, or how it moves is to be changed. */
function paysWrongly({ topics, numbers }: AskFeatures, has: Has, looks: boolean): boolean {
  if (numbers >= manyNumbers || topics.first("quantity") < 2) return false;
  if (has("paying") && has("amiss")) return true;
  if (looks) return false;
  const ordered = topics.first("acting") < 4 || topics.first("paying") < 2;
  if (has("paying") && has("money") && ordered) return true;
  const amounts = topics.count("paying") + topics.count("money");
  if (has("paying") && amounts >= 3 && numbers < 2 && topics.words >= 8 && topics.words < 2 * reach) return true;
  return topics.count("money") >= 2 && has("amiss") && (has("acting") || numbers < 2);
}

/** For how long and how often the door is open, and for whom. */
function letsIn(has: Has): boolean {
  if (has("credential") && has("lifetime")) return true;
  return has("actor") && has("restricted") && (has("accessing") || has("permitting"));
}

function destroysLiveData({ topics }: AskFeatures, has: Has): boolean {
  if (has("erasure") && (has("discarding") || has("acting"))) return true;
  if (!has("discarding") || !has("stored")) return false;
  if (has("live") || has("production")) return true;
  return has("everything") && !has("inMemory") && (topics.first("discarding") < 3 || topics.count("stored") >= 2);
}
