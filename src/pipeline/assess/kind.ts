import type { TaskKind } from "#domain/routing.ts";
import type { AskFeatures } from "./features.ts";
import type { Topic } from "./vocabulary.ts";

/** Words into an ask within which its main verb is expected. */
const opening = 6;
/** Words into an ask within which its topic is named, where the topic guards it. */
const earlyWords = 15;

/**
 * The kind of work an ask is. What is to be *done* goes before what it is *about*: a summary of a text on logins is a
 * summary; adding a login is authentication. Guarded kinds (security, auth, payment, destruction) therefore need a topic
 * and no milder deed in the opening words.
 */
export function kindOf(features: AskFeatures): TaskKind {
  const { topics } = features;
  const has = (topic: Topic) => topics.count(topic) > 0;
  const opens = (topic: Topic) => topics.first(topic) < opening;
  const early = (topic: Topic) => topics.first(topic) < earlyWords;
  // A question with answers to choose from is a quiz, whatever words stand in it.
  if (topics.words === 0 || (features.options >= 3 && features.codeLines < 3)) return "OTHER";

  if (explains(features) && !(has("summarize") && opens("summarize"))) return explainedKind(features);
  if (opens("summarize")) return "SUMMARIZE";
  if (destroys(features)) return "DESTRUCTIVE_MIGRATION";
  if (opens("testing") && !failing(features)) return "TEST";
  if (has("reviewing") && has("publicness")) return "PUBLIC_REVIEW";
  if (opens("classify")) return "CLASSIFY";
  if (opens("rewriting") && !has("coding")) return "OTHER";
  if (opens("proof") || topics.count("proof") >= 2) return "OTHER";
  if (opens("creative")) return "OTHER";
  if (topics.first("designing") < 2 || buildsASystem(features)) return "ARCHITECTURE";

  if (opens("researching")) return "RESEARCH";
  if (topics.first("reviewing") < 3) return "OTHER";

  const guarded = guardedTopic(features);
  if (guarded !== undefined && !(failing(features) && topics.first("debugging") < 3)) return guarded;
  if (failing(features)) return "DEBUG";
  if (opens("designing")) return "ARCHITECTURE";
  if (opens("reviewing")) return "OTHER";
  if (early("testing")) return "TEST";
  if (has("proof")) return "OTHER";
  if (has("coding") || features.codeLines >= 3) return "CODING";
  if (early("summarize")) return "SUMMARIZE";
  if (early("classify")) return "CLASSIFY";
  if (early("researching")) return "RESEARCH";
  if (early("designing")) return "ARCHITECTURE";
  return "OTHER";
}

/** A question about something is answered, whatever it is about; only how to keep secrets is security work. */
function explainedKind({ topics, traceLines }: AskFeatures): TaskKind {
  if (topics.count("security") > 0 && topics.count("production") + topics.count("data") > 0) return "SECURITY";
  if (topics.first("researching") < opening || topics.count("researching") >= 2) return "RESEARCH";
  if (traceLines > 0 || topics.count("debugging") >= 2) return "DEBUG";
  return topics.count("designing") >= 3 ? "ARCHITECTURE" : "OTHER";
}

/** "Build a … platform with a, b and c" is a design, whatever verb it begins with. */
function buildsASystem({ topics, commas }: AskFeatures): boolean {
  return commas >= 2 && topics.first("system") < 10 && topics.first("coding") < 2;
}

function explains({ topics }: AskFeatures): boolean {
  return topics.first("explaining") < 3;
}

/** Something has gone wrong: words for it early, or a stack trace. */
function failing({ topics, traceLines }: AskFeatures): boolean {
  return traceLines > 0 || topics.count("debugging") >= 2 || topics.first("debugging") < 14;
}

/** A destructive verb on stored data, or a migration that cannot be undone. */
export function destroys({ topics }: AskFeatures): boolean {
  const destructive = topics.count("destructive");
  if (destructive === 0 || topics.first("destructive") >= earlyWords) return false;
  return topics.count("data") + topics.count("production") + topics.count("migrating") > 0 || destructive >= 2;
}

/**
 * The guarded topic an ask is about. Words that everyday talk shares (a charge, a token, security) count in full only
 * after an order to do something ("add …", "fix …"), and otherwise only beside plainer ones.
 */
export function guardedTopic(features: AskFeatures): "PAYMENT" | "AUTH" | "SECURITY" | undefined {
  const { topics } = features;
  const looks = topics.count("interface") > 0;
  const ordered = topics.first("acting") < 2 && !looks && features.numbers < 4;
  const weight = (strong: Topic, weak: Topic) => {
    if (Math.min(topics.first(strong), topics.first(weak)) >= earlyWords) return 0;
    const known = topics.count(strong);
    return known === 0 && !ordered ? 0 : known + topics.count(weak) * (ordered ? 1 : 0.5);
  };
  const payment = weight("payment", "paymentWeak");
  const auth = weight("auth", "authWeak");
  const security = weight("security", "securityWeak");
  const most = Math.max(payment, auth, security);
  if (most < (looks ? 2 : 1)) return undefined;
  // Between equals, the one whose strong words are there; then the order of this line.
  if (security === most && (topics.count("security") > 0 || (auth < most && payment < most))) return "SECURITY";
  return auth === most ? "AUTH" : "PAYMENT";
}
