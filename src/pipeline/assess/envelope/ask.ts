import { withoutAttachedFences, withoutPatch, withoutSections, withoutTagBlocks } from "./blocks.ts";

/** Any of these has to stand in a text for anything in it to be an envelope. Most asks are plain sentences. */
const anyEnvelope = /[<`:]|\[[A-Z/]|^(?:#|={3}|-{3}|\*\*)|^diff --git |^You can |^To suggest /m;

/**
 * What the user typed, without the envelope that an agent or a framework put around it; empty when nothing in the text is the
 * user's. Linear in the text. Envelopes are recognized by their form.
 */
export function askIn(text: string): string {
  if (!anyEnvelope.test(text)) return text.trim();
  let ask = withoutSections(withoutTagBlocks(text)).replace(leadingFields, "");
  ask = questionIn(ask) ?? sectionIn(ask) ?? labelledTaskIn(ask) ?? ask;
  ask = withoutFrame(ask);
  const bare = withoutPatch(withoutAttachedFences(ask)).trim();
  return bare === "" && !ask.trimStart().startsWith("diff --git ") ? ask.trim() : bare;
}

/** Lines such as `[Model: x]` that a program has set in front of the ask. */
const leadingFields = /^(?:\[[A-Z][\w ]{1,30}: [^\]\n]{1,200}\][ \t]*\n+)+(?=\s*\S)/;

/** What a frame begins with: an order to work on what follows, in a form that only programs use. */
const leadIn =
  /^\s*(?:(?:(?:Please |Now )?(?:solve|fix|resolve|implement|address|complete|work on|consider) (?:this|the following)|new|current) (?:PR description|pull request|issue|task|problem|request|ticket)\s*:\s*|# \S{1,40}\.md instructions\b[^\n]*\n\s*|(?:This session is being continued from a previous|Another language model started to solve|The conversation history before this point was compacted)\b[^\n]*\n\s*|(?:The previous session was interrupted\b[^\n`]{0,200}\brequest was: `)+|[A-Z][\w ]{0,40}(?:contents?|page|document|article|transcript|file|text)(?: [^\n:]{0,80})?:[ \t]*\n-{3,}[ \t]*\n[\s\S]*\n-{3,}[ \t]*\n)/i;
/** Headings and sentences from which on a message is the program's instructions. */
const instructionsBehind =
  /\n(?:-{3} ?Content from\b|#{1,4} *\*?(?:SEARCH\/REPLACE|Reminder: |(?:(?:\w+ ){0,2}(?:rules|format|boundaries|instructions?|guidelines|submission)|(?:important|recommended|command|tool) (?:notes|workflow|execution|use|usage)|to-?do list)[: *]*\n)|To suggest changes to a file you MUST|This is the expected criteria\b|You can execute bash commands\b|Provide a concise response based\b|You MUST use this \*file listing|-{3,}[ \t]*\n+\s*(?:\**(?:IMPORTANT|NOTE|RULES?|REMEMBER|INSTRUCTIONS?|SYSTEM)\b)|(?:-{3,}[ \t]*\n+)?(?:[A-Z][a-z]+ )?(?:context|selections?|attachments?|attached files|open files)[ \t]*:[ \t]*\n)/i;

function withoutFrame(text: string): string {
  const lead = leadIn.exec(text)?.[0].length ?? 0;
  const own = text.slice(lead);
  const behind = instructionsBehind.exec(own)?.index ?? own.length;
  const ask = own.slice(0, behind);
  return lead > 0 && text.startsWith("The previous session")
    ? ask.replace(/`+\s*$/, "")
    : ask.trim() === ""
      ? own
      : ask;
}

const questionLabel = /(?:^|\n)(?:(?:User(?:'s)? )?(?:Question|Query|Request|Input|Message)|Your task)[ \t]*:[ \t]*/gi;
/** What a template ends with, so that the model goes on from there. */
const answerLabel = /\n(?:Thought|(?:Helpful |Final |Refined )?Answer|Assistant|Response|AI|Output)[ \t]*:\s*$/i;
/** What says that the text around the question is a template. */
const templateSign =
  /\bfollowing (?:pieces of )?(?:context|documents?|information|passages?|questions?|tools|format)\b|\bcontext (?:below|above|provided)\b|\baccess to the following\b|^(?:Context|Documents?|Sources?|Begin!|(?:Conversation|Chat|History|Chat history)(?: so far)?)[ \t]*:?[ \t]*$/im;

/** The question of a ReAct or retrieval template; undefined where the text is none. */
function questionIn(text: string): string | undefined {
  const labels = [...text.matchAll(questionLabel)];
  if (labels.length === 0) return undefined;
  // In ReAct's template the question's label stands in the description of the format as well.
  const sign = (/^Begin!/m.exec(text) ?? templateSign.exec(text))?.index;
  const label = labels.find(({ index }) => index >= (sign ?? 0)) ?? labels.at(-1);
  if (label === undefined) return undefined;
  const question = text.slice(label.index + label[0].length);
  const answer = answerLabel.exec(question)?.index;
  if (sign === undefined && (answer === undefined || label.index === 0)) return undefined;
  return question.slice(0, answer).trim();
}

const heading =
  /^(?:#{1,4}[ \t]+([^\n]{1,60})|\*\*([^*\n]{1,60})\*\*:?|\[\[ ## (\w{1,60}) ## \]\]|={3,} ([^=\n]{1,60}) ={3,})[ \t]*$/gm;
const requestTitle =
  /^(?:the |your |my )?(?:current |github |latest |original |new )?(?:user(?:'s)? )?(?:latest |current |original )?(?:request|task|ask|question|query|issue|prompt|message|problem (?:statement|description)|goal|objective|instruction|input|original requirements)\b[^a-z]*$/i;

const anyHeading = /^(?:#|\*\*|\[\[ ##|={3})/m;

/** The section that holds the ask, of a message made of sections; undefined where no heading says which one does. */
function sectionIn(text: string): string | undefined {
  if (!anyHeading.test(text)) return undefined;
  const headings = [...text.matchAll(heading)];
  const titles = headings.map((match) => (match[1] ?? match[2] ?? match[3] ?? match[4] ?? "").trim());
  const own = titles.findIndex((title) => requestTitle.test(title));
  const start = headings[own];
  if (start === undefined) return undefined;
  const section = text.slice(start.index + start[0].length, headings[own + 1]?.index);
  const fenced = /^\s*(`{3,})\w{0,20}\n([\s\S]*?)\n\1/.exec(section)?.[2];
  if (fenced !== undefined) return fenced;
  // One heading alone may be the user's own.
  if (headings.length === 1 && start[3] === undefined) return undefined;
  let end = section.search(/\nRespond with (?:the corresponding|a JSON object)\b/);
  if (end < 0) end = section.length;
  // Without the signs of a heading that a section ends with, in time linear in them.
  while (end > 0 && "# \n\t\r".includes(section[end - 1] ?? "x")) end--;
  return section.slice(0, end).trim();
}

/** A label that says that the task follows: `Task Description:`, `OBJECTIVE: …`, `user_request: |`. */
const taskLabel =
  /(?:^|\n)(?:(?:Body|Description):[ \t]*\n|user_(?:request|query|message|prompt|task):[ \t]*\|?[ \t]*\n|\[?(?:(?:User|Current|Your) (?:[Tt]ask|[Rr]equest|[Pp]rompt|[Ii]nput|[Qq]uery)|(?:Task|Problem|Issue) (?:[Dd]escription|[Ss]tatement))\]?:|(?:OBJECTIVE|TASK|GOAL|USER REQUEST|INSTRUCTION|PROBLEM STATEMENT):)[ \t]*/;
const nextLabel = /\n(?:\[?[A-Z][\w ]{2,40}\]?:[ \t]*(?:\n|$)|[A-Z][A-Z _]{3,40}:|[a-z_]{3,30}:[ \t]*(?:\n|\|))/;
/** The sentence that announces the text of an issue. */
const announced = /^[^\n]{0,200}\bhere's the (?:issue|task|problem)(?: text| description| statement)?:[ \t]*\n/i;

/** The task behind a label, of a text in which other labels stand as well; undefined where none says which one it is. */
export function labelledTaskIn(text: string): string | undefined {
  const label = text.includes(":") ? taskLabel.exec(text) : null;
  if (label === null) return undefined;
  const task = text.slice(label.index + label[0].length);
  const next = nextLabel.exec(task)?.index;
  // One label alone may be the user's own.
  if (next === undefined && label.index === 0) return undefined;
  const own = task.slice(0, next).trimStart().replace(announced, "").trim();
  return own === "" ? undefined : own;
}

/** The heading in a summary of a conversation under which its task stands. */
const goal =
  /^#{1,3} (?:\d\. )?(?:Goal|Objective|Task(?: Overview| Description)?|(?:User |Primary )?Request(?: and Intent)?)[ \t]*\n+([\s\S]*?)(?=\n#{1,3} |$(?![\s\S]))/im;

/** The task of the conversation that a text sums up; undefined where it names none. */
export function taskInSummary(text: string): string | undefined {
  return goal.exec(text)?.[1]?.trim() || undefined;
}

/** Words of which a message that only makes the agent go on consists: consent, and what was proposed before. */
const continuingWords = new Set(
  (
    "yes yep yeah ok okay sure fine please continue proceed go on ahead do it that this next keep going retry try again resume start " +
    "begin finish implement execute apply run make happen so looks look good great perfect excellent sounds lgtm approved agreed " +
    "correct right exactly i all both the your a an plan changes change step steps option one two three 1 2 3 first second third " +
    "now and then with from where you we left off stopped let's lets as is proposed suggested described weiter ja mach machen bitte " +
    "gerne genau passt gut leg los so setz um den plan umsetzen oui continue continuez vas-y allez d'accord parfait fais-le y le ça " +
    "sí si sigue continúa adelante dale vale perfecto hazlo sim prossiga pode seguir faça isso perfeito sì procedi va bene ga door " +
    "prima tak dalej dobrze да давай делай продолжай продолжайте дальше хорошо devam et evet tamam"
  ).split(" "),
);
const continuingPhrase =
  /^(?:(?:继续|接着|好的?|可以|是的?|没问题|开始吧?|做吧|请|按计划|続けて|はい|お願いします|進めて|ください|계속|네|좋아요?|진행|해|주세요|해줘|해주세요)[\s,.!。，！、]*){1,6}$/;

/** Whether an ask only says to continue what was asked before. */
export function isContinuePrompt(ask: string): boolean {
  if (ask.length > 80 || ask.includes("?")) return false;
  if (continuingPhrase.test(ask)) return true;
  const words = ask.toLowerCase().match(/[\p{L}\p{N}][\p{L}\p{N}'’-]*/gu) ?? [];
  return words.length > 0 && words.length <= 12 && words.every((word) => continuingWords.has(word.replace("’", "'")));
}

/** The inline marker that forces the pro tier; letter case and blanks inside the brackets do not matter. */
const marker = /\[ *reasoning *: *high *\]/i;

/** Whether a text the caller has written (an instruction, the newest user message) carries `[reasoning:high]`. */
export function asksForHighReasoning(text: string): boolean {
  return text.includes("[") && marker.test(text);
}

/** What is left to be said of the conversation behind the sentence that names it; other words make it a part of the user's work. */
const whole = String.raw`(?:this|the|our|your)(?: \w+){0,2} (?:conversation|session|chat|history|dialogue|discussion)(?=\s*(?:[.,:;!()<\n-]|so far|above|to date|until|up to|below|and|in order|into|provided|$))`;
const compaction = new RegExp(
  [
    String.raw`\b(?:create|write|provide|generate|produce|give)\b[^.\n]{0,60}\b(?:summary|handoff|recap|snapshot)\b[^.\n]{0,20}\b(?:of|for) ${whole}`,
    String.raw`\b(?:create|write|provide|generate|produce)\b[^.\n]{0,60}\b(?:summary|handoff|prompt)\b[^.\n]{0,60}\b(?:(?:another|the next|a new) (?:LLM|model|agent|assistant|session|conversation)|continu\w+ (?:our|the|this) (?:conversation|session|work))\b`,
    String.raw`^\s*(?:please )?(?:summari[sz]e|compact|condense) ${whole}|^\s*(?:please )?summari[sz]e (?:the |all )?(?:key |main )?(?:takeaways?|points|progress|findings|results?)(?: so far)? (?:from|of|in) ${whole}`,
    String.raw`^\s*You have been tasked with (?:summari[sz]ing|compacting)|^\s*The following is a conversation history to be|<state_snapshot>|\bcheckpoint\b[^.\n]{0,30}\b(?:history|conversation|context) (?:is|gets|will be) |^\s*The messages above\b[^\n]{0,120}\bsummari[sz]e them\b|\b(?:extend|update|refine) the (?:\w+ )?summary\b`,
  ].join("|"),
  "im",
);

/** Whether a message asks to compact the conversation that it ends; where that is long, this is work for the model that has it in its cache. */
export function isCompactionRequest(text: string): boolean {
  return compaction.test(text.slice(0, 800));
}
