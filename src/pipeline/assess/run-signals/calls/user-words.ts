/**
 * What a user says by the result of a tool: an answer to a question, the next wish after a finished task, a reason for a refusal. The
 * name of the tool decides, and the sentence by which an agent refuses a call: what a file says that a tool has read is nobody's wish.
 */

/** `asks`: the task was finished, and this is the next one; `answers`: words that belong to the task that goes on. */
export type UserWords = "asks" | "answers";

/** Tools by which a model says that it is done. */
const finishing = /(?:^|_)(?:completion|complete|completed|finish|finished|submit|done)(?:_|$)/;
/** Tools by which a model asks its user something, or shows a plan. */
const asking =
  /(?:^|_)(?:ask|asks|question|questions|followup|clarify|clarification|respond|user_input|user_response|human_input|plan_exit|exit_plan)(?:_|$)/;

/** What else may be asked: another model, a search, documents. */
const notTheUser = /(?:^|_)(?:mcp|agent|agents|model|llm|codebase|repo|docs|wiki|web|search|expert|oracle)(?:_|$)/;
/** Longer answers without a form of their own are no user's. */
const maxBareAnswer = 2_000;

/** What stands around the user's words. */
const userTag = /<(feedback|user_message|answer|user_feedback|user_response)>/;
/** The user allows or refuses a call, and says something about it. */
const verdict =
  /^\s*(?:\{\s*"status"\s*:\s*"(?:denied|approved)"[^{}]{0,200}"feedback"\s*:|(?:the )?user (?:has )?(?:denied|rejected|declined|refused|approved|does(?:n't| not) want)\b[^:<]{0,300}\b(?:feedback|context|reason|message|said|says|instead)\b[^:<\n]{0,40}:)/i;
const refused =
  /^\s*(?:\{\s*"status"\s*:\s*"denied"|(?:the )?user (?:has )?(?:denied|rejected|declined|refused|does))/i;
/** A command has run, and the user speaks at the end of its result. */
const spokeMeanwhile = /^\s*Command (?:executed|is still running)\b/;
const saidSomething =
  /\buser (?:has )?(?:provided|gave|given|left|added) (?:the following )?feedback\b[^\n]{0,100}:\s*$/i;
/** A tool that asks says that nobody has answered. */
const unanswered =
  /^\s*(?:(?:the )?user (?:has )?(?:declined|dismissed|cancell?ed|did not|didn't|skipped)\b[^\n]{0,80}$|error\b|cannot ask\b|\{\s*"error")/i;

/** Whether the result of a tool holds the user's own words; the tool's name is in snake_case. */
export function userWordsIn(tool: string, result: string): UserWords | undefined {
  if (finishing.test(tool) && (userTag.test(result) || verdict.test(result))) return "asks";
  if (asking.test(tool) && !notTheUser.test(tool)) {
    const bare = result.trim() !== "" && result.length <= maxBareAnswer && !unanswered.test(result);
    if (bare || userTag.test(result)) return "answers";
  }
  if (verdict.test(result)) return "answers";
  return spokeMeanwhile.test(result) && saysAtTheEnd(result) ? "answers" : undefined;
}

/** Whether a call was not made because the user refused it. */
export function isRefusedByUser(result: string): boolean {
  return refused.test(result);
}

function saysAtTheEnd(result: string): boolean {
  const at = result.lastIndexOf("<feedback>");
  return at > 0 && saidSomething.test(result.slice(Math.max(0, at - 200), at)) && /<\/feedback>\s*$/.test(result);
}

/** Longest words that are read; people answer briefly, and long text was pasted. */
const maxWords = 8_000;
/** `"Which one?"="the second"`, `**Database**: the second`, `"answers": {"0": "the second"}`: only what is answered. */
const answered = /"=\s*"([^"]*)"|^\*\*[^*\n]{1,200}\*\*:[ \t]*([^\n]+)/gm;

/** The user's words in a result that holds some. */
export function wordsOfUser(result: string): string {
  const text = result.slice(0, maxWords);
  if (spokeMeanwhile.test(text)) return taggedIn(result.slice(result.lastIndexOf("<feedback>"))) ?? "";
  const tagged = taggedIn(text);
  if (tagged !== undefined) return tagged;
  if (/^\s*\{/.test(text)) return wordsInJson(result);
  const verdictEnd = verdict.exec(text)?.[0].length;
  if (verdictEnd !== undefined) return text.slice(verdictEnd).trim();
  const answers = [...text.matchAll(answered)].map(([, quoted, listed]) => quoted ?? listed ?? "");
  return answers.length > 0 ? answers.join("\n") : text.trim();
}

/** What stands in the first tag of the user's; linear in the text, which others have written. */
function taggedIn(text: string): string | undefined {
  const open = userTag.exec(text);
  if (open === null) return undefined;
  const from = open.index + open[0].length;
  const close = text.indexOf(`</${open[1]}>`, from);
  return close < 0 ? undefined : text.slice(from, close).trim();
}

/** The words among the fields of an object: its feedback, or every text below its answers. */
function wordsInJson(result: string): string {
  let parsed: unknown;
  try {
    parsed = JSON.parse(result.slice(0, 64_000));
  } catch {
    return "";
  }
  if (typeof parsed !== "object" || parsed === null) return "";
  const fields = parsed as Readonly<Record<string, unknown>>; // an object, checked above
  const said = fields["feedback"] ?? fields["answers"] ?? fields["answer"] ?? fields["response"] ?? fields["message"];
  return textsIn(said, 4).join("\n").slice(0, maxWords);
}

function textsIn(value: unknown, depth: number): string[] {
  if (typeof value === "string") return [value];
  if (typeof value !== "object" || value === null || depth === 0) return [];
  return Object.values(value).flatMap((each) => textsIn(each, depth - 1));
}
