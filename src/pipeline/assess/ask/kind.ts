import type { AskFeatures, Level, TaskKind } from "#domain/routing.ts";
import type { HighRiskTopic } from "./high-risk-topic.ts";
import words from "./kind-words.yaml";
import { Lexicon } from "./lexicon.ts";
import { isListOrQuiz } from "./sentences.ts";

const lexicon = new Lexicon(words);
/** Words into an ask within which its deed is named, and those within which it opens. */
const early = 10;
const opening = 4;
/** Different words of a text about parts of a program that, where it orders nothing, tells of what goes wrong. */
const longReport = 60;
/** Characters that are read. */
const readLength = 600;

/**
 * The kind of work an ask is: what is to be done goes before what it is about, the words in front before those behind.
 */
export function kindOf(ask: string, features: AskFeatures, topic: HighRiskTopic | undefined): TaskKind {
  if (topic !== undefined) return topic.kind;
  const read = ask.slice(0, readLength);
  if (isListOrQuiz(read)) return "OTHER";
  const named = lexicon.read(read);
  const first = (tag: string) => named.first(tag);
  const technical = features.code_lines >= 3 || named.has("software");
  const deed = first("coding");
  if (first("summarize") < early && first("summarize") <= Math.max(opening, deed)) return "SUMMARIZE";
  if (first("review") < early && named.has("public")) return "PUBLIC_REVIEW";
  if (first("classify") < opening || (first("classify") < early && deed > early)) return "CLASSIFY";
  if (first("test") < early && !(first("failure") < first("test"))) return "TEST";
  if (first("prose") < early && !technical) return "OTHER";
  if (first("research") <= opening || (first("research") < early && deed > early)) return "RESEARCH";
  if (first("design") <= opening && first("design") <= deed) return "ARCHITECTURE";
  if (features.distinct_words > longReport && technical && deed >= opening) return "DEBUG";
  if (first("failure") < early && (technical || deed > opening || first("failure") < 3)) return "DEBUG";
  if (deed < early) return "CODING";
  if (named.has("failure") && technical) return "DEBUG";
  return technical && features.code_lines > 0 ? "CODING" : "OTHER";
}

/** How much harm a wrong answer could do, and how far it would reach. */
export interface Risk {
  readonly risk_level: Level;
  readonly blast_radius: Level;
}

/** HIGH sends a high-risk kind to the senior model by a hard rule; CRITICAL is destruction in production. */
export function riskOf(kind: TaskKind, topic: HighRiskTopic | undefined): Risk {
  const live = topic?.live === true;
  if (kind === "DESTRUCTIVE_MIGRATION") return { risk_level: live ? "CRITICAL" : "HIGH", blast_radius: "HIGH" };
  const isHighRisk = kind === "SECURITY" || kind === "AUTH" || kind === "PAYMENT";
  return isHighRisk ? { risk_level: "HIGH", blast_radius: live ? "HIGH" : "MEDIUM" } : noRisk;
}

export const noRisk: Risk = { risk_level: "LOW", blast_radius: "LOW" };
