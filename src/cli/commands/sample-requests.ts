/** The requests of `demo traffic`: every kind that a gateway receives, in the same order each time. */

export interface SampleRequest {
  readonly body: object;
  readonly headers: Readonly<Record<string, string>>;
  /** The caller disconnects this many milliseconds after it sent the request. */
  readonly disconnectAfterMs?: number;
}

const easyAsks = [
  "Say hello in three languages.",
  "Rename the variable `tmp` to `total` in this function.",
  "Write a commit message for: fix typo in README.",
  "What does `git rebase --onto` do?",
  "Turn this list into a Markdown table: apples 3, pears 5.",
];
const hardAsks = [
  "Our PostgreSQL queries dead-lock once a day under load: two workers update accounts in another order. Find the root cause across the three services and propose a fix that needs no downtime.",
  "Design a lock-free multi-producer queue, and prove that it is linearizable.",
  "Migrate the billing service from one database to shards by tenant, with both running side by side for a month. Plan every step and how to go back.",
];
const securityAsks = ["Passwords are compared in plain text in login.ts. Fix it."];
/** Joined here so that secret scanners do not report this repository; it is no valid token. */
const fakeToken = ["ghp", "gNzxD8lbr7mKXUgHWiZ5rlPw8lAfFX4Orh3o"].join("_");

const rework = { "x-goal-id": "rework" };
const free = { model: "smart-router-free" };
const security = { metadata: { kind: "SECURITY", risk_level: "HIGH" } };

/** The kinds in the order in which they come; each is made anew from the request's number. */
const kinds: readonly ((n: number) => SampleRequest)[] = [
  (n) => ask(easyAsks, n),
  (n) => ask(easyAsks, n + 1, { stream: true }),
  (n) => ask(hardAsks, n, {}, rework),
  (n) => agentTurn(n),
  (n) => ask(easyAsks, n + 2, { model: "smart-router-flash" }),
  (n) => agentTurn(n + 1),
  (n) => ask(hardAsks, n + 1, { model: "smart-router-pro", stream: true }, rework),
  // The credential is replaced.
  (n) => ask([`Why does this token not work? ${fakeToken}`], n),
  (n) => ask(easyAsks, n, { ...free, metadata: { sensitive: false } }),
  // Private, so it is refused.
  (n) => ask(easyAsks, n, free),
  (n) => agentTurn(n + 2),
  (n) => ({ ...ask(hardAsks, n, { stream: true }), disconnectAfterMs: 5 }),
  // A hard rule sends it to pro.
  (n) => ask(securityAsks, n, security, { "x-goal-id": "login" }),
  () => ask(easyAsks, 0, {}, { authorization: "" }),
  () => ask(easyAsks, 0, { model: "gpt-none" }),
];

/** The request of this number, from 0 on. */
export function sampleRequest(n: number): SampleRequest {
  const make = kinds[n % kinds.length] ?? agentTurn;
  return make(Math.floor(n / kinds.length));
}

function ask(asks: readonly string[], n: number, body: object = {}, headers: object = {}): SampleRequest {
  const messages = [{ role: "user", content: asks[n % asks.length] }];
  return {
    headers: { "x-session-id": "demo-traffic", ...headers },
    body: { model: "smart-router", messages, max_tokens: 400, ...body },
  };
}

/** Test runs that fail in the same way, with a change between them, until the gateway calls a stronger model. */
const maxRuns = 4;

function agentTurn(n: number): SampleRequest {
  const runs = (n % maxRuns) + 1;
  const conversation = Math.floor(n / maxRuns);
  const content = "FAIL parser.test.ts\nTypeError: token.kind is undefined at parse (parser.ts:88)\nexit code 1";
  const parameters = { type: "object", properties: { path: { type: "string" } }, required: ["path"] };
  const tool = { name: "run_tests", description: "Runs the tests.", parameters };
  const messages: object[] = [{ role: "user", content: `Make the tests of the parser pass (run ${conversation}).` }];
  for (let at = 0; at < runs; at += 1) {
    const id = `call_${conversation}_${at}`;
    const call = { id, type: "function", function: { name: "run_tests", arguments: '{"path":"parser"}' } };
    const said = at === 0 ? null : "I changed the parser.";
    messages.push(
      { role: "assistant", content: said, tool_calls: [call] },
      { role: "tool", tool_call_id: id, content },
    );
  }
  const body = { messages, tools: [{ type: "function", function: tool }], stream: true };
  return ask(easyAsks, n, body, { "x-goal-id": "parser" });
}
