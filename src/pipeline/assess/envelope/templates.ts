/**
 * Templates into which agents and frameworks set an ask: an issue frame, a question behind its context, a section of a
 * prompt, rules for the answer behind it.
 */

import { holdsFence } from "./blocks.ts";

/** Sentences and headings from which on a message is the agent's instructions. */
const instructionsBehind =
  /\n(?:-{3} ?Content from (?:referenced|attached) files ?-{3}|#{1,4} *\*?(?:SEARCH\/REPLACE|File editing rules|Reminder: Instructions|TODO LIST|Recommended Workflow|Command Execution|(?:Response|Output|Answer|Reply) (?:format|rules|instructions)|Format(?:ting)? (?:rules|instructions)|Tool (?:use|usage)|Submission|Important (?:notes|rules|boundaries)|Instructions?|Rules|Guidelines)\b|To suggest changes to a file you MUST|This is the expected criteria for your final answer\b|You can execute bash commands\b|Provide a concise response based (?:only )?on the content\b|You MUST use this \*file listing\*|-{3,}[ \t]*\n+\s*(?:\**(?:IMPORTANT|NOTE|RULES?|REMEMBER|INSTRUCTIONS?|SYSTEM)\b))/i;
/** What an issue frame begins with. */
const leadIn =
  /^\s*(?:(?:Please |Now )?(?:solve|fix|resolve|implement|address|complete|work on) (?:this|the following) (?:issue|task|problem|request|ticket)\s*:\s*|consider the following (?:PR description|pull request|issue|task|problem|request|ticket)\s*:\s*|(?:new|current) task:\s+|# \S{1,40}\.md instructions\b[^\n]*\n\s*|(?:This session is being continued from a previous|Another language model started to solve|The conversation history before this point was compacted)\b[^\n]*\n\s*)/i;
/** What stands before the ask where a session goes on that had grown too long; the ask stands in backticks. Once for each time that it had. */
const resumed = /^The previous session was interrupted\b[^\n`]{0,200}\brequest was: `([\s\S]+)`\s*$/;
const maxResumed = 20;

/** The heading in a summary of a conversation under which its task stands. */
const goal =
  /^#{1,3} (?:\d\. )?(?:Goal|Objective|Task(?: Overview| Description)?|(?:User |Primary )?Request(?: and Intent)?)[ \t]*\n+([\s\S]*?)(?=\n#{1,3} |$(?![\s\S]))/im;

/** The task of the conversation that a text sums up; undefined where it names none. */
export function taskInSummary(text: string): string | undefined {
  const task = goal.exec(text)?.[1]?.trim();
  return task === "" ? undefined : task;
}

/** A text that is given between two lines, labelled, in front of what is asked about it. */
const givenText =
  /^\s*(?:[A-Z][\w-]{0,20} ){0,2}(?:[Cc]ontents?|[Pp]age|[Dd]ocument|[Aa]rticle|[Tt]ranscript|[Ff]ile|[Tt]ext)(?: [^\n:]{0,80})?:[ \t]*\n(-{3,}|={3,})[ \t]*\n/;

/** The task in a fence, of a prompt that tells the model how to plan it. */
const givenTask = /\b[Hh]ere is your task:[ \t]*\n(`{3,})\n([\s\S]*?)\n\1/;

/** The ask behind a text that is given in front of it; undefined where there is none. */
export function behindGivenText(text: string): string | undefined {
  // Sought natively first: nearly no text says it.
  const task = text.includes("ere is your task:") ? givenTask.exec(text)?.[2] : undefined;
  if (task !== undefined && task.trim() !== "") return task;
  const given = givenText.exec(text);
  if (given === null) return undefined;
  const end = text.indexOf(`\n${given[1]}\n`, given[0].length);
  const behind = end < 0 ? "" : text.slice(end + (given[1] ?? "").length + 2);
  return behind.trim() === "" ? undefined : behind;
}

/** The ask without the frame's first words and without the instructions behind it. */
export function withoutFrame(text: string): string {
  if (text.startsWith("The previous session")) return withoutResumptions(text);
  const lead = leadIn.exec(text)?.[0].length ?? 0;
  const behind = instructionsBehind.exec(text);
  return behind === null || behind.index < lead ? text.slice(lead) : text.slice(lead, behind.index);
}

function withoutResumptions(text: string): string {
  let ask = text;
  for (let times = 0; times < maxResumed; times++) {
    const inner = resumed.exec(ask)?.[1];
    if (inner === undefined) break;
    ask = inner;
  }
  return ask;
}

const firstLabel = /^(?:(?:User(?:'s)? )?(?:Question|Query|Request|Input|Message)|Your task)[ \t]*:[ \t]*/i;
/** The same in a later line. Three times as fast as `^`, which is tried at every character. */
const laterLabel =
  /[\n\r\u2028\u2029](?:(?:User(?:'s)? )?(?:Question|Query|Request|Input|Message)|Your task)[ \t]*:[ \t]*/gi;
/** What a template ends with, so that the model goes on from there. */
const answerLabel = /\n(?:Thought|(?:Helpful |Final |Refined )?Answer|Assistant|Response|AI|Output)[ \t]*:\s*$/i;
/** What says that the text around the question is a template. */
const templateSign =
  /\b(?:following (?:pieces of )?(?:context|documents?|information|passages?|questions?|tools|format)|context (?:below|above|provided|information)|access to the following)\b|^(?:Context|Documents?|Sources?|Begin!)[ \t]*:?[ \t]*$|^(?:Context|(?:Conversation|Chat|History|Chat history)(?: so far)?)[ \t]*:/im;

/** A question whose answer is to be improved with more context. */
const refined = /^The original (?:query|question|request) is(?: as follows)?: ?([^\n]{1,2000})\n[\s\S]*\bAnswer:\s*$/;

/** The question of a ReAct or retrieval template; undefined where the text is none. */
export function questionIn(text: string): string | undefined {
  if (text.startsWith("The original ")) return refined.exec(text)?.[1];
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

const heading =
  /^(?:#{1,4}[ \t]+([^\n]{1,60})|\*\*([^*\n]{1,60})\*\*:?|\[\[ ## (\w{1,60}) ## \]\]|={3,} ([^=\n]{1,60}) ={3,})[ \t]*$/gm;
const requestTitle =
  /^(?:the |your |my )?(?:current |github )?(?:user(?:'s)? )?(?:(?:current|latest|original|new) )?(?:request|task|ask|question|query|instructions? from the user|issue|prompt|message|problem (?:statement|description)|goal|objective|instruction|user input|original requirements)\b[^a-z]*$|^user(?:'s)? input\b[^a-z]*$/i;
const otherTitle =
  /\b(?:context|output|format|rules?|constraints|environment|background|files?|repository|history|guidelines|tools?|memory|notes|response|workspace|instructions|examples?|requirements|settings|capabilities|info|information|structure|state|screen)\b/i;
/** The same in front of a text alone on its line: `Task Description:`, `[Problem statement]:`; or of a line: `OBJECTIVE: …`. */
const taskLabels = String.raw`(?:user_(?:request|query|message|prompt|task):[ \t]*\|?[ \t]*\n|\[?(?:(?:User|Current|Your) (?:[Tt]ask|[Rr]equest|[Pp]rompt|[Ii]nput|[Qq]uery)|(?:Task|Problem|Issue) (?:[Dd]escription|[Ss]tatement))\]?:|(?:OBJECTIVE|TASK|GOAL|USER REQUEST|INSTRUCTION|PROBLEM STATEMENT):)[ \t]*`;
/** At the beginning of the text, and in a later line: a pattern that begins with a line end is tried nowhere else. */
const firstTaskLabel = new RegExp(String.raw`^(?:\n(?:Body|Description):[ \t]*\n|\n?${taskLabels})`);
const laterTaskLabel = new RegExp(String.raw`\n(?:(?:Body|Description):[ \t]*\n|${taskLabels})`);
const capitalLabel = /(?:OBJECTIVE|TASK|GOAL|USER REQUEST|INSTRUCTION|PROBLEM STATEMENT): /;
/** The next label behind it. */
const nextLabel = /\n(?:\[?[A-Z][\w ]{2,40}\]?:[ \t]*(?:\n|$)|[A-Z][A-Z _]{3,40}:|[a-z_]{3,30}:[ \t]*(?:\n|\|))/;
/** The sentence that announces the text of an issue. */
const announced = /^[^\n]{0,200}\bhere's the (?:issue|task|problem)(?: text| description| statement)?:[ \t]*\n/i;
/** What a program writes in front of the files, selections and pages that it adds behind an ask. */
const contextLabel =
  /\n(?:-{3,}[ \t]*\n+)?(?:[A-Z][a-z]+ )?(?:[Cc]ontext|CONTEXT|[Ss]elections?|SELECTIONS?|[Aa]ttachments?|ATTACHMENTS?|[Aa]ttached files|[Oo]pen files)[ \t]*:[ \t]*\n/;

/** The task behind a label, of a text in which other labels stand as well; undefined where none says which one it is. */
export function labelledTaskIn(text: string): string | undefined {
  if (!text.includes(":\n") && !capitalLabel.test(text)) return undefined;
  const label = firstTaskLabel.exec(text) ?? laterTaskLabel.exec(text);
  if (label === null) return undefined;
  const task = text.slice(label.index + label[0].length);
  const next = nextLabel.exec(task);
  // One label alone may be the user's own.
  if (next === null && label.index === 0) return undefined;
  const own = (next === null ? task : task.slice(0, next.index)).trimStart().replace(announced, "").trim();
  return own === "" ? undefined : own;
}

/** The ask in front of what a program has added behind it under a label; undefined where there is none. */
export function beforeContext(text: string): string | undefined {
  if (!holdsFence(text) || !text.includes(":\n")) return undefined;
  const label = contextLabel.exec(text);
  if (label === null || !text.includes("```", label.index)) return undefined;
  const ask = text.slice(0, label.index);
  return ask.trim() === "" || ask.includes("```") ? undefined : ask;
}

/** What the fields end with in the messages of DSPy. */
const fieldsEnd =
  /\n+Respond with (?:the corresponding output fields|a JSON object in the following order of fields)\b/;

/** The section that holds the ask, of a message made of sections; undefined where no heading says which one does. */
export function requestSectionIn(text: string): string | undefined {
  const mayHold = text.includes("#") || (text.includes("*") && text.includes("**")) || text.startsWith("===");
  if (!mayHold) return undefined;
  let start: number | undefined;
  let end = text.length;
  let others = 0;
  for (const match of text.matchAll(heading)) {
    const title = (match[1] ?? match[2] ?? match[3] ?? match[4] ?? "").trim();
    if (start === undefined && requestTitle.test(title)) start = match.index + match[0].length;
    else if (otherTitle.test(title) || (match[3] !== undefined && start !== undefined)) {
      others += 1;
      if (start !== undefined) {
        end = match.index;
        break;
      }
    }
  }
  if (start === undefined) return undefined;
  const section = text.slice(start, end);
  const fenced = /^\s*(`{3,})\w{0,20}\n([\s\S]*?)\n\1/.exec(section)?.[2];
  if (fenced !== undefined && others === 0) return fenced;
  const fields = section.search(fieldsEnd);
  if (fields > 0) return section.slice(0, fields).trim();
  return others === 0 ? undefined : withoutClosingSigns(section).trim();
}

/** Without the signs of a heading that a section ends with, in time linear in them. */
function withoutClosingSigns(section: string): string {
  let end = section.length;
  while (end > 0 && "# \n\t\r".includes(section[end - 1] ?? "x")) end--;
  return section.slice(0, end);
}

/**
 * A message that a program has packed into an object: `{"type": "user_message", "message": "…"}`, or a sign of its own, such as
 * `{"type": "heartbeat", …}`.
 */
export interface JsonMessage {
  readonly by: "user" | "program";
  readonly text: string;
}

/** The beginning by which such an object is known; other JSON is what somebody has pasted. */
const typed = /^\{\s*"(?:type|role|event)"\s*:\s*"([a-z_]{2,40})"/;
const ofUser = /^user(?:_(?:message|input|query|request|prompt))?$|^human(?:_message)?$/;
const ofProgram = /^(?:heartbeat|login|timer|tick|system(?:_[a-z_]+)?|notification|reminder|event|agent_event)$/;

export function messageInJson(text: string): JsonMessage | undefined {
  if (!text.startsWith("{")) return undefined;
  const type = typed.exec(text.slice(0, 80))?.[1];
  if (type === undefined) return undefined;
  if (ofProgram.test(type)) return { by: "program", text: "" };
  if (!ofUser.test(type)) return undefined;
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    return undefined;
  }
  const fields = parsed as Readonly<Record<string, unknown>>; // begins as an object, as matched above
  const said = fields["message"] ?? fields["content"] ?? fields["text"];
  return typeof said === "string" ? { by: "user", text: said } : undefined;
}
