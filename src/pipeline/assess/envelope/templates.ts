/**
 * Templates into which agents and frameworks set an ask: an issue frame, a question behind its context, a section of a
 * prompt, rules for the answer behind it.
 */

/** Sentences and headings from which on a message is the agent's instructions. */
const instructionsBehind =
  /\n(?:#{1,4} *\*?(?:SEARCH\/REPLACE|Reminder: Instructions|TODO LIST|Recommended Workflow|Command Execution|(?:Response|Output|Answer|Reply) (?:format|rules|instructions)|Format(?:ting)? (?:rules|instructions)|Tool (?:use|usage)|Submission|Important (?:notes|rules|boundaries)|Instructions?|Rules|Guidelines)\b|To suggest changes to a file you MUST|This is the expected criteria for your final answer\b|You can execute bash commands\b|Provide a concise response based (?:only )?on the content\b|You MUST use this \*file listing\*|-{3,}[ \t]*\n+\s*(?:\**(?:IMPORTANT|NOTE|RULES?|REMEMBER|INSTRUCTIONS?|SYSTEM)\b))/i;
/** What an issue frame begins with. */
const leadIn =
  /^\s*(?:(?:Please |Now )?(?:solve|fix|resolve|implement|address|complete|work on) (?:this|the following) (?:issue|task|problem|request|ticket)\s*:\s*|(?:new|current) task:\s+|# \S{1,40}\.md instructions\b[^\n]*\n\s*|(?:This session is being continued from a previous|Another language model started to solve|The conversation history before this point was compacted)\b[^\n]*\n\s*)/i;
/** What stands before the ask where a session goes on that had grown too long; the ask stands in backticks. */
const resumed = /^The previous session was interrupted\b[^\n]{0,200}\brequest was: `([\s\S]+)`\s*$/;

/** A text that is given between two lines, labelled, in front of what is asked about it. */
const givenText =
  /^\s*(?:[A-Z][\w-]{0,20} ){0,2}(?:[Cc]ontents?|[Pp]age|[Dd]ocument|[Aa]rticle|[Tt]ranscript|[Ff]ile|[Tt]ext)(?: [^\n:]{0,80})?:[ \t]*\n(-{3,}|={3,})[ \t]*\n/;

/** The ask behind a text that is given in front of it; undefined where there is none. */
export function behindGivenText(text: string): string | undefined {
  const given = givenText.exec(text);
  if (given === null) return undefined;
  const end = text.indexOf(`\n${given[1]}\n`, given[0].length);
  const behind = end < 0 ? "" : text.slice(end + (given[1] ?? "").length + 2);
  return behind.trim() === "" ? undefined : behind;
}

/** The ask without the frame's first words and without the instructions behind it. */
export function withoutFrame(text: string): string {
  if (text.startsWith("The previous session")) return resumed.exec(text)?.[1] ?? text;
  const lead = leadIn.exec(text)?.[0].length ?? 0;
  const behind = instructionsBehind.exec(text);
  return behind === null || behind.index < lead ? text.slice(lead) : text.slice(lead, behind.index);
}

const firstLabel = /^(?:User(?:'s)? )?(?:Question|Query|Request|Input|Message)[ \t]*:[ \t]*/i;
/** The same in a later line. Three times as fast as `^`, which is tried at every character. */
const laterLabel = /[\n\r\u2028\u2029](?:User(?:'s)? )?(?:Question|Query|Request|Input|Message)[ \t]*:[ \t]*/gi;
/** What a template ends with, so that the model goes on from there. */
const answerLabel = /\n(?:Thought|(?:Helpful |Final )?Answer|Assistant|Response|AI|Output)[ \t]*:\s*$/i;
/** What says that the text around the question is a template. */
const templateSign =
  /\b(?:following (?:pieces of )?(?:context|documents?|information|passages?|questions?|tools|format)|context (?:below|above|provided|information)|access to the following)\b|^(?:Context|Documents?|Sources?|Begin!)[ \t]*:?[ \t]*$|^Context[ \t]*:/im;

/** The question of a ReAct or retrieval template; undefined where the text is none. */
export function questionIn(text: string): string | undefined {
  // Most asks hold no label at all, and looking for a colon costs nothing beside the patterns.
  if (!text.includes(":")) return undefined;
  // Most texts have no such label, and then no other pattern is tried.
  const first = questionLabelIn(text, 0);
  if (first === undefined) return undefined;
  // In ReAct's template the question's label stands in the description of the format as well.
  const sign = text.indexOf("Begin!") >= 0 ? /Begin!/.exec(text) : templateSign.exec(text);
  const label = sign === null ? first : questionLabelIn(text, sign.index);
  if (label === undefined) return undefined;
  const question = text.slice(label.end);
  const answer = answerLabel.exec(question);
  if (sign === null && (answer === null || label.start === 0)) return undefined;
  return (answer === null ? question : question.slice(0, answer.index)).trim();
}

/** The first label that begins a line at or behind a place. */
function questionLabelIn(text: string, from: number): { readonly start: number; readonly end: number } | undefined {
  const first = from === 0 ? firstLabel.exec(text) : null;
  if (first !== null) return { start: 0, end: first[0].length };
  laterLabel.lastIndex = Math.max(0, from - 1);
  const later = laterLabel.exec(text);
  return later === null ? undefined : { start: later.index + 1, end: laterLabel.lastIndex };
}

const heading = /^(?:#{1,4}[ \t]+([^\n]{1,60})|\*\*([^*\n]{1,60})\*\*:?)[ \t]*$/gm;
const requestTitle =
  /^(?:the |your |my |current )?(?:user(?:'s)? )?(?:request|task|ask|question|query|instructions? from the user|issue|prompt|message|problem statement|goal)\b[^a-z]*$/i;
const otherTitle =
  /\b(?:context|output|format|rules?|constraints|environment|background|files?|repository|history|guidelines|tools?|memory|notes|response|workspace|instructions|examples?|requirements|settings|capabilities)\b/i;

/** The section that holds the ask, of a message made of sections; undefined where no heading says which one does. */
export function requestSectionIn(text: string): string | undefined {
  if (!text.includes("#") && !text.includes("**")) return undefined;
  let start: number | undefined;
  let end = text.length;
  let others = 0;
  for (const match of text.matchAll(heading)) {
    const title = (match[1] ?? match[2] ?? "").trim();
    if (start === undefined && requestTitle.test(title)) start = match.index + match[0].length;
    else if (otherTitle.test(title)) {
      others += 1;
      if (start !== undefined) {
        end = match.index;
        break;
      }
    }
  }
  return start === undefined || others === 0 ? undefined : text.slice(start, end).trim();
}
