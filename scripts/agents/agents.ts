/** The agents to try, each at an exact version. Their settings and commands are in docs/guides/agents.md. */
export interface Agent {
  /** As its blocks in docs/guides/agents.md name it. */
  readonly name: string;
  readonly from: "npm" | "pypi";
  /** What `npm install` or `pip install` takes; the first is the agent. */
  readonly packages: readonly string[];
  /** Whether it edits files in the scratch repository; otherwise it must print the answer. */
  readonly edits: boolean;
  /** Runs on a separate Node from npm, because it needs a newer one than the project. */
  readonly newerNode?: boolean;
  /** The Python that it needs, if the system's is older. */
  readonly python?: "3.12";
  /** Why it is not tried, for the table. */
  readonly notTried?: string;
}

/** The Node for agents that need version 22 or later. */
export const newerNode = "24.21.0";

export const agents: readonly Agent[] = [
  { name: "aider", from: "pypi", packages: ["aider-chat==0.86.2"], edits: true },
  { name: "opencode", from: "npm", packages: ["opencode-ai@1.18.33"], edits: true },
  { name: "kilo", from: "npm", packages: ["@kilocode/cli@7.7.7"], edits: true },
  { name: "cline", from: "npm", packages: ["cline@3.0.65"], edits: true, newerNode: true },
  { name: "continue", from: "npm", packages: ["@continuedev/cli@1.5.47"], edits: true },
  { name: "qwen-code", from: "npm", packages: ["@qwen-code/qwen-code@0.24.4"], edits: true, newerNode: true },
  { name: "pi", from: "npm", packages: ["@mariozechner/pi-coding-agent@0.73.1"], edits: true, newerNode: true },
  {
    name: "crush",
    from: "npm",
    packages: ["@charmland/crush@0.96.1"],
    edits: true,
    notTried: "its npm package downloads the program from elsewhere",
  },
  { name: "nanocoder", from: "npm", packages: ["@nanocollective/nanocoder@1.30.0"], edits: true, newerNode: true },
  { name: "mini-swe-agent", from: "pypi", packages: ["mini-swe-agent==2.4.6", "mcp==2.3.0"], edits: true },
  { name: "gptme", from: "pypi", packages: ["gptme==0.35.1"], edits: true },
  { name: "open-interpreter", from: "pypi", packages: ["open-interpreter==0.4.3"], edits: true },
  { name: "vibe", from: "pypi", packages: ["mistral-vibe==3.0.1"], edits: true, python: "3.12" },
  { name: "llm", from: "pypi", packages: ["llm==0.36"], edits: false },
  { name: "shell-gpt", from: "pypi", packages: ["shell-gpt==1.5.1", "click==8.5.1"], edits: false },
  { name: "openai-agents", from: "pypi", packages: ["openai-agents==0.24.0"], edits: true },
  { name: "pydantic-ai", from: "pypi", packages: ["pydantic-ai-slim[openai]==2.62.0"], edits: true },
  { name: "langchain", from: "pypi", packages: ["langchain-openai==1.7.2"], edits: true },
  { name: "smolagents", from: "pypi", packages: ["smolagents[openai]==1.26.0"], edits: true },
  { name: "strands", from: "pypi", packages: ["strands-agents[openai]==1.62.0"], edits: true },
  {
    name: "codex",
    from: "npm",
    packages: ["@openai/codex@0.169.0"],
    edits: true,
    notTried: 'speaks only the Responses API (`wire_api = "chat"` is no longer supported)',
  },
  {
    name: "deepagents",
    from: "pypi",
    packages: ["deepagents-code==0.1.88"],
    edits: true,
    notTried: "its own server times out before a request is sent",
  },
  {
    name: "openhands",
    from: "pypi",
    packages: ["openhands==1.16.0"],
    edits: true,
    notTried: "its installation had not ended after seven minutes",
  },
  {
    name: "goose",
    from: "npm",
    packages: ["goose"],
    edits: true,
    notTried: "its command line is on neither npm nor PyPI",
  },
];
