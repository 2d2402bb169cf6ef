/**
 * Coding agents wrap what their user typed: reminders, environment blocks, open files, rules for the answer's format.
 * What is left here is the ask itself. Wrappers are those that Claude Code, Cline, Roo Code, opencode, Cursor, Copilot,
 * Codex, OpenHands, Continue and Aider are known to send.
 */

/** Blocks that hold the ask: where one is present, what stands outside is not the user's. */
const askTags: ReadonlySet<string> = new Set([
  "task",
  "user_query",
  "user_message",
  "userrequest",
  "user_request",
  "user_input",
  "feedback",
  "issue_description",
  "pr_description",
]);

/** Blocks that the harness adds. */
const noiseTags: ReadonlySet<string> = new Set([
  "system-reminder",
  "system_reminder",
  "environment_details",
  "environment_context",
  "environment_info",
  "env",
  "user_instructions",
  "instructions",
  "user_info",
  "workspace_info",
  "workspace",
  "project_layout",
  "git_status",
  "attachments",
  "attached_files",
  "attachment",
  "context",
  "additional_data",
  "editorcontext",
  "repocontext",
  "reminderinstructions",
  "reminder",
  "file",
  "files",
  "file_content",
  "folder_content",
  "uploaded_files",
  "open_and_recently_viewed_files",
  "local-command-stdout",
  "local-command-caveat",
  "command-name",
  "command-message",
  "command-args",
  "bash-input",
  "bash-stdout",
  "bash-stderr",
  "runtime_information",
  "repository_instructions",
  "info-msg",
  "slash_command",
]);

/** Lines from which on a message is the harness's reminder of its answer format, not the user's. */
const trailers = ["\n# *SEARCH/REPLACE block* Rules", "\n# Reminder: Instructions for Tool Use", "\n# TODO LIST"];

const openTag = /<([A-Za-z][\w-]{1,40})(?:\s[^<>]{0,400})?>/g;

/** The ask without what harnesses wrap around it; empty when nothing in the text is the user's. Linear in the text. */
export function withoutHarness(text: string): string {
  let ask = text;
  for (const trailer of trailers) {
    const at = ask.indexOf(trailer);
    if (at >= 0) ask = ask.slice(0, at);
  }
  if (!ask.includes("<")) return ask.trim();

  let inside = "";
  let outside = "";
  let copied = 0;
  const unclosed = new Set<string>(); // looked for once in vain: not again, or hostile text would cost its square
  openTag.lastIndex = 0;
  for (let match = openTag.exec(ask); match !== null; match = openTag.exec(ask)) {
    const [whole, name = ""] = match;
    const known = name.toLowerCase();
    const isAsk = askTags.has(known);
    if ((!isAsk && !noiseTags.has(known)) || unclosed.has(name)) continue;
    const start = match.index + whole.length;
    const close = `</${name}>`;
    const end = ask.indexOf(close, start);
    if (end < 0) {
      unclosed.add(name);
      continue;
    }
    if (isAsk) inside += `${withoutNoise(ask.slice(start, end))}\n`;
    outside += ask.slice(copied, match.index);
    copied = end + close.length;
    openTag.lastIndex = copied;
  }
  outside += ask.slice(copied);
  return (inside.trim() === "" ? outside : inside).trim();
}

const noiseInside = /<(system-reminder|environment_details|file_content)[^<>]{0,400}>/;

/** An ask block may hold noise of its own, one level deep. */
function withoutNoise(ask: string): string {
  let text = ask;
  for (let round = 0; round < 8; round++) {
    const match = noiseInside.exec(text);
    if (match === null) break;
    const close = `</${match[1]}>`;
    const end = text.indexOf(close, match.index);
    if (end < 0) break;
    text = text.slice(0, match.index) + text.slice(end + close.length);
  }
  return text;
}

/** What the user says only to keep the agent going. */
const goOn =
  /^(?:(?:yes|yep|yeah|ok|okay|sure|fine|please|continue|proceed|go|on|ahead|do|it|that|this|next|keep|going|retry|try|again|weiter|ja|mach|oui|continuez?|vas-y|sí|si|sigue|continúa|sim|continua|да|продолжай|дальше|继续|好的?|是的?)[\s,.!。，！]*){1,5}$/i;

/** Whether an ask says nothing but to go on with what was asked before. */
export function onlyGoesOn(ask: string): boolean {
  return ask.length <= 40 && goOn.test(ask);
}
