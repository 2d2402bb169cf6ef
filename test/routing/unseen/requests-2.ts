import { assistant, guardedAsk as G, plainAsk as P, type Request, system, used, user } from "./build.ts";

const ask = { is: "ask", ask: P, guarded: false } as const;
const guarded = { is: "ask", ask: G, guarded: true } as const;
const turn = { is: "turn", ask: P, guarded: false } as const;
const guardedTurn = { is: "turn", ask: G, guarded: true } as const;

/** A second set, written after the rules had been changed for the first. */
export const requests: readonly Request[] = [
  {
    from: "GPT Engineer, a prompt file",
    ...guarded,
    messages: [
      system("You will get instructions for code to write. You will write a very long answer."),
      user(`Instructions: ${G}`),
    ],
  },
  {
    from: "MetaGPT, requirements among sections",
    ...guarded,
    messages: [
      user(
        `# Context\n## Original Requirements\n${G}\n\n## Search Information\n-\n\n-----\n\n# Format example\n{"Product Goals": []}\n\n-----\nRole: You are a professional product manager.\nATTENTION: Output carefully referenced "Format example" in format.`,
      ),
    ],
  },
  {
    from: "AutoGPT, what a command returned",
    ...turn,
    failed: true,
    messages: [
      user(P),
      assistant('{"thoughts": {}, "command": {"name": "execute_shell", "args": {"command_line": "make"}}}'),
      user("Command execute_shell returned: make: *** No rule to make target 'export'.  Stop.\nexit code 2"),
    ],
  },
  {
    from: "Langroid, a result of a tool",
    ...turn,
    messages: [
      user(P),
      assistant("TOOL: file_read"),
      user("[ TOOL-RESULT: file_read ]\nexport.ts: export function main() {}"),
    ],
  },
  {
    from: "BeeAI, a function's response",
    ...turn,
    messages: [
      system("# Communication structure\nYou communicate only in instruction lines."),
      user(`Message: ${P}`),
      assistant("Thought: read it\nFunction Name: read\nFunction Input: {}"),
      user("Function Output: export function main() {}"),
    ],
  },
  {
    from: "gpt-pilot, a task of a plan",
    ...ask,
    messages: [
      system("You are a full stack software developer."),
      user(
        `You are working on a web app called Shop.\n\nHere are the files:\n\n---START_OF_FILES---\n### login.ts\nrotatePasswords();\n---END_OF_FILES---\n\nCurrent task:\n${P}\n\nOutput format:\nReturn JSON.`,
      ),
    ],
  },
  {
    from: "Replit-like, automatic updates",
    ...guardedTurn,
    messages: [
      user(G),
      assistant("I will start."),
      user(
        "<automatic_updates>\n<workflow_console_logs>\nserver listening\n</workflow_console_logs>\n</automatic_updates>",
      ),
    ],
  },
  {
    from: "Roo Code, a subtask that has ended",
    ...guardedTurn,
    messages: [
      user(`<task>\n${G}\n</task>`),
      assistant("<new_task><mode>code</mode></new_task>"),
      user("[new_task completed] Result: The tokens are stored in auth.refresh_tokens."),
    ],
  },
  {
    from: "Continue, an @-file in front",
    ...ask,
    messages: [
      system("<important_rules>\nYou are in agent mode.\n</important_rules>"),
      user(`\`\`\`/w/src/login.ts\nrotatePasswords();\n\`\`\`\n\n${P}`),
    ],
    tools: ["builtin_edit_existing_file"],
  },
  {
    from: "Open WebUI, retrieval",
    is: "ask",
    ask: "How many days of leave are there?",
    guarded: false,
    messages: [
      user(
        '### Task:\nRespond to the user query using the provided context, incorporating inline citations in the format [id].\n\n### Guidelines:\n- Be clear.\n\n<context>\n<source id="1">Rotate passwords each quarter.</source>\n</context>\n\n<user_query>\nHow many days of leave are there?\n</user_query>',
      ),
    ],
  },
  {
    from: "Chainlit-like, history as text",
    is: "ask",
    ask: "And how do I install it on Windows?",
    guarded: false,
    messages: [
      user(
        "Conversation so far:\nUser: what does uv do?\nAssistant: it installs packages\n\nUser message: And how do I install it on Windows?",
      ),
    ],
  },
  {
    from: "a planner hands a step to a worker",
    ...guarded,
    messages: [
      system("You are the executor."),
      user(
        `OVERALL GOAL: keep the shop safe\nCOMPLETED STEPS: none\nTASK: ${G}\nCONSTRAINTS: use the existing helpers`,
      ),
    ],
  },
  {
    from: "an event in an object",
    ...guardedTurn,
    messages: [
      user(G),
      ...used("bash", { command: "ls" }, "src"),
      user('{"type": "system_alert", "message": "Context usage is at 80 percent.", "time": "10:00"}'),
    ],
    tools: ["bash"],
  },
  {
    from: "a reminder to use the format",
    ...turn,
    messages: [
      user(P),
      assistant("I think we need a flag."),
      user(
        "Your previous message could not be parsed: expected a JSON object with the keys `thought` and `action`. Respond again in the required format.",
      ),
    ],
  },
  {
    from: "a message of the watchdog",
    ...guardedTurn,
    messages: [
      user(G),
      ...used("bash", { command: "ls" }, "src"),
      user("[Automated reminder] Update the todo list before you go on."),
    ],
    tools: ["bash"],
  },
  {
    from: "xml of a terminal tool",
    ...turn,
    failed: true,
    messages: [
      user(P),
      assistant("<terminal>npm test</terminal>"),
      user(
        "<terminal_result>\n2 failing\n\n  1) export\n     AssertionError: expected 1 to equal 2\n</terminal_result>",
      ),
    ],
  },
  {
    from: "a shell agent in JSON, failed",
    ...turn,
    failed: true,
    messages: [
      user(P),
      ...used(
        "shell",
        { cmd: ["make"] },
        '{"stdout":"","stderr":"make: *** [all] Error 2","exitCode":2,"durationMs":120}',
      ),
    ],
    tools: ["shell"],
  },
  {
    from: "a shell agent in JSON, ran",
    ...turn,
    failed: false,
    messages: [
      user(P),
      ...used(
        "shell",
        { cmd: ["make"] },
        '{"stdout":"0 errors","stderr":"warning: error reporting is off","exitCode":0,"durationMs":120}',
      ),
    ],
    tools: ["shell"],
  },
  {
    from: "compaction, an agent of its own form",
    ...guardedTurn,
    messages: [
      user(G),
      ...used("bash", { command: "ls" }, "src"),
      assistant("found"),
      user(
        "We are running out of context. Write a handoff for the next session that continues this work: goal, decisions, files, what is left.",
      ),
    ],
    tools: ["bash"],
  },
  {
    from: "a new ask after a long run",
    ...ask,
    messages: [user(G), ...used("bash", { command: "ls" }, "src"), assistant("All revoked."), user(P)],
    tools: ["bash"],
  },
];
