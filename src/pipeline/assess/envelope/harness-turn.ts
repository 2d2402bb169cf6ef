import type { ToolCall } from "#pipeline/assess/run-signals/tool-call.ts";

/**
 * Turns that the harness writes in the user's role: the result of a tool call that the model wrote in its text, or a note that the
 * model shall continue. They continue the task; they are no new ask.
 */
export type HarnessTurn = {
  readonly kind: "result" | "note";
  /** Name of the tool, and the command that was run, where the turn says it. */
  readonly tool?: string | undefined;
  readonly command?: string | undefined;
  /** The result without the line that says whose it is. */
  readonly text: string;
};

/** `[execute_command for 'npm test'] Result:` */
const bracketedResult = /^\s*\[([a-z_]{2,40})(?: for [^\n]{0,400}| completed)?\] (?:Result:\s*|(?=Error:))/;
/** A block whose name says that it is what a tool gave back. */
const taggedResult =
  /^\s*[<[] ?(?:returncode|exit_?code|output|observation|std(?:out|err)|(?:[a-z]{2,20}[ _-])+(?:results?|response|output|observation|notification|errors?|diagnostics))\b[^<>\]]{0,200}[>\]]/i;
/** A label in front of what a command printed: `Observation:`, `Tool 'list_files' returned:`, `Here is the output of the command:`. */
const things = "(?:tool|function|command|code|script|shell|terminal|console|program|execution)";
const labelledResult = new RegExp(
  [
    String.raw`^\s*(?:observation(?: (?:from|\d)[^\n:]{0,80}| ?[([][^\n:]{0,80})?|std(?:out|err)|(?:(?:here (?:is|are) )?(?:the |your )?(?:new |latest |current |updated )?${things}(?: call)?(?: ['"\x60]?\w{1,60}['"\x60]?)? |(?:output|result) of (?:the )?${things}\b|(?:i )?ran (?:this|the) command)(?:results?|outputs?|responses?|screens?|returned|printed|produced|responded with|gave|failed with)?\b[^\n:]{0,100}):[ \t]*\n?`,
    String.raw`^\s*(?:(?:(?:step|command|process|job|script|run|execution)\b[^\n]{0,60}\bexit(?:ed)? (?:with )?(?:code|status):?|exit ?code:) -?\d|(?:your |the )?(?:last )?command (?:ran successfully|<command>)|executed code block\b|the script ran\b|# fix any errors below\b|call id: \S+\n+error:)`,
  ].join("|"),
  "i",
);
/** Aider, of a command that was run; gptme, of one that the model has written, of which it may show only the beginning. */
const ranCommand =
  /^\s*(?:I ran (?:this|the) command:\s*\n([^\n]{1,600})\n+And got this output:[ \t]*\n|Ran (?:[a-z]+ )?command: `([^\n]{1,600}?)(\.{3} \(\d+ lines\))?`[ \t]*(?:\n|$))/;
/** A message of the harness to the model: a call or an edit it could not read, a reminder, a resumption. */
const note = new RegExp(
  [
    String.raw`^\s*(?:\[(?:ERROR\] You did not|Request interrupted|TASK RESUMPTION|(?:system|automated|automatic|harness)\b[^\]\n]{0,40}\](?=\s*[A-Z])(?![^\n]*\?\s*$))`,
    String.raw`(?:please |now )?(?:continue|proceed|resume)\b(?: working)?(?: on| with| and carry out)? (?:if you have next steps|(?:the|this|your) (?:plan|task|work|(?:prior|previous|last) \w+)|whatever)\b|(?:\[system\]|\(system\)|system:)\s*(?:please )?(?:continue|proceed|resume|keep going)\b|@\w{1,40} continue: "`,
    String.raw`(?:(?:your|the) )?(?:last|previous|prior)? ?(?:response|output|answer|message|reply|tool call) (?:was|is|did|does|had|has|contained|could|error)\b[^\n]{0,60}\b(?:pars\w+|invalid|valid|format|schema|json|calls?|truncated|cut off|empty|not)\b|tool call error\b|(?:error: )?\S{1,80} is not a valid tool\b|(?:no|i did not see a|missing) tool calls?\b|you (?:did not|didn't|have not|haven't) (?:yet )?(?:use|call|provide|submit|called|used)|please always provide exactly\b|format your (?:action|response)\b|format error\b[^\n]{0,40}:|(?:invalid (?:json|arguments|parameters) (?:in|for|to) |(?:correct|fix) your (?:last |previous )?(?:json|response|answer|output)\b[^\n]{0,60}\berrors?\b)`,
    String.raw`validation (?:error|feedback|failure)s?\b[^\n]{0,40}:[ \t]*\n(?=[\s\S]{0,700}\b(?:try again|recall the|(?:respond|answer|reply) again|fix the errors?)\b)|\w{3,20} hook (?:feedback|error|blocking error|additional context)\b|user_context:[ \t]|this is the [^\n]{0,30}\bwe are setting up the context\b|what did we do so far\?\s*(?:$|<environment_details>)`,
    String.raw`you (?:have|still have) (?:pending|unfinished|incomplete|open|(?:only )?\d+ (?:more )?)\b|you appear to be stuck in a\b[^\n]{0,60}\bmade \d|\*{0,2}current task list:|analy[sz]e the tool result\.|determine (?:exactly one|which|the next)\b[^\n]{0,40}\b(?:command|action|tool)\b|# \d+ search\/replace blocks? failed\b|the llm did not conform\b|<summary>[\s\S]*<\/summary>\s*continue the task\b)`,
    String.raw`^\{\s*"(?:type|role|event)"\s*:\s*"(?:heartbeat|login|timer|tick|system\w*|notification|reminder|event|agent_event)"`,
  ].join("|"),
  "i",
);
const leadingFields = /^(?:\[[A-Z][\w ]{1,30}: [^\]\n]{1,200}\][ \t]*\n+)+/;

/** What the harness says in a message of the user's role; undefined for the user's own words. */
export function harnessTurnIn(text: string): HarnessTurn | undefined {
  const head = text.slice(0, 800).replace(leadingFields, "");
  const bracketed = bracketedResult.exec(head);
  // What the user says to a finished task is a new ask.
  if (bracketed?.[1] === "attempt_completion" && text.includes("<feedback>")) return undefined;
  if (bracketed !== null) return { kind: "result", tool: bracketed[1], text: text.slice(bracketed[0].length) };
  if (note.test(text.startsWith("<summary>") ? text.slice(0, 9) + text.slice(-400) : head))
    return { kind: "note", text };
  const ran = ranCommand.exec(head);
  if (ran !== null) {
    const command = ran[3] === undefined ? (ran[1] ?? ran[2]) : undefined;
    return { kind: "result", command, text: text.slice(ran[0].length) };
  }
  const labelled = labelledResult.exec(head)?.[0];
  // A label that does not end with its colon is itself the status and stays in the text.
  if (labelled !== undefined)
    return { kind: "result", text: /:[ \t]*\n?$/.test(labelled) ? text.slice(labelled.length) : text };
  return taggedResult.test(head) ? { kind: "result", text } : undefined;
}

const fence = /```(?:bash|sh|shell|zsh|console|python|py|execute|tool_code|\w{1,20}_command)?[ \t]*\n([\s\S]*?)\n?```/g;
const reactAction = /(?:^|\n)Action:\s*([\w.-]{1,60})\s*\n+Action Input:\s*([\s\S]{0,4000})/;
const shellTag = /<(?:bash|shell|execute_bash|run_command)\b[^<>]{0,100}>([\s\S]{0,6000}?)<\//;
/** `<function=name><parameter=key>value</parameter></function>`, and a call as JSON in a tag. */
const functionTag = /<(?:function=|invoke name=")([\w.-]{1,60})"?>([\s\S]{0,6000})/;
const callInJson =
  /<tool_call>\s*\{\s*"name":\s*"([\w.-]{1,60})",\s*"arguments":\s*([\s\S]{0,6000}?)\}\s*<\/tool_call>/;
/** A call whose tag is the name of its tool. */
const namedTag = /^<(?!think|thought|reason|plan|analysis)([a-z][a-z_]{1,40})>\s*[\s\S]{0,2000}/m;

/** The tool call in a model's text: XML, a fenced command, or ReAct's action. */
export function callInText(text: string): ToolCall | undefined {
  const action = text.includes("Action Input:") ? reactAction.exec(text) : null;
  if (action !== null) return { name: action[1] ?? "", args: (action[2] ?? "").trim() };
  const isTagged = text.includes("<");
  if (isTagged) {
    const written = functionTag.exec(text) ?? callInJson.exec(text);
    if (written !== null) {
      const args = (written[2] ?? "").replace(/<parameter(?:=| name=")(\w+)"?>([\s\S]*?)<\/parameter>/g, "<$1>$2</$1>");
      return { name: written[1] ?? "", args };
    }
    const shell = shellTag.exec(text)?.[1];
    if (shell !== undefined) return { name: "bash", args: shell };
  }
  const fenced = text.includes("```") ? [...text.matchAll(fence)].at(-1)?.[1] : undefined;
  if (fenced !== undefined) return { name: "bash", args: fenced };
  const named = isTagged ? namedTag.exec(text) : null;
  return named === null ? undefined : { name: named[1] ?? "", args: named[0] };
}

/** An edit that a model has written in a fence: blocks to search and replace, a patch, or a whole file under its name. */
const editInFence =
  /^[`~]{3,}[^\n]{0,200}\n(?:[^\n`]{1,200}\n)?<{5,9} SEARCH\b|^[`~]{3,}diff[ \t]*\n--- |^[`~]{3,}(?:save|append|patch|morph)[ \t]+[^\s`][^\n`]{0,200}\n|^(?:\*{0,2}[`"]?)[\w@./\\-]{1,200}\.[A-Za-z0-9]{1,8}(?:[`"]?:?\*{0,2})[ \t]*\n[`~]{3,}/m;

/** Whether an assistant's text holds an edit that the harness makes. */
export function holdsEdit(text: string): boolean {
  return (text.includes("```") || text.includes("~~~")) && editInFence.test(text);
}
