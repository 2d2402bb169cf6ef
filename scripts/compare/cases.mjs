// The requests of the comparison, in groups that share a gateway. `environment` and `policy` are the gateway's settings; `cases` makes the
// requests: `{name, path?, method?, headers?, body, steps?, abortAfter?}`, with `steps` as the scripted upstream takes them.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { completion, eventStream } from "./upstream.mjs";

/** Nothing but the request decides: no waiting, no model that is excluded, no cap that is met. */
const undisturbed = {
  budget: {
    per_goal_soft_usd: 900_000,
    per_goal_hard_usd: 900_000,
    per_day_soft_usd: 900_000,
    per_day_hard_usd: 900_000,
  },
  upstream: {
    backoff_base_ms: 1,
    retry_budget_per_second: 100_000,
    price_book: "off",
    generation_lookup: "off",
    key_usage: "off",
  },
  health: { failures_in_a_row: 100_000 },
};
const hello = [{ role: "user", content: "Say hello." }];
const chat = (messages, more = {}) => ({ model: "smart-router", messages, ...more });

/** @param {string} data folder of the development sets */
export function comparisonGroups(data) {
  const set = (name, folder, cases, more = {}) => ({
    name,
    policy: undisturbed,
    cases: () => cases(join(data, folder)),
    ...(existsSync(join(data, folder)) ? {} : { skipped: `${folder} is absent` }),
    ...more,
  });
  return [
    { name: "bad-input", policy: undisturbed, cases: badInput },
    { name: "fields", policy: undisturbed, cases: fields },
    {
      name: "refusals",
      policy: { ...undisturbed, budget: { per_goal_soft_usd: 0.01, per_goal_hard_usd: 0.03 } },
      cases: refusals,
    },
    { name: "dry-run", policy: undisturbed, cases: dryRuns },
    { name: "faults", policy: undisturbed, cases: faults },
    { name: "streams", policy: undisturbed, cases: streams },
    { name: "restored-secrets", policy: { ...undisturbed, privacy: { restore: "text" } }, cases: restoredSecrets },
    { name: "large-turns", policy: undisturbed, cases: largeTurns },
    set("agent-requests", "agent-requests", agentRequests),
    set("agent-runs", "agent-runs", agentRuns),
    set("prompts", "routing-dev", prompts),
    set("secrets", "secrets-dev", secrets),
  ];
}

function badInput() {
  const bodies = {
    empty: "",
    "not JSON": "{",
    "not an object": "[]",
    "no model": { messages: hello },
    "unknown model": { model: "gpt-4", messages: hello },
    "no messages": { model: "smart-router" },
    "empty messages": chat([]),
    "unknown role": chat([{ role: "robot", content: "x" }]),
    "number as content": chat([{ role: "user", content: 1 }]),
    image: chat([{ role: "user", content: [{ type: "image_url", image_url: { url: "data:" } }] }]),
    "unknown part": chat([{ role: "user", content: [{ type: "input_audio", input_audio: {} }] }]),
    "negative max_tokens": chat(hello, { max_tokens: -1 }),
    "fraction of max_completion_tokens": chat(hello, { max_completion_tokens: 1.5 }),
    "temperature as text": chat(hello, { temperature: "hot" }),
    "stop as number": chat(hello, { stop: 3 }),
    "stream as text": chat(hello, { stream: "yes" }),
    "sensitive as text": chat(hello, { metadata: { sensitive: "false" } }),
    "reasoning unknown": chat(hello, { metadata: { reasoning: "most" } }),
    "tools as object": chat(hello, { tools: {} }),
    "tool that is no function": chat(hello, { tools: [{ type: "web_search" }] }),
    "models of its own": chat(hello, { models: ["a/b"] }),
    "service tier": chat(hello, { service_tier: "priority" }),
    "deep nesting": `{"model":"smart-router","messages":[{"role":"user","content":"x"}],"x":${"[".repeat(80)}${"]".repeat(80)}}`,
    "number too large": '{"model":"smart-router","messages":[{"role":"user","content":"x"}],"seed":1e999}',
    "long integer":
      '{"model":"smart-router","messages":[{"role":"user","content":"x"}],"seed":123456789012345678901234567890}',
    "member twice": '{"model":"smart-router","model":"smart-router-pro","messages":[{"role":"user","content":"x"}]}',
    "escaped name": '{"mod\\u0065l":"smart-router","messages":[{"role":"user","content":"x"}]}',
    "byte order mark": `\ufeff${JSON.stringify(chat(hello))}`,
    "lone surrogate": '{"model":"smart-router","messages":[{"role":"user","content":"\\ud800 x"}]}',
    "white space": JSON.stringify(chat(hello, { seed: 1, user: "u" }), null, 3),
  };
  const headers = {
    "no token": { authorization: null },
    "short token": { authorization: "Bearer x" },
    "wrong scheme": { authorization: "Basic abcdefghijkl" },
    "wrong content type": { "content-type": "text/plain" },
    "bad error count": { "X-Same-Error-Count": "abc" },
    "bad failure class": { "X-Failure-Class": "HUGE" },
    "bad X-Pro": { "X-Pro": "perhaps" },
    "foreign origin": { origin: "https://example.test" },
    "foreign host": { host: "example.test" },
    "error object": { "X-Smart-Gateway-Errors": "openai" },
  };
  const paths = [
    ["GET", "/v1/chat/completions"],
    ["POST", "/v1/responses"],
    ["POST", "/v1/messages"],
    ["GET", "/nowhere"],
    ["GET", "/healthz"],
    ["GET", "/livez"],
    ["GET", "/readyz"],
    ["GET", "/v1/models"],
    ["GET", "/openapi.json"],
    ["GET", "/v1/route/decisions/unknown"],
    ["OPTIONS", "/v1/chat/completions"],
    ["GET", "/dashboard/api/policy"],
  ];
  return [
    ...Object.entries(bodies).map(([name, body]) => ({ name, body })),
    ...Object.entries(bodies).map(([name, body]) => ({ name: `decision ${name}`, path: "/v1/route/decision", body })),
    ...Object.entries(bodies).map(([name, body]) => ({
      name: `openai ${name}`,
      headers: { "X-Smart-Gateway-Errors": "openai" },
      body,
    })),
    ...Object.entries(headers).map(([name, given]) => ({
      name,
      headers: given,
      body: name === "error object" ? "{" : chat(hello),
    })),
    ...paths.map(([method, path]) => ({ name: `${method} ${path}`, method, path })),
  ];
}

function fields() {
  const more = [
    {},
    { temperature: 0.1, top_p: 1.0, stop: ["a", "b"], seed: 3, user: "u1", logit_bias: { 1: 2 } },
    { max_tokens: 7 },
    { max_completion_tokens: 9 },
    { max_tokens: 0 },
    { max_tokens: null, temperature: null },
    { n: 2, max_tokens: 10 },
    { metadata: { sensitive: false, team: "a" } },
    { metadata: { sensitive: false } },
    { metadata: { reasoning: "high" } },
    { metadata: { routing: "pro" } },
    { metadata: { routing: "free", sensitive: false } },
    { metadata: { kind: "AUTH", risk_level: "HIGH" } },
    { metadata: { session_id: "s", goal_id: "g", task_id: "t", repo_id: "r" } },
    { usage: { include: true } },
    { stream: true, stream_options: { include_usage: true } },
    { stream: true, stream_options: { include_usage: false, x: 1 } },
    { response_format: { type: "json_object" } },
    { tool_choice: "auto", tools: [{ type: "function", function: { name: "f", parameters: { type: "object" } } }] },
    { provider: { order: ["a"] } },
    { modalities: ["text"], service_tier: "auto" },
    { x: { deep: [1, 2.5, 1e3, "é😀\u2028"] } },
  ];
  const models = ["smart-router", "smart-router-flash", "smart-router-pro", "smart-router-free"];
  const heads = [
    {},
    { "X-Pro": "true" },
    { "X-Scout": "true" },
    { "X-Failure-Class": "STRUCTURAL" },
    { "X-Same-Error-Count": "2" },
    { "X-Smart-Gateway-Session": "s1", "X-Smart-Gateway-Goal": "g1", "X-Task-Id": "t1", "X-Goal-Id": "g2" },
    { "X-Request-Id": "given-id-1" },
  ];
  const contents = [
    "[reasoning:high] hello",
    "Drop the table users in production",
    "Rotate the OAuth tokens of the login service in production",
  ];
  return [
    ...models.flatMap((model) =>
      more.map((extra, index) => ({ name: `${model} ${index}`, body: { ...chat(hello, extra), model } })),
    ),
    ...heads.map((headers, index) => ({ name: `header ${index}`, headers, body: chat(hello) })),
    ...heads.map((headers, index) => ({
      name: `public header ${index}`,
      headers,
      body: chat(hello, { metadata: { sensitive: false } }),
    })),
    ...contents.map((content) => ({ name: content, body: chat([{ role: "user", content }]) })),
  ];
}

function refusals() {
  const task = { "X-Task-Id": "failing" };
  return [
    { name: "free on sensitive", body: { ...chat(hello), model: "smart-router-free" } },
    { name: "scout on sensitive", headers: { "X-Scout": "true" }, body: chat(hello) },
    ...Array.from({ length: 12 }, (_, index) => ({
      name: `attempt ${index}`,
      headers: { ...task, "X-Failure-Class": "LOCAL", "X-Same-Error-Count": String(index) },
      body: chat(hello, { max_tokens: 10 }),
    })),
    ...Array.from({ length: 6 }, (_, index) => ({
      name: `cap ${index}`,
      headers: { "X-Smart-Gateway-Session": "s", "X-Smart-Gateway-Goal": "capped" },
      body: chat(hello, { max_tokens: 10_000, metadata: { reasoning: "high" } }),
      steps: [{ reset: true }],
    })),
    { name: "over the cap at once", headers: { "X-Goal-Id": "large" }, body: chat(hello, { max_tokens: 200_000 }) },
  ];
}

function dryRuns() {
  const base = { task_id: "t", instruction: "Refactor the parser" };
  const values = {
    kind: [
      "CODING",
      "DEBUG",
      "ARCHITECTURE",
      "SECURITY",
      "AUTH",
      "PAYMENT",
      "DESTRUCTIVE_MIGRATION",
      "TEST",
      "SUMMARIZE",
      "CLASSIFY",
      "PUBLIC_REVIEW",
      "RESEARCH",
      "OTHER",
      "X",
    ],
    risk_level: ["LOW", "MEDIUM", "HIGH", "CRITICAL"],
    blast_radius: ["MEDIUM", "HIGH", "CRITICAL"],
    explicit_route: ["AUTO", "PRO", "FLASH", "FREE_SCOUT"],
    reasoning: ["HIGH"],
    ambiguity: [0, 0.5, 1, 2, -1, "x"],
    estimated_tool_depth: [0, 15, 16, -1],
  };
  const runtimes = [
    { flash_attempts: 2 },
    { same_error_count: 2 },
    { files_touched: 20 },
    { tool_depth: 16 },
    { failure_class: "STRUCTURAL" },
    { attempts: 8 },
    { tests_failed: 5, attempts: 3 },
  ];
  const request = (name, task, runtime) => ({
    name,
    path: "/v1/route/decision",
    body: { task: { ...base, ...task }, ...(runtime && { runtime }) },
  });
  return [false, true].flatMap((isPublic) => [
    ...Object.entries(values).flatMap(([key, list]) =>
      list.map((value) => request(`${key}=${value} ${isPublic}`, { [key]: value, sensitive: !isPublic })),
    ),
    ...Object.entries(values).flatMap(([key, list]) =>
      list.map((value) =>
        request(`hard ${key}=${value}`, {
          kind: "AUTH",
          risk_level: "HIGH",
          repo_context_present: true,
          [key]: value,
          sensitive: !isPublic,
        }),
      ),
    ),
    ...runtimes.map((runtime) => request(JSON.stringify(runtime), { sensitive: !isPublic }, runtime)),
  ]);
}

function faults() {
  const statuses = [400, 401, 402, 403, 404, 408, 409, 413, 422, 425, 429, 500, 502, 503, 504];
  const steps = {
    ...Object.fromEntries(
      statuses.map((status) => [
        `status ${status}`,
        [{ status, body: JSON.stringify({ error: { message: `scripted ${status}`, code: status } }) }],
      ]),
    ),
    ...Object.fromEntries(statuses.map((status) => [`status ${status} once`, [{ status }, {}]])),
    "not JSON": [{ body: "<html>" }],
    "error in 200": [{ body: JSON.stringify({ error: { message: "inner", code: 503 } }) }],
    "error without code": [{ body: JSON.stringify({ error: { message: "inner" } }) }],
    "no choices": [{ body: "{}" }],
    reset: [{ reset: true }],
    "reset once": [{ reset: true }, {}],
    "retry later": [{ status: 429, headers: { "retry-after": "60" } }, {}],
    redirect: [{ status: 302, headers: { location: "http://127.0.0.1:1/" } }],
    "reasoning only": [{ body: completion("m", { role: "assistant", content: null, reasoning: "thought" }) }],
    "reasoning_content only": [{ body: completion("m", { role: "assistant", reasoning_content: "thought" }) }],
    "other model": [{ body: completion("another/model", { role: "assistant", content: "x" }) }],
    "tool calls": [
      {
        message: {
          role: "assistant",
          content: null,
          tool_calls: [{ id: "c", type: "function", function: { name: "f", arguments: "{}" } }],
        },
      },
    ],
    "dear answer": [{ body: completion("m").replace("0.000012", "0.5") }],
  };
  // A refused key opens the aggregator's breaker, which then answers the following requests: these come last.
  const order = ([name]) => Number(/status 40[123]|reset/.test(name));
  return Object.entries(steps)
    .sort((a, b) => order(a) - order(b))
    .flatMap(([name, list]) => [
      { name, body: chat(hello, { max_tokens: 50 }), steps: list },
      { name: `${name} streamed`, body: chat(hello, { max_tokens: 50, stream: true }), steps: list },
    ]);
}

function streams() {
  const toolCall = (more) => ({ tool_calls: [{ index: 0, ...more }] });
  const texts = {
    plain: [[{ role: "assistant", content: "Grüße" }, { content: " 😀" }]],
    reasoning: [[{ role: "assistant", reasoning: "think " }, { reasoning: "more" }, { content: "answer" }]],
    "reasoning only": [[{ role: "assistant", reasoning_content: "only" }]],
    tools: [
      [
        { role: "assistant", reasoning: "why" },
        toolCall({ id: "c", type: "function", function: { name: "f", arguments: "" } }),
        toolCall({ function: { arguments: '{"a":1}' } }),
      ],
      { finish: "tool_calls" },
    ],
    "no role": [[{ content: "a" }, { content: "b" }]],
    "no done": [[{ role: "assistant", content: "a" }], { done: false }],
    "no finish": [[{ role: "assistant", content: "a" }], { finish: null }],
    "no usage": [[{ role: "assistant", content: "a" }], { withUsage: false }],
    empty: [[]],
    many: [Array.from({ length: 100 }, (_, index) => ({ content: `word ${index} ` }))],
  };
  const line = {
    comments: (text) => text.replaceAll("\n\n", "\n\n: ping\n\n"),
    crlf: (text) => text.replaceAll("\n", "\r\n"),
    mark: (text) => `\ufeff${text}`,
    broken: (text) => text.replace("data: ", "data: {oops\n\ndata: "),
  };
  const cases = [];
  for (const [name, [deltas, how]] of Object.entries(texts)) {
    const stream = (model) => eventStream(model, deltas, how);
    cases.push({ name, body: chat(hello, { stream: true }), steps: [{ stream }] });
    cases.push({
      name: `${name} with usage`,
      body: chat(hello, { stream: true, stream_options: { include_usage: true } }),
      steps: [{ stream }],
    });
    for (const [changed, change] of Object.entries(line)) {
      cases.push({
        name: `${name} ${changed}`,
        body: chat(hello, { stream: true }),
        steps: [{ stream: (model) => change(stream(model)) }],
      });
    }
    if (name === "many") continue;
    const length = Buffer.byteLength(stream("deepseek/deepseek-v4-flash"));
    for (let at = 1; at < length; at += name === "plain" ? 1 : 7) {
      cases.push({
        name: `${name} cut at ${at}`,
        body: chat(hello, { stream: true, max_tokens: 60 }),
        steps: [{ stream, cutAt: at }],
      });
      cases.push({
        name: `${name} split at ${at}`,
        body: chat(hello, { stream: true, max_tokens: 60 }),
        steps: [{ stream, splitAt: at }],
      });
    }
  }
  return cases;
}

/** Credentials are put together here, so that scanners of repositories stay quiet. */
const credential = ["ghp", "x7Kd92LmQpRt4VbNc8WzYh3JfGs6Ae1Uo5Ti"].join("_");

function restoredSecrets() {
  const messages = [{ role: "user", content: `Use the token ${credential} in the header.` }];
  const placeholder = "[REDACTED:github_token:1]";
  const deltas = [
    { role: "assistant", content: "It is " },
    ...placeholder.split(/(?=[:\]])/).map((content) => ({ content })),
    { content: "." },
  ];
  return [
    {
      name: "whole",
      body: chat(messages),
      steps: [{ message: { role: "assistant", content: `It is ${placeholder}.` } }],
    },
    {
      name: "streamed",
      body: chat(messages, { stream: true }),
      steps: [{ stream: (model) => eventStream(model, deltas) }],
    },
  ];
}

function largeTurns() {
  const source = readFileSync(new URL(import.meta.url), "utf8");
  const messages = [
    { role: "system", content: "You are a coding agent." },
    { role: "user", content: "Fix the failing test." },
  ];
  for (let index = 0; messages.length < 327; index++) {
    const id = `call_${index}`;
    const call = {
      id,
      type: "function",
      function: { name: "bash", arguments: JSON.stringify({ command: `sed -n ${index},${index + 40}p file.mjs` }) },
    };
    messages.push({ role: "assistant", content: null, tool_calls: [call] });
    messages.push({
      role: "tool",
      tool_call_id: id,
      content: source.slice((index * 300) % 9000, ((index * 300) % 9000) + 2400),
    });
  }
  const withSecret = messages.map((message, index) =>
    index === 101 ? { ...message, content: `export GITHUB_TOKEN=${credential}` } : message,
  );
  const huge = [{ role: "user", content: source.repeat(80) }];
  const turns = [
    messages.slice(0, 320),
    messages.slice(0, 322),
    messages.slice(0, 324),
    messages,
    withSecret.slice(0, 320),
    withSecret,
    huge,
    [...huge, { role: "user", content: `password = "${credential}"` }],
  ];
  return turns.flatMap((turn, index) => [
    { name: `turn ${index}`, body: chat(turn) },
    { name: `turn ${index} streamed`, body: chat(turn, { stream: true }) },
    { name: `turn ${index} indented`, body: JSON.stringify(chat(turn, { seed: 1 }), null, 1) },
  ]);
}

function agentRequests(folder) {
  const files = readdirSync(folder).filter((name) => name.endsWith(".json") && name !== "labels.json");
  return files.flatMap((name) => {
    const body = { ...JSON.parse(readFileSync(join(folder, name), "utf8")), model: "smart-router" };
    return [
      { name, body },
      { name: `${name} public`, body: { ...body, metadata: { sensitive: false } } },
      { name: `${name} session`, headers: { "X-Smart-Gateway-Session": name, "X-Task-Id": name }, body },
    ];
  });
}

/** Every eighth run, every call of it, with commands as tool calls and as text. */
function agentRuns(folder) {
  const runs = rows(join(folder, "dev.jsonl.gz")).filter((_, index) => index % 16 === 0);
  return runs.flatMap((run) =>
    [run.messages, asToolCalls(run.messages)].flatMap((messages, form) => {
      const ends = messages.flatMap((message, index) => (message.role === "assistant" ? [index] : []));
      return ends.map((end) => ({
        name: `${run.id} ${form === 0 ? "text" : "tools"} ${end}`,
        body: chat(messages.slice(0, end)),
      }));
    }),
  );
}

function asToolCalls(messages) {
  return messages.map((message, index) => {
    const id = `call_${message.role === "assistant" ? index : index - 1}`;
    if (message.role === "user" && index > 1) return { role: "tool", tool_call_id: id, content: message.content };
    const command = message.role === "assistant" ? /```bash\n([\s\S]*?)\n```/.exec(message.content)?.[1] : undefined;
    if (command === undefined) return message;
    const call = { id, type: "function", function: { name: "bash", arguments: JSON.stringify({ command }) } };
    return { role: "assistant", content: message.content.split("```")[0], tool_calls: [call] };
  });
}

/** A sample of the prompts, plain and in the envelopes that callers put around an ask. */
function prompts(folder) {
  const files = readdirSync(folder).filter((name) => name.endsWith(".jsonl.gz"));
  const tools = [
    {
      type: "function",
      function: {
        name: "bash",
        description: "Run a command.",
        parameters: { type: "object", properties: { command: { type: "string" } } },
      },
    },
  ];
  return files.flatMap((name) =>
    rows(join(folder, name))
      .filter((_, index) => index % 40 === 0)
      .flatMap(({ id, prompt }) => [
        { name: `${id} plain`, body: chat([{ role: "user", content: prompt }]) },
        {
          name: `${id} agent`,
          body: chat(
            [
              { role: "system", content: "You are an agent. Use the tools." },
              { role: "user", content: `<environment>\ncwd: /home/dev/app\n</environment>\n\n${prompt}` },
            ],
            { tools, stream: true },
          ),
        },
        { name: `${id} decision`, path: "/v1/route/decision", body: { task: { task_id: "t", instruction: prompt } } },
      ]),
  );
}

function secrets(folder) {
  const decode = (text) => Buffer.from(Buffer.from(text, "base64").map((byte) => byte ^ 0x2a)).toString("utf8");
  const cases = readFileSync(join(folder, "cases.jsonl"), "utf8")
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
  return cases.flatMap(({ id, text }) => {
    const content = decode(text);
    const call = {
      id: "c",
      type: "function",
      function: { name: "write", arguments: JSON.stringify({ path: "a", text: content }) },
    };
    return [
      { name: `${id} user`, body: chat([{ role: "user", content }]) },
      { name: `${id} part`, body: chat([{ role: "user", content: [{ type: "text", text: content }] }]) },
      {
        name: `${id} tool`,
        body: chat([
          ...hello,
          { role: "assistant", content: null, tool_calls: [call] },
          { role: "tool", tool_call_id: "c", content },
        ]),
      },
    ];
  });
}

function rows(file) {
  return gunzipSync(readFileSync(file))
    .toString("utf8")
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
}
