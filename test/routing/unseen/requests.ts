import { assistant, guardedAsk as G, plainAsk as P, type Request, system, used, user } from "./build.ts";

const ask = { is: "ask", ask: P, guarded: false } as const;
const guarded = { is: "ask", ask: G, guarded: true } as const;
const turn = { is: "turn", ask: P, guarded: false } as const;
const guardedTurn = { is: "turn", ask: G, guarded: true } as const;

/** Requests as agents and libraries send them that no rule was written for. */
export const requests: readonly Request[] = [
  {
    from: "Plandex, a prompt",
    ...guarded,
    messages: [
      system(
        "You are Plandex, an AI programming and system administration assistant. You and the programmer collaborate to create a plan.",
      ),
      user(
        `# The user's latest prompt:\n\`\`\`\n${G}\n\`\`\`\n\nPlease respond according to the 'Your instructions' section above.\n\nIf you're making a plan, break the task up into subtasks and list them. Do NOT write any code yet.`,
      ),
    ],
  },
  {
    from: "Plandex, goes on by itself",
    ...guardedTurn,
    messages: [
      system("You are Plandex, an AI programming and system administration assistant."),
      user(
        `# The user's latest prompt:\n\`\`\`\n${G}\n\`\`\`\n\nPlease respond according to the 'Your instructions' section above.`,
      ),
      assistant("### Tasks\n\n1. Find where tokens are stored\n2. Revoke them"),
      user(
        "Continue the plan according to your instructions for the current stage. Don't skip straight to the end; implement the next subtask in full.",
      ),
    ],
  },
  {
    from: "AutoGen, code that failed",
    ...turn,
    failed: true,
    messages: [
      system(
        "You are a helpful AI assistant. Solve tasks using your coding and language skills. Reply TERMINATE when done.",
      ),
      user(P),
      assistant("```python\nimport exporter\nprint(exporter.main(['--json']))\n```"),
      user(
        "exitcode: 1 (execution failed)\nCode output: Traceback (most recent call last):\n  File \"t.py\", line 1, in <module>\nModuleNotFoundError: No module named 'exporter'",
      ),
    ],
  },
  {
    from: "AutoGen, code that ran",
    ...turn,
    failed: false,
    messages: [
      system(
        "You are a helpful AI assistant. Solve tasks using your coding and language skills. Reply TERMINATE when done.",
      ),
      user(P),
      assistant("```sh\ngrep -n Error export.py\n```"),
      user(
        "exitcode: 0 (execution succeeded)\nCode output: 14:class ExportError(Exception):\n22:    raise ExportError",
      ),
    ],
  },
  {
    from: "AutoGen, who speaks next",
    is: "housekeeping",
    messages: [
      system(
        "You are in a role play game. The following roles are available:\nCoder: writes code.\nReviewer: reviews code.\nRead the following conversation. Then select the next role from ['Coder', 'Reviewer'] to play. Only return the role.",
      ),
      user(G),
      user(
        "Read the above conversation. Then select the next role from ['Coder', 'Reviewer'] to play. Only return the role.",
      ),
    ],
  },
  {
    from: "AutoGen, the takeaway at the end",
    ...guardedTurn,
    messages: [
      system("You are a helpful AI assistant."),
      user(G),
      assistant("All tokens from before May are revoked."),
      user("Summarize the takeaway from the conversation. Do not add any introductory phrases."),
    ],
  },
  {
    from: "Semantic Kernel, stepwise planner",
    ...guarded,
    messages: [
      system(
        "[INSTRUCTION]\nAnswer the following questions as accurately as possible using the provided functions.\n\n[AVAILABLE FUNCTIONS]\ntokens.Revoke: revokes a token\n[END AVAILABLE FUNCTIONS]",
      ),
      user(`[QUESTION]\n${G}\n\n[THOUGHT]`),
    ],
  },
  {
    from: "Semantic Kernel, chat history as XML",
    ...ask,
    messages: [system("You are a developer's assistant."), user(`<message role="user">${P}</message>`)],
    tools: ["files-read", "files-write"],
  },
  {
    from: "LangGraph, supervisor",
    is: "housekeeping",
    messages: [
      system(
        "You are a supervisor tasked with managing a conversation between the following workers: ['researcher', 'coder']. Given the following user request, respond with the worker to act next. Each worker will perform a task and respond with their results and status. When finished, respond with FINISH.",
      ),
      user(G),
    ],
  },
  {
    from: "LangGraph, summary in the graph's state",
    ...guardedTurn,
    messages: [
      user(G),
      ...used("run", { command: "psql -c 'select count(*) from tokens'" }, " count\n-------\n 4711\n(1 row)"),
      assistant("There are 4711 tokens."),
      user("Create a summary of the conversation above:"),
    ],
  },
  {
    from: "LangGraph, summary extended",
    ...guardedTurn,
    messages: [
      user(G),
      assistant("There are 4711 tokens."),
      user(
        "This is summary of the conversation to date: The user wants tokens revoked.\n\nExtend the summary by taking into account the new messages above:",
      ),
    ],
  },
  {
    from: "Letta, a user's message",
    ...guarded,
    messages: [
      system(
        "You are Letta, the latest version of Limnal Corporation's digital companion.\n<memory_blocks>\n<human>\nName: Ada\n</human>\n</memory_blocks>",
      ),
      user('{"type": "login", "last_login": "Never (first login)", "time": "2026-03-01 10:00:00 AM CET+0100"}'),
      user(JSON.stringify({ type: "user_message", message: G, time: "2026-03-01 10:00:04 AM CET+0100" })),
    ],
    tools: ["send_message", "core_memory_append", "run_code"],
  },
  {
    from: "Letta, a heartbeat",
    ...guardedTurn,
    messages: [
      system("You are Letta, the latest version of Limnal Corporation's digital companion."),
      user(JSON.stringify({ type: "user_message", message: G, time: "2026-03-01 10:00:04 AM CET+0100" })),
      ...used(
        "archival_memory_search",
        { query: "tokens" },
        '{"status": "OK", "message": "[]", "time": "2026-03-01 10:00:09 AM"}',
      ),
      user(
        '{"type": "heartbeat", "reason": "[This is an automated system message hidden from the user] Function called using request_heartbeat=true, returning control", "time": "2026-03-01 10:00:10 AM"}',
      ),
    ],
  },
  {
    from: "Letta, a function that failed",
    ...turn,
    failed: true,
    messages: [
      user(P),
      ...used(
        "run_code",
        { code: "import exporter" },
        '{"status": "Failed", "message": "Error executing function run_code: ModuleNotFoundError: No module named \'exporter\'", "time": "2026-03-01 10:00:09 AM"}',
      ),
    ],
  },
  {
    from: "Letta, its summariser",
    is: "housekeeping",
    messages: [
      system(
        "Your job is to summarize a history of previous messages in a conversation between an AI persona and a human. The conversation you are given is a from a fixed context window and may not be complete. Summarize what happened in the conversation from the perspective of the AI (use the first person). Keep your summary less than 100 words, do NOT exceed this word limit. Only output the summary, do NOT include anything else in your output.",
      ),
      user(`user: ${G}\nassistant: on it`),
    ],
  },
  {
    from: "Amp, a state block before the ask",
    ...ask,
    messages: [
      system("You are Amp, a powerful AI coding agent."),
      user(
        `# User State\n\n<workspace_state>\nOpen: src/login.ts, src/payments/refund.ts\nCursor: src/login.ts:12\n</workspace_state>\n\n${P}`,
      ),
    ],
    tools: ["Bash", "edit_file", "Read"],
  },
  {
    from: "Amp, a command that failed",
    ...turn,
    failed: true,
    messages: [
      user(P),
      ...used(
        "Bash",
        { cmd: "pnpm vitest run" },
        '{"output":" FAIL  src/export.test.ts > json\\nAssertionError: expected undefined to be true","exitCode":1}',
      ),
    ],
    tools: ["Bash", "edit_file"],
  },
  {
    from: "Windsurf, metadata behind the ask",
    ...guarded,
    messages: [
      system("You are Cascade, a powerful agentic AI coding assistant."),
      user(
        `<USER_REQUEST>\n${G}\n</USER_REQUEST>\n<ADDITIONAL_METADATA>\nThe current local time is: 2026-03-01T10:00:00+01:00.\nActive Document: /w/src/render.ts (LANGUAGE_TYPESCRIPT)\n</ADDITIONAL_METADATA>`,
      ),
    ],
    tools: ["run_command", "replace_file_content"],
  },
  {
    from: "Windsurf, a command that failed",
    ...turn,
    failed: true,
    messages: [
      user(P),
      ...used(
        "run_command",
        { CommandLine: "npm run build", Cwd: "/w", Blocking: true },
        "The command completed.\nExit code: 2\nOutput:\n```\nsrc/export.ts(3,1): error TS2304: Cannot find name 'json'.\n```",
      ),
    ],
    tools: ["run_command"],
  },
  {
    from: "Copilot CLI, reminders around the ask",
    ...ask,
    messages: [
      system("You are the GitHub Copilot CLI, a terminal assistant built by GitHub."),
      user(
        `<current_datetime>2026-03-01T10:00:00.000Z</current_datetime>\n\n${P}\n\n<reminder>\n<sql_tables>No tables currently exist. Default tables (todos, todo_deps) will be created when you first use SQL.</sql_tables>\n</reminder>`,
      ),
    ],
    tools: ["bash", "edit", "view"],
  },
  {
    from: "Copilot CLI, a command that failed",
    ...turn,
    failed: true,
    messages: [
      user(P),
      ...used(
        "bash",
        { command: "go vet ./...", description: "Vet", sessionId: "a" },
        "# app/export\nexport.go:9:2: undefined: json\n<exited with exit code 1>",
      ),
    ],
    tools: ["bash"],
  },
  {
    from: "Junie, an issue",
    ...guarded,
    messages: [
      system(
        "## ENVIRONMENT\n- Dev Environment: You're in READ_ONLY mode of IntelliJ IDEA.\n## RESPONSE FORMAT\nRespond with <THOUGHT> and <COMMAND> tags.",
      ),
      user(
        `### USER INPUT: \n${G}\n\n### ADDITIONAL INFO: \nThe current local date and time is: 2026-03-01 10:00.\nThis is a list of recent files:\n- src/render.ts`,
      ),
    ],
  },
  {
    from: "Devin-like, a shell",
    ...turn,
    failed: true,
    messages: [
      user(P),
      assistant('<shell id="default" exec_dir="/w">\ncargo test\n</shell>'),
      user(
        '<shell_output id="default" exit_code="101">\nerror[E0425]: cannot find value `json` in this scope\n</shell_output>',
      ),
    ],
  },
  {
    from: "Trae Agent, a problem statement",
    ...ask,
    messages: [
      system("You are an expert AI software engineering agent."),
      user(
        `[Project root path]:\n/testbed\n\n[Problem statement]: We're currently solving the following issue within our repository. Here's the issue text:\n${P}\n`,
      ),
    ],
    tools: ["bash", "str_replace_based_edit_tool", "task_done"],
  },
  {
    from: "Agentless, localisation",
    ...ask,
    messages: [
      user(
        `Please look through the following GitHub problem description and Repository structure and provide a list of files that one would need to edit to fix the problem.\n\n### GitHub Problem Description ###\n${P}\n\n###\n\n### Repository Structure ###\nsrc/\n  login.py\n  payments.py\n  export.py\n\n###\n\nPlease only provide the full path and return at most 5 files.\nThe returned files should be separated by new lines ordered by most to least important and wrapped with \`\`\``,
      ),
    ],
  },
  {
    from: "BabyAGI, one task of an objective",
    ...guarded,
    messages: [
      user(
        `Perform one task based on the following objective: keep the accounts safe.\nTake into account these previously completed tasks: list of services.\nYour task: ${G}\nResponse:`,
      ),
    ],
  },
  {
    from: "CAMEL, an instruction",
    ...guarded,
    messages: [
      system("Never forget you are a Python Programmer and I am a Computer User. Never flip roles!"),
      user(`Instruction: ${G}\nInput: None`),
    ],
  },
  {
    from: "LlamaIndex, refining an answer",
    ...ask,
    messages: [
      user(
        `The original query is as follows: ${P}\nWe have provided an existing answer: Use argparse.\nWe have the opportunity to refine the existing answer (only if needed) with some more context below.\n------------\nRotate the credentials of the database when a person leaves.\n------------\nGiven the new context, refine the original answer to better answer the query. If the context isn't useful, return the original answer.\nRefined Answer: `,
      ),
    ],
  },
  {
    from: "Haystack, documents and a question",
    is: "ask",
    ask: "How many days of leave do new colleagues have?",
    guarded: false,
    messages: [
      user(
        "Given these documents, answer the question.\nDocuments:\n    Passwords must be rotated each quarter. Delete the accounts of those who leave.\n    New colleagues have 28 days of leave.\n\nQuestion: How many days of leave do new colleagues have?\nAnswer:",
      ),
    ],
  },
  {
    from: "DSPy, fields",
    ...guarded,
    messages: [
      system(
        "Your input fields are:\n1. `request` (str)\nYour output fields are:\n1. `reasoning` (str)\n2. `patch` (str)\nAll interactions will be structured in the following way, with the appropriate values filled in.\n\n[[ ## request ## ]]\n{request}\n\n[[ ## reasoning ## ]]\n{reasoning}\n\n[[ ## patch ## ]]\n{patch}\n\n[[ ## completed ## ]]",
      ),
      user(
        `[[ ## request ## ]]\n${G}\n\nRespond with the corresponding output fields, starting with the field \`[[ ## reasoning ## ]]\`, then \`[[ ## patch ## ]]\`, and then ending with the marker for \`[[ ## completed ## ]]\`.`,
      ),
    ],
  },
  {
    from: "Home Assistant",
    is: "ask",
    ask: "Switch off the light at the safe and lock the door",
    guarded: false,
    messages: [
      system(
        "You are a voice assistant for Home Assistant.\nAnswer questions about the world truthfully.\nAn overview of the areas and the devices in this smart home:\n- names: Safe light\n  domain: light",
      ),
      user("Switch off the light at the safe and lock the door"),
    ],
    tools: ["HassTurnOff", "HassLock"],
  },
  {
    from: "Codebuff, results in the user's role",
    ...turn,
    failed: true,
    messages: [
      user(P),
      assistant("<run_terminal_command>\n<command>bun test</command>\n</run_terminal_command>"),
      user(
        "<tool_result>\n<tool>run_terminal_command</tool>\n<result><command>bun test</command>\n<terminal_output>1 pass\n2 fail</terminal_output>\n<exit_code>1</exit_code></result>\n</tool_result>",
      ),
    ],
  },
  {
    from: "Amazon Q CLI, context entries",
    ...ask,
    messages: [
      user(
        `--- CONTEXT ENTRY BEGIN ---\nCurrent time: 2026-03-01\nREADME.md: this service rotates passwords, revokes tokens and refunds payments\n--- CONTEXT ENTRY END ---\n\n--- USER MESSAGE BEGIN ---\n${P}\n--- USER MESSAGE END ---`,
      ),
    ],
    tools: ["execute_bash", "fs_write"],
  },
  {
    from: "Terminus, the task",
    ...guarded,
    messages: [
      user(
        `You are an AI assistant tasked with solving command-line tasks in a Linux environment. You will be given a task description and the output from previously executed commands. Your goal is to solve the task by providing batches of shell commands.\n\nFormat your response as JSON with the following structure:\n\n{"analysis": "...", "plan": "...", "commands": []}\n\nTask Description:\n${G}\n\nCurrent terminal state:\nCurrent Terminal Screen:\nroot@box:/app# `,
      ),
    ],
  },
  {
    from: "Terminus, a new screen",
    ...turn,
    failed: true,
    messages: [
      user(
        `You are an AI assistant tasked with solving command-line tasks in a Linux environment.\n\nTask Description:\n${P}\n\nCurrent terminal state:\nroot@box:/app# `,
      ),
      assistant(
        '{"analysis": "run the tests", "plan": "pytest", "commands": [{"keystrokes": "pytest -q\\n", "duration": 5}]}',
      ),
      user(
        "New Terminal Output:\n\nroot@box:/app# pytest -q\nFAILED tests/test_export.py::test_json - AssertionError\n1 failed, 3 passed in 0.31s\nroot@box:/app# ",
      ),
    ],
  },
  {
    from: "Terminus, an answer that it could not read",
    ...turn,
    messages: [
      user(
        `You are an AI assistant tasked with solving command-line tasks in a Linux environment.\n\nTask Description:\n${P}\n\nCurrent terminal state:\nroot@box:/app# `,
      ),
      assistant("Sure, I will run the tests."),
      user(
        "Previous response had parsing errors:\nERROR: No valid JSON found in response\n\nPlease fix these issues and provide a proper JSON response.",
      ),
    ],
  },
  {
    from: "browser-use, a step",
    is: "ask",
    ask: "Find the cheapest flight from Vienna to Oslo on Friday",
    guarded: false,
    messages: [
      system("You are an AI agent designed to operate in an iterative loop to automate browser tasks."),
      user(
        "<agent_history>\n\n</agent_history>\n<agent_state>\n<user_request>\nFind the cheapest flight from Vienna to Oslo on Friday\n</user_request>\n<step_info>Step 1 of 100</step_info>\n</agent_state>\n<browser_state>\nCurrent tab: 1\n[1]<button>Sign in</button>\n[2]<input>password</input>\n[3]<a>Pay now</a>\n</browser_state>",
      ),
    ],
  },
  {
    from: "WebArena, objective and page",
    is: "ask",
    ask: "Sort the list of products by price",
    guarded: false,
    messages: [
      system("You are an autonomous intelligent agent tasked with navigating a web browser."),
      user(
        "OBSERVATION:\n[1] RootWebArea 'Shop' focused: True\n[4] link 'Delete account'\n[5] link 'Change password'\nURL: http://shop.example\nOBJECTIVE: Sort the list of products by price\nPREVIOUS ACTION: None",
      ),
    ],
  },
  {
    from: "Zed, attached context",
    ...ask,
    messages: [
      user(
        `${P}\n\n<context>\nThe following items were attached by the user. They are up-to-date and don't need to be re-read.\n\n<files>\n\`\`\`src/login.ts\nexport function login(password: string) { return sign(password, secret); }\n\`\`\`\n</files>\n</context>`,
      ),
    ],
    tools: ["edit_file", "terminal"],
  },
  {
    from: "Cody, context in messages of their own",
    ...ask,
    messages: [
      user("You are Cody, an AI coding assistant from Sourcegraph."),
      assistant("I am Cody, an AI coding assistant from Sourcegraph."),
      user(
        "Codebase context from file src/login.ts:\n```typescript:src/login.ts\nexport function login(password) { rotateTokens(); }\n```",
      ),
      assistant("Ok."),
      user(P),
    ],
  },
  {
    from: "avante.nvim, selected code",
    ...guarded,
    messages: [
      system("You are an excellent programming expert."),
      user("<selected_code>\n```lua\nlocal function render() end\n```\n</selected_code>"),
      user(`<task>${G}</task>`),
    ],
  },
  {
    from: "CodeCompanion, an attachment",
    ...ask,
    messages: [
      system("You are an AI programming assistant named CodeCompanion, working within the Neovim text editor."),
      user(
        '<attachment filepath="src/login.lua" buffer_number="3">Here is the content from the file:\n\n```lua\nlocal function login(password) rotate_keys() end\n```\n</attachment>',
      ),
      user(P),
    ],
    tools: ["cmd_runner", "insert_edit_into_file"],
  },
  {
    from: "gptel, context at the end",
    ...ask,
    messages: [
      user(
        `${P}\n\nRequest context:\n\nIn file \`login.el\`:\n\n\`\`\`elisp\n(defun login (password) (rotate-tokens))\n\`\`\``,
      ),
    ],
  },
  {
    from: "Hermes, a tool's response as text",
    ...turn,
    failed: true,
    messages: [
      system(
        "You are a function calling AI model. You are provided with function signatures within <tools></tools> XML tags.",
      ),
      user(P),
      assistant('<tool_call>\n{"name": "run_tests", "arguments": {"path": "tests"}}\n</tool_call>'),
      user(
        '<tool_response>\n{"name": "run_tests", "content": {"passed": 3, "failed": 2, "exit_code": 1}}\n</tool_response>',
      ),
    ],
  },
  {
    from: "the function role of older clients",
    ...turn,
    failed: true,
    messages: [
      user(P),
      { role: "assistant", content: null, function_call: { name: "shell", arguments: '{"command":"make"}' } },
      {
        role: "function",
        name: "shell",
        content:
          "cc -c export.c\nexport.c:9:5: error: use of undeclared identifier 'json'\nmake: *** [export.o] Error 1",
      },
    ],
  },
  {
    from: "Kimi CLI, a failed command",
    ...turn,
    failed: true,
    messages: [
      user(P),
      ...used(
        "Shell",
        { command: "make" },
        "<system>ERROR: Command failed with exit code: 2.</system>\nmake: *** No rule to make target 'export'.  Stop.",
      ),
    ],
    tools: ["Shell", "WriteFile"],
  },
  {
    from: "Kimi CLI, a command that ran",
    ...turn,
    failed: false,
    messages: [
      user(P),
      ...used(
        "Shell",
        { command: "make lint" },
        "<system>Command executed successfully.</system>\nwarning: 2 errors were ignored by configuration",
      ),
    ],
    tools: ["Shell", "WriteFile"],
  },
  {
    from: "bolt.new, changed files before the ask",
    ...ask,
    messages: [
      system("You are Bolt, an expert AI assistant and exceptional senior software developer."),
      user(
        `[Model: some-model]\n\n[Provider: OpenAILike]\n\n<bolt_file_modifications>\n<diff path="/home/project/src/login.ts">\n@@ -1,2 +1,2 @@\n-const password = 1;\n+const password = rotate();\n</diff>\n</bolt_file_modifications>\n\n${P}`,
      ),
    ],
  },
  {
    from: "bolt.new, an answer that was cut",
    ...guardedTurn,
    messages: [
      system("You are Bolt, an expert AI assistant and exceptional senior software developer."),
      user(`[Model: some-model]\n\n[Provider: OpenAILike]\n\n${G}`),
      assistant('<boltArtifact id="revoke"><boltAction type="file">export const'),
      user(
        "[Model: some-model]\n\n[Provider: OpenAILike]\n\nContinue your prior response. IMPORTANT: Immediately begin from where you left off without any interruptions.\nDo not repeat any content, including artifact and action tags.",
      ),
    ],
  },
  {
    from: "instructor, an answer of the wrong form",
    ...turn,
    messages: [
      user(P),
      assistant('{"files": "export.ts"}'),
      user(
        "Validation Error found:\n1 validation error for Plan\nfiles\n  Input should be a valid list [type=list_type, input_value='export.ts', input_type=str]\nRecall the function correctly, fix the errors",
      ),
    ],
  },
  {
    from: "Goose, an info message beside the ask",
    ...guarded,
    messages: [
      system("You are a general-purpose AI agent called goose."),
      user(`<info-msg>\nIt is currently 2026-03-01 10:00:00\nWorking directory: /w\n</info-msg>\n${G}`),
    ],
    tools: ["developer__shell", "developer__text_editor"],
  },
  {
    from: "OpenHands, a condensed history and a new ask",
    ...ask,
    messages: [
      system("You are OpenHands agent, a helpful AI assistant that can interact with a computer to solve tasks."),
      user(G),
      user(
        "<EVENT_SUMMARY>\nUSER_CONTEXT: tokens were revoked and logout now invalidates sessions.\nCOMPLETED: all\n</EVENT_SUMMARY>",
      ),
      assistant("Done, everything is revoked."),
      user(P),
    ],
    tools: ["execute_bash", "str_replace_editor"],
  },
  {
    from: "OpenHands, speaks when nobody answers",
    ...guardedTurn,
    messages: [
      system("You are OpenHands agent."),
      user(G),
      assistant("Shall I go on?"),
      user(
        "Please continue on whatever approach you think is suitable.\nIf you think you have solved the task, please finish the interaction.\nIMPORTANT: YOU SHOULD NEVER ASK FOR HUMAN HELP.",
      ),
    ],
    tools: ["execute_bash"],
  },
  {
    from: "SWE-bench harness, the issue in a tag among instructions",
    ...ask,
    messages: [
      user(
        `I've uploaded a python code repository in the directory /testbed. Consider the following PR description:\n\n<pr_description>\n${P}\n</pr_description>\n\nCan you help me implement the necessary changes to the repository so that the requirements specified in the <pr_description> are met? I've already taken care of all changes to any of the test files. Delete nothing in /testbed/.git.`,
      ),
    ],
    tools: ["bash"],
  },
  {
    from: "an agent library, a steering note of the harness",
    ...guardedTurn,
    messages: [
      user(G),
      ...used("bash", { command: "ls" }, "src"),
      user("[SYSTEM NOTICE] You have used 80% of your step budget (40 of 50). Wrap up soon."),
    ],
    tools: ["bash"],
  },
  {
    from: "an agent library, no call in the answer",
    ...guardedTurn,
    messages: [
      user(G),
      assistant("I will look into it."),
      user(
        "Your last response did not contain a tool call, so no action was taken. Continue working on the task by calling one of the available tools.",
      ),
    ],
    tools: ["bash"],
  },
  {
    from: "an agent library, a sub-agent reports",
    ...guardedTurn,
    messages: [
      user(G),
      ...used("delegate", { task: "find the token table" }, '{"agent_id":"a1","state":"started"}'),
      user(
        "<subagent_notification>\n<agent_id>a1</agent_id>\n<status>completed</status>\n<summary>The table is auth.refresh_tokens.</summary>\n</subagent_notification>",
      ),
    ],
    tools: ["delegate"],
  },
  {
    from: "Void, selections behind the ask",
    ...ask,
    messages: [
      user(
        `${P}\n\n---\nSELECTIONS:\n/w/src/login.ts (lines 1:3):\n\`\`\`typescript\nexport function login(password) { rotateKeys(); }\n\`\`\``,
      ),
    ],
  },
];
