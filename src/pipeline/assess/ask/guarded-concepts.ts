import type { TaskKind } from "#domain/routing.ts";
import type { AskFeatures } from "./features.ts";
import type { Topic } from "./vocabulary/topic-terms.ts";

/** Words into an ask within which the concepts have to be named: what is wanted is said first, and details prove little. */
const reach = 30;
/** More numbers than this make a sum of an ask, even of one about payments. */
const manyNumbers = 4;

/** Words into an ask within which its deed is named. */
const early = 5;

type GuardedKind = Extract<TaskKind, "SECURITY" | "AUTH" | "PAYMENT" | "DESTRUCTIVE_MIGRATION">;

/**
 * The guarded kind that several concepts make together, where no single word names it: a password that is logged, a link that
 * never expires, somebody who sees what is not theirs, a customer who pays twice, customers who are removed from production.
 */
export function guardedByConcepts(features: AskFeatures): GuardedKind | undefined {
  const { topics } = features;
  const has = (topic: Topic) => topics.first(topic) < reach;
  const looks = has("appearance") || has("interface");
  if (opensUp(features, has, looks)) return "SECURITY";
  if (has("unchecked") && (has("ownership") || (has("actor") && has("accessing")))) return "AUTH";
  if (has("asking") || topics.first("person") < 1) return undefined;
  if (paysWrongly(features, has, looks)) return "PAYMENT";
  // A column is on a page or in a table; what is in use is in a table.
  const inUse = has("inUse") || has("live");
  if ((inUse || !looks) && destroysLiveData(features, has)) return "DESTRUCTIVE_MIGRATION";
  if (looks) return undefined;
  return letsIn(features, has) ? "AUTH" : undefined;
}

type Has = (topic: Topic) => boolean;

/** A secret is seen or to be kept, or there is a way in that is to be closed. */
function opensUp({ topics }: AskFeatures, has: Has, looks: boolean): boolean {
  if (topics.first("asking") < 1) return false;
  const secures = has("securing");
  const closes = secures || has("curbing") || has("acting") || has("discarding") || has("exposed") || has("accessing");
  if (has("danger") && (closes || topics.words < reach)) return true;
  if (has("upload") && has("curbing")) return true;
  if (has("trusting") && has("claimed")) return true;
  if (has("fileStore") && has("notPublic")) return true;
  if (has("escaping") && has("rendered") && !has("elsewhere")) return true;
  if (has("secret")) return secures || has("exposed") || (has("curbing") && !looks);
  return has("secretWeak") && (secures || has("exposed"));
}

/** Money moves twice or wrongly, or how it moves is to be changed. */
function paysWrongly({ topics, numbers }: AskFeatures, has: Has, looks: boolean): boolean {
  if (numbers >= manyNumbers) return false;
  if (has("duty") && has("reckoning") && has("wrong") && numbers < 2) return true;
  if (topics.first("quantity") < 2) return false;
  if ((has("paying") || has("reduction")) && has("amiss")) return true;
  if (looks) return false;
  if (has("rounding") && has("duty")) return true;
  if (has("reduction") && has("lifetime")) return true;
  if (has("money") && has("callerSide") && (has("accessing") || has("trusting") || has("danger") || has("reckoning")))
    return true;
  const ordered = topics.first("acting") < 4 || topics.first("paying") < 2;
  if (has("paying") && has("money") && ordered) return true;
  const amounts = topics.count("paying") + topics.count("money");
  if (has("paying") && amounts >= 3 && numbers < 2 && topics.words >= 8 && topics.words < 2 * reach) return true;
  return topics.count("money") >= 2 && has("amiss") && (has("acting") || numbers < 2);
}

/** For how long and how often the door is open, and for whom. */
function letsIn({ topics }: AskFeatures, has: Has): boolean {
  if (has("credential") && has("lifetime")) return true;
  if (has("accessToken") && has("scope")) return true;
  if (has("recoveryAddress") && has("confirming")) return true;
  if (has("closedAccount") && (has("credential") || has("accessing") || has("lifetime"))) return true;
  if (has("othersOwn") && has("accessing")) return true;
  if (has("ownThing") && (has("approving") || (has("restricted") && has("accessing")))) return true;
  if (has("notPublic") && has("accessing") && has("actor")) return true;
  if (!has("restricted")) return false;
  if (has("actor") && (has("accessing") || has("permitting"))) return true;
  // Who stands above whom: "owners may do what admins may not".
  return topics.count("restricted") >= 2 && (has("accessing") || has("permitting") || has("curbing"));
}

/** Stored data is done away with, or all of it is written anew while it is in use. */
function destroysLiveData({ topics }: AskFeatures, has: Has): boolean {
  if (has("reshaping") && has("schemaPart") && has("inUse") && !has("inMemory")) return true;
  if (has("erasure") && (has("discarding") || has("acting"))) return true;
  if (has("merging") && has("container") && (has("live") || has("production"))) return true;
  if (!has("discarding") || !has("stored")) return false;
  if (has("live") || has("production")) return true;
  if (has("inMemory")) return false;
  if (has("container") && topics.first("discarding") < 2 * early) return true;
  if (has("unattended") || (topics.first("dropping") < early && has("schemaPart"))) return true;
  return has("everything") && (topics.first("discarding") < early || topics.count("stored") >= 2);
}
