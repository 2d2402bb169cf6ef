import { type ChatMessage, isObject, type Json } from "#domain/chat.ts";
import { pythonLiteralAt, pythonLiteralIn } from "#pipeline/assess/run-signals/calls/python-literal.ts";
import { withoutLeadingFields } from "./blocks.ts";
import { messageInJson } from "./templates.ts";
import { textOf } from "./text-window.ts";

/**
 * Turns that the harness writes in the user's role: the result of a tool call that the model wrote in its
 * text, or a note that the model shall continue. They continue the task; they are no new ask.
 */
export type HarnessTurn =
  | {
      readonly kind: "result";
      /** Name of the tool, where the turn says it. */
      readonly tool: string | undefined;
      /** The command that was run, where the turn says it. */
      readonly command?: string | undefined;
      /** The result without the line that says whose it is. */
      readonly text: string;
    }
  | { readonly kind: "note" };

/** Cline and Roo Code: `[execute_command for 'npm test'] Result:`. */
const bracketedResult = /^\s*\[([a-z_]{2,40})(?: for [^\n]{0,400}| completed)?\] (?:Result:\s*|(?=Error:))/;
/** mini-SWE-agent, SWE-agent, OpenHands, ReAct and others: a label or a tag in front of what a command printed. */
const labelledResult = new RegExp(
  [
    String.raw`^\s*(?:(?:Observation|OBSERVATION)(?: (?:from|\d)[^\n:]{0,80}| ?[([][^\n:]{0,80})?:[ \t]*\n?|(?:EXECUTION RESULT|Execution (?:result|output)|(?:Here (?:is|are) )?(?:[Tt]he )?(?:(?:[Nn]ew|[Ll]atest|[Cc]urrent|[Uu]pdated) )?(?:[Tt]ool|[Ff]unction|[Cc]ommand|[Cc]ode|[Ss]cript|[Ss]hell|[Tt]erminal|[Cc]onsole|[Pp]rogram)(?: call)? (?:[Rr]esult|[Oo]utput|[Rr]esponse|[Ss]creen)s?|Output of (?:the )?command|Result of (?:the )?(?:command|tool)|Ran (?:the )?command|I ran (?:this|the) command|Your code printed|STDOUT|STDERR|[Ss]td(?:out|err))\b[^\n:]{0,200}:[ \t]*\n?`,
    String.raw`(?:(?:The|Your) (?:command|script|code|tool|function|program)(?: call)?|(?:Tool|Function|Command) ['"\x60]\w{1,60}['"\x60]) (?:returned|printed|produced|responded with|gave)\b[^\n:]{0,40}:[ \t]*\n`,
    String.raw`\[ ?(?:TOOL|FUNCTION|COMMAND|EXECUTION|SHELL)[ _-](?:RESULTS?|OUTPUT|RESPONSE)\b[^\]\n]{0,100}\]|Command \S{1,60} (?:returned|printed|failed with)\b[^\n:]{0,40}:[ \t]*\n?`,
    String.raw`(?:Step|Command|Process|Job|Script|Run|Execution)\b[^\n]{0,60}\bexit(?:ed)? (?:with )?(?:code|status):? -?\d+\b|[Ee]xit ?code: -?\d+\b|The script ran(?:, then exited with an error \(| but produced no output to console\b)|Call id: \S+\n+Error:|Error:\nError in \w+ (?:parsing|execution)|The last command <command>|Executed code block\b|# Fix any errors below\b|(?:Your |The )command ran successfully and did not produce any output\b)`,
  ].join("|"),
);
/** Aider, of a command that its user or itself has run. */
const ranCommand = /^\s*I ran (?:this|the) command:\s*\n([^\n]{1,600})\n+And got this output:[ \t]*\n/;
/** gptme, of a command that the model has written; it shows only the beginning of one of several lines. */
const ranInBackticks = /^\s*Ran (?:[a-z]+ )?command: `([^\n]{1,600}?)(\.{3} \(\d+ lines\))?`[ \t]*(?:\n|$)/;
const taggedResult =
  /^\s*<(?:returncode|exit_?code|output|observation|stdout|stderr|[a-z]{2,20}(?:[_-][a-z]{2,20})?[_-](?:results?|response|output|observation|notification|errors?|diagnostics))\b[^<>]{0,200}>/i;
/** A message of the harness to the model: a call or an edit it could not read, a reminder, a resumption. */
const note = new RegExp(
  [
    String.raw`^\s*(?:\[(?:ERROR\] You did not use a tool|Request interrupted by user|TASK RESUMPTION\])|Tool call error\b|Please always provide EXACTLY\b|Continue if you have next steps\b|Error: \S{1,80} is not a valid tool\b|Your (?:last )?(?:response|output|message) (?:was not|did not|does not|could not|contained no)\b|(?:No|I did not see a|Missing) tool calls?\b|You (?:did not|didn't) (?:use|call|provide)\b|Format your (?:action|response)\b|Format error\b[^\n]{0,40}:|(?:\w{3,20}) hook (?:feedback|error|blocking error|additional context)\b[^\n]{0,80}:|Invalid (?:JSON|arguments|parameters) (?:in|for|to) (?:the )?(?:tool|function)\b`,
    String.raw`(?:Please |Now )?(?:continue|proceed) (?:working )?(?:on|with|and carry out) (?:the task|whatever|this plan|the plan)\b|(?:\[system\]|\(system\)|system:)\s*(?:please )?(?:continue|proceed|resume|keep going)\b|@\w{1,40} continue: "`,
    String.raw`(?:please )?(?:continue|proceed|resume)(?: working)?(?: on| with)? (?:your (?:prior|previous|last) (?:response|answer|output|message)\b|whatever\b|(?:the|this|your) (?:plan|task|work) (?:according to|as per|following) your instructions\b)`,
    String.raw`(?:(?:your|the) )?(?:last|previous|prior) (?:response|answer|output|message|reply) (?:was|is|did|had|has|contained|could)\b[^\n]{0,60}\b(?:pars\w+|invalid|valid|format|schema|JSON|tool calls?|function calls?|truncated|cut off|empty)\b`,
    String.raw`(?:correct|fix) your (?:(?:last|previous) )?(?:JSON|response|answer|output)\b[^\n]{0,60}\berrors?\b[^\n]{0,20}:[ \t]*\n`,
    String.raw`USER_CONTEXT:[ \t]|What did we do so far\?\s*(?:$|<environment_details>)|You (?:have|still have) (?:pending|unfinished|incomplete|open) (?:todos?|todo items|tasks)\b[^\n]{0,80}\bbefore (?:you )?finish|You appear to be stuck in a \w{0,12} ?loop, having made \d|\*{0,2}Current task list:\*{0,2}[ \t]*\n+- \[(?:DONE|IN_PROGRESS|PENDING|CANCELLED)\]|Analy[sz]e the tool result\. If requirements are met\b`,
    String.raw`validation (?:error|feedback|failure)s?\b[^\n]{0,40}:[ \t]*\n(?=[\s\S]{0,700}\b(?:try again|recall the (?:function|tool)|(?:respond|answer|reply) again|fix the errors?)\b)`,
    String.raw`\[(?:system|automated|automatic|harness)(?:[ _-](?:notice|note|message|reminder|warning|notification|event|alert))?(?:\]|: )(?=\s*[A-Z])(?!\s*[^\n]*\?\s*$)`,
    String.raw`You(?: have|'ve) (?:only )?\d+ (?:more )?(?:turns?|steps?|iterations?|attempts?|tool calls?) (?:left|remaining)\b|You have(?: not|n't) (?:yet )?(?:submitted|called|used)\b`,
    String.raw`# \d+ SEARCH/REPLACE blocks? failed to match\b|The LLM did not conform to the edit format\b|Determine (?:exactly one|which|the next)\b[^\n]{0,40}\b(?:command|action|tool|ability) to (?:use|take|run) next\b)`,
  ].join("|"),
  "i",
);

/** What CrewAI puts in the place of a conversation that had grown too long. */
const goesOnBehindSummary = /<\/summary>\s*(?:Please )?continue the (?:task|work|conversation) from where\b/i;

/** What the harness says in a message of the user's role; undefined for the user's own words. */
export function harnessTurnIn(text: string): HarnessTurn | undefined {
  const head = withoutLeadingFields(text.slice(0, 800));
  if (text.startsWith("<summary>") && goesOnBehindSummary.test(text.slice(-400))) return { kind: "note" };
  if (note.test(head) || messageInJson(head)?.by === "program") return { kind: "note" };
  const bracketed = bracketedResult.exec(head);
  // What the user says to a finished task is a new ask.
  if (bracketed?.[1] === "attempt_completion" && text.includes("<feedback>")) return undefined;
  if (bracketed !== null) return { kind: "result", tool: bracketed[1], text: text.slice(bracketed[0].length) };
  const ran = ranCommand.exec(head);
  if (ran !== null) return { kind: "result", tool: undefined, command: ran[1], text: text.slice(ran[0].length) };
  const shown = ranInBackticks.exec(head);
  if (shown !== null) {
    const command = shown[2] === undefined ? shown[1] : undefined;
    return { kind: "result", tool: undefined, command, text: text.slice(shown[0].length) };
  }
  const labelled = labelledResult.exec(head);
  // A label that does not end with its colon is itself the status and stays in the text, and so does one that says "Error:".
  if (labelled !== null) {
    const keeps = !/:[ \t]*\n?$/.test(labelled[0]) || labelled[0].includes("rror:");
    return { kind: "result", tool: undefined, text: keeps ? text : text.slice(labelled[0].length) };
  }
  return taggedResult.test(head) ? { kind: "result", tool: undefined, text } : undefined;
}

const fence =
  /```(?:bash|sh|shell|zsh|console|python|py|execute|tool_code|mswea_bash_command)?[ \t]*\n([\s\S]*?)\n?```/g;
const reactAction = /(?:^|\n)Action:\s*([\w.-]{1,60})\s*\n+Action Input:\s*([\s\S]{0,4000})/;
const callTag = /<(?:bash|shell|execute_bash|execute_command|run_command|command|code)>([\s\S]{0,6000}?)<\//;
/** `<function=name><parameter=key>value</parameter></function>` */
const functionTag = /<function=([\w.-]{1,60})>([\s\S]{0,6000})/;
const parameterTag = /<parameter=([\w.-]{1,60})>([\s\S]*?)<\/parameter>/g;
/** A call as JSON in a tag, which many open models are trained to write. */
const callInJson = /<tool_call>\s*\{\s*"name":\s*"([\w.-]{1,60})",\s*"arguments":\s*([\s\S]{0,6000})/;
/** What smolagents writes in front of the calls of a model, which it repeats as Python shows them. */
const listedCalls = "Calling tools:\n";
/** What a ReAct agent puts behind the call in the same message: what the tool gave back. */
const observed = "\nObservation:";

/**
 * An edit that a model has written in a fence. As Aider has it written: blocks to search and replace, a patch, or a whole file under
 * its name; as gptme does: the tool and the file behind the fence's signs.
 */
const editInFence =
  /^[`~]{3,}[^\n]{0,200}\n(?:[^\n`]{1,200}\n)?<{5,9} SEARCH\b|^[`~]{3,}diff[ \t]*\n--- |^[`~]{3,}(?:save|append|patch|morph)[ \t]+[^\s`][^\n`]{0,200}\n|^(?:\*{0,2}[`"]?)[\w@./\\-]{1,200}\.[A-Za-z0-9]{1,8}(?:[`"]?:?\*{0,2})[ \t]*\n[`~]{3,}/m;

/** Whether an assistant's text holds an edit that the harness makes. */
export function holdsEdit(text: string): boolean {
  return (text.includes("```") || text.includes("~~~")) && editInFence.test(text);
}

/** What stands behind a call that an assistant's message holds together with its result; undefined where there is none. */
export function resultBehindCall(text: string): string | undefined {
  const at = text.lastIndexOf(observed);
  return at < 0 || !text.includes("Action Input:") ? undefined : text.slice(at + observed.length).trimStart();
}

/** The tool call in an assistant's text: XML as Cline's prompts ask for, a fenced command, or ReAct's action. */
export function callInText(
  message: ChatMessage | undefined,
  tool: string | undefined,
): { readonly name: string; readonly args: string } {
  const text = message?.role === "assistant" ? textOf(message["content"]) : "";
  if (tool !== undefined) {
    const at = text.lastIndexOf(`<${tool}>`);
    return { name: tool, args: at < 0 ? "" : text.slice(at, at + 2_000) };
  }
  const action = text.includes("Action Input:") ? reactAction.exec(text) : null;
  if (action !== null) {
    const [input = ""] = (action[2] ?? "").split(observed);
    return { name: action[1] ?? "", args: inputOf(input) };
  }
  const listed = text.includes(listedCalls) ? lastListedCall(text) : undefined;
  if (listed !== undefined) return listed;
  if (text.includes("<")) {
    const written = functionTag.exec(text);
    if (written !== null) return { name: written[1] ?? "", args: argumentsIn(written[2] ?? "") };
    const json = callInJson.exec(text);
    if (json !== null) return { name: json[1] ?? "", args: (json[2] ?? "").replace(/\}\s*<\/tool_call>[\s\S]*$/, "") };
    const tagged = callTag.exec(text);
    if (tagged !== null) return { name: "bash", args: tagged[1] ?? "" };
  }
  let command = "";
  if (text.includes("```")) for (const [, body = ""] of text.slice(-12_000).matchAll(fence)) command = body;
  return { name: "bash", args: command };
}

/** The parameters in tags as the JSON text that other agents send. */
function argumentsIn(text: string): string {
  const values = [...text.matchAll(parameterTag)].map(([, name = "", value = ""]) => [name, value.trim()]);
  return JSON.stringify(Object.fromEntries(values));
}

/** Arguments that a library shows as Python writes them, as the JSON text that others send. */
function inputOf(text: string): string {
  if (!text.startsWith("{") || !text.includes("'")) return text;
  const read = pythonLiteralIn(text);
  return isObject(read) ? JSON.stringify(read) : text;
}

/** The last call of such a list. A call with a text instead of named arguments is the code that an agent runs. */
function lastListedCall(text: string): { readonly name: string; readonly args: string } | undefined {
  const list = pythonLiteralAt(text, text.lastIndexOf(listedCalls) + listedCalls.length)?.value;
  const call = Array.isArray(list) ? list.at(-1) : undefined;
  const called = isObject(call) ? call["function"] : undefined;
  if (!isObject(called)) return undefined;
  const args: Json | undefined = called["arguments"];
  if (typeof args === "string") return { name: "bash", args };
  return { name: String(called["name"]), args: JSON.stringify(args ?? {}) };
}
