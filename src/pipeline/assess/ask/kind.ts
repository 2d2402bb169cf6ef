import type { TaskKind } from "#domain/routing.ts";
import type { AskFeatures } from "./features.ts";
import { guardedByConcepts } from "./guarded-concepts.ts";
import type { Topic } from "./vocabulary/topic-terms.ts";

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

  if (opens("summarize") || (has("documents") && has("brevity") && topics.words < 40)) return "SUMMARIZE";
  if (explains(features)) return explainedKind(features);
  if (destroys(features)) return "DESTRUCTIVE_MIGRATION";
  if (writesTests(features)) return "TEST";
  if (has("reviewing") && has("publicness")) return "PUBLIC_REVIEW";
  const holes = topics.count("security") >= 2 && topics.count("acting") > 0;
  if (
    (opens("classify") && !holes) ||
    (early("classify") && topics.words < 25 && !orders(features) && !designs(features))
  ) {
    return "CLASSIFY";
  }
  if (opens("rewriting") && !has("coding")) return "OTHER";
  if (opens("proof") || topics.count("proof") >= 2) return "OTHER";
  if (opens("creative")) return "OTHER";
  if (designs(features)) return secures(features) ? "SECURITY" : "ARCHITECTURE";
  if (topics.first("researching") < opening) return "RESEARCH";

  // To write about something guarded changes nothing of it, and a list of words asks for nothing.
  const changesNothing = opens("wording") || features.commas * 2 > topics.words;
  const named = changesNothing ? undefined : guardedTopic(features);
  const meant = changesNothing ? undefined : guardedByConcepts(features);
  const guarded = named ?? meant;
  // Who looks at something and then changes it does more than to review it; where tests are named, these may be all that changes.
  const changesToo = has("furtherOrder") && !has("testing");
  const reviews = topics.first("reviewing") < 3 && !changesToo;
  // A long report of what goes wrong, without an order, is to be understood first, whatever part of the program it is about.
  const report = topics.words > 50 && !orders(features) && (failing(features) || features.identifiers >= 8);
  const seeksCause = guarded !== "SECURITY" && has("seekingCause");
  // That money moved wrongly is the whole of such a report.
  if (((report && meant !== "PAYMENT") || seeksCause) && guarded !== undefined) return "DEBUG";
  if (named === "SECURITY" || guarded === "SECURITY") return "SECURITY";
  if (named !== undefined && !reviews && !describesFailure(features, named)) return named;
  if (meant !== undefined && !reviews) return meant;
  if (reviews) return "OTHER";
  if (calculates(features)) return "OTHER";
  if (failing(features)) return "DEBUG";
  if (opens("designing")) return "ARCHITECTURE";
  if (early("testing") && !has("creative")) return "TEST";
  if (has("proof")) return "OTHER";
  if (has("coding") || features.codeLines >= 3 || (orders(features) && aboutSoftware(features))) return "CODING";
  if (early("summarize")) return "SUMMARIZE";
  if (early("researching")) return "RESEARCH";
  return "OTHER";
}

/** The ask begins with what to do ("add …", "please write …"), or ends with it where the language has it so. */
function orders({ topics, verbLast }: AskFeatures): boolean {
  return topics.first("acting") < (verbLast ? earlyWords : 4);
}

/** Signs of formulas from which on a text is mathematics, and from which on it is, whatever it begins with. */
const formula = 6;
const formulas = 12;

/** A sum or a formula to be worked out: words such as "twice", "function" and "order" are its subject, and nothing of a program. */
function calculates(features: AskFeatures): boolean {
  const { topics, numbers, mathSigns, codeLines, traceLines, identifiers } = features;
  if (codeLines > 0 || traceLines > 0 || identifiers > 2) return false;
  if (mathSigns >= formulas) return true;
  if (orders(features)) return false;
  if (mathSigns >= formula || (numbers >= 3 && topics.count("asking") > 0)) return true;
  if (numbers >= 1 && topics.count("asking") > 0) return !aboutSoftware(features);
  return numbers >= 3 && topics.count("quantity") > 0 && topics.count("coding") === 0;
}

function aboutSoftware({ topics, identifiers }: AskFeatures): boolean {
  return topics.count("software") + topics.count("data") + topics.count("coding") + identifiers > 0;
}

function explains({ topics, verbLast }: AskFeatures): boolean {
  // Where the verb comes last, what is to be explained stands before it, and orders stand in its place.
  const end = verbLast && topics.count("acting") === 0 ? earlyWords : 3;
  return topics.first("explaining") < end;
}

/** A question about something is answered, whatever it is about; only how to keep secrets is security work. */
function explainedKind({ topics, traceLines }: AskFeatures): TaskKind {
  if (topics.count("security") > 0 && topics.count("production") + topics.count("system") > 0) return "SECURITY";
  if (topics.first("researching") < opening || topics.count("researching") >= 2) return "RESEARCH";
  if (traceLines > 0 || topics.count("debugging") >= 2 || topics.first("debugging") < 2) return "DEBUG";
  return "OTHER";
}

/** Something failed: words for it early, a stack trace, or a log that says so. */
function failing({ topics, traceLines, failureLines }: AskFeatures): boolean {
  if (traceLines + failureLines > 0 || topics.count("debugging") >= 2 || topics.first("debugging") < earlyWords)
    return true;
  return topics.count("intermittent") > 0 && topics.count("intricate") > 0;
}

/** A failure is mentioned before the guarded topic: the work is to find its cause. */
function describesFailure(features: AskFeatures, guarded: "AUTH" | "PAYMENT"): boolean {
  if (!failing(features) || orders(features)) return false;
  const topic = guarded === "AUTH" ? "auth" : "payment";
  return features.topics.first("debugging") < Math.min(features.topics.first(topic), 4);
}

/** Tests are to be written, not mended: an order to write comes first, or nothing is said to fail. */
function writesTests(features: AskFeatures): boolean {
  const { topics } = features;
  if (topics.first("testing") >= earlyWords) return false;
  if (topics.first("testing") < 2) return true;
  // Chinese names what the tests are for before it says that they are to be written.
  if (features.denseCharacters > 0 && topics.count("acting") === 0 && !failing(features)) return true;
  if (topics.first("testing") < opening) return orders(features) || !failing(features);
  return orders(features) && !failing(features) && topics.count("testing") >= 2;
}

/** A design is asked for; "build a … platform with a, b and c" is one too, whatever verb it begins with. */
function designs(features: AskFeatures): boolean {
  const { topics, commas } = features;
  if (topics.first("designing") < 2) return true;
  if (topics.first("planning") < 4) {
    return (
      topics.count("system") + topics.count("complexity") + topics.count("designing") + topics.count("software") > 0 &&
      !failing(features)
    );
  }
  return commas >= 2 && topics.first("system") < 10 && topics.first("acting") < 2;
}

/** What is designed is security itself: that is named first of all, and more than once. */
function secures({ topics }: AskFeatures): boolean {
  return (
    Math.min(topics.first("security"), topics.first("securityWeak")) < opening &&
    topics.count("security") > 0 &&
    topics.count("security") + topics.count("securityWeak") >= 2
  );
}

/** A destructive verb on stored data: plain ones ("delete", "drop") only with a word for how much of it, or production. */
function destroys(features: AskFeatures): boolean {
  const { topics } = features;
  const stored = topics.count("data") + topics.count("production") + topics.count("migrating");
  if (topics.count("inMemory") > 0 && topics.count("production") + topics.count("migrating") === 0) return false;
  // Stored data that is in use, moved: what goes wrong is lost.
  if (topics.first("migrating") < earlyWords && topics.count("production") > 0 && topics.count("data") > 0) return true;
  if (topics.first("destructive") < earlyWords) return stored > 0 || topics.count("destructive") >= 2;
  if (topics.first("deleting") >= earlyWords || stored === 0 || topics.count("interface") > 0) return false;
  return (
    (topics.count("everything") + topics.count("production") + topics.count("migrating") > 0 && orders(features)) ||
    (topics.first("deleting") < 2 && topics.count("everything") + topics.count("production") > 0) ||
    // Wherever the verb stands: all of what is stored in production.
    (topics.count("data") > 0 && topics.count("everything") > 0 && topics.count("production") > 0)
  );
}

/**
 * What stands there is one part in a list of parts of something larger that is to be built: "build an API with paging, authentication
 * and caching" is work on an API.
 */
function isPart(position: number, { topics, commas }: AskFeatures): boolean {
  const [verb, list] = [topics.first("building"), topics.first("listing")];
  return commas >= 2 && verb < 4 && verb + 1 < list && list < position;
}

/**
 * The guarded topic an ask is about. Words that everyday talk shares (a charge, a token, security) count in full only
 * after an order to do something ("add …", "fix …"), and otherwise only beside plainer ones.
 */
function guardedTopic(features: AskFeatures): "PAYMENT" | "AUTH" | "SECURITY" | undefined {
  const { topics } = features;
  const looks = topics.count("interface") + topics.count("appearance") > 0;
  // Renamed, sorted, shown or counted, what is guarded stays as it is.
  const says = features.verbLast || !orders(features) ? earlyWords : opening;
  if (topics.first("light") < says) return undefined;
  const curbs = Math.min(topics.first("curbing"), topics.first("securing")) < 2;
  const ordered = (orders(features) || curbs) && !looks && features.numbers < 4;
  // How something is done with a word that everyday talk shares is a question on that.
  const technical = aboutSoftware(features) && features.numbers < 4 && topics.first("asking") > 0;
  const weight = (strong: Topic, weak: Topic) => {
    const first = Math.min(topics.first(strong), topics.first(weak));
    if (first >= earlyWords) return 0;
    if (topics.count(strong) + topics.count(weak) === 1 && isPart(first, features)) return 0;
    const known = topics.count(strong);
    // In code, such words are names of functions.
    const weakOnes = features.codeLines >= 3 && known === 0 ? 0 : topics.count(weak);
    return known === 0 && !ordered && !(technical && weakOnes >= 2) ? 0 : known + weakOnes * (ordered ? 1 : 0.5);
  };
  // What begins with "calculate" is a sum, even of payments.
  const sum = topics.first("quantity") < 2 || (topics.count("quantity") > 0 && features.numbers >= 4);
  const payment = sum ? 0 : weight("payment", "paymentWeak");
  const auth = weight("auth", "authWeak");
  const security = weight("security", "securityWeak");
  const most = Math.max(payment, auth, security);
  if (most < (looks ? 2 : 1)) return undefined;
  // Between equals, the one whose strong words are there; then the order of this line.
  if (security === most && (topics.count("security") > 0 || (auth < most && payment < most))) return "SECURITY";
  return auth === most ? "AUTH" : "PAYMENT";
}
