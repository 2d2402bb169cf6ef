/**
 * What a user says by the result of a tool: an answer to a question, the next wish after a finished task, a reason for a refusal. The
 * name of the tool decides, or the sentence by which an agent refuses a call: what a file says that a tool has read is nobody's wish.
 * `asks`: the task was finished, and this is the next one; `answers`: words that belong to the task that goes on.
 */
export type UserWords = "asks" | "answers";

/** Tools by which a model says that it is done, and those by which it asks its user something or shows a plan. */
const finishing = /(?:^|_)(?:completion|complete|completed|finish|finished|submit|done)(?:_|$)/;
const asking =
  /(?:^|_)(?:ask|question|questions|followup|clarify|clarification|respond|user_input|plan_exit|exit_plan)(?:_|$)/;
/** What else may be asked: another model, a search, documents. */
const notTheUser = /(?:^|_)(?:mcp|agents?|model|llm|codebase|repo|docs|wiki|web|search|expert|oracle)(?:_|$)/;
/** Longer answers without a form of their own are no user's. */
const maxBareAnswer = 2_000;

const userTag = /<(feedback|user_message|answer|user_feedback|user_response)>([\s\S]*?)<\/\1>/;
/** The user allows or refuses a call, and says something about it. */
const verdict =
  /^\s*(?:\{\s*"status"\s*:\s*"(?:denied|approved)"[^{}]{0,200}"feedback"\s*:|(?:the )?user (?:has )?(?:denied|rejected|declined|refused|approved|does(?:n't| not) want)\b[^:<]{0,300}\b(?:feedback|context|reason|message|said|says|instead)\b[^:<\n]{0,40}:)/i;
/** A command has run, and the user has spoken at the end of its result. */
const spokeMeanwhile = /^\s*Command (?:executed|is still running)\b/;
const saidAtEnd =
  /\buser (?:has )?(?:provided|gave|left|added) (?:the following )?feedback\b[^\n]{0,100}:\s*<feedback>[\s\S]*<\/feedback>\s*$/i;
/** A tool that asks says that nobody has answered. */
const unanswered =
  /^\s*(?:(?:the )?user (?:has )?(?:declined|dismissed|cancell?ed|did not|didn't|skipped)\b[^\n]{0,80}$|error\b|cannot ask\b|\{\s*"error")/i;

/** By whose result the user may speak: a tool that says that the work is done, or one that asks. */
export type Speaker = "finishes" | "asks";

/** @param tool name in snake_case */
export function speakerBy(tool: string): Speaker | undefined {
  if (finishing.test(tool)) return "finishes";
  return asking.test(tool) && !notTheUser.test(tool) ? "asks" : undefined;
}

/** Whether the result of a call holds the user's own words. */
export function userWordsIn(speaker: Speaker | undefined, result: string): UserWords | undefined {
  const isVerdict = verdict.test(result);
  if (speaker === "finishes" && (isVerdict || userTag.test(result))) return "asks";
  if (speaker === "asks") {
    const isBare = result.trim() !== "" && result.length <= maxBareAnswer && !unanswered.test(result);
    if (isBare || userTag.test(result)) return "answers";
  }
  return isVerdict || (spokeMeanwhile.test(result) && saidAtEnd.test(result)) ? "answers" : undefined;
}

/** Longest words that are read; people answer briefly, and long text was pasted. */
const maxWords = 8_000;
/** `"Which one?"="the second"`, `**Database**: the second`: only what is answered. */
const answered = /"=\s*"([^"]*)"|^\*\*[^*\n]{1,200}\*\*:[ \t]*([^\n]+)/gm;

/** The user's words in a result that holds some. */
export function wordsOfUser(result: string): string {
  const text = result.slice(0, maxWords);
  const tagged = userTag.exec(spokeMeanwhile.test(result) ? result.slice(result.lastIndexOf("<feedback>")) : text)?.[2];
  if (tagged !== undefined) return tagged.trim();
  const verdictEnd = verdict.exec(text)?.[0].length;
  if (verdictEnd !== undefined) return text.slice(verdictEnd).trim();
  const answers = [...text.matchAll(answered)].map(([, quoted, listed]) => quoted ?? listed ?? "");
  return answers.length > 0 ? answers.join("\n") : text.trim();
}
