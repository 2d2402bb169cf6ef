/** The requests of `demo traffic`: every kind that a gateway receives, in the same order each time. */

export interface SampleRequest {
  readonly body: object;
  readonly headers: Readonly<Record<string, string>>;
}

/** Joined here so that secret scanners do not report this repository; it is no valid token. */
const fakeToken = ["ghp", "gNzxD8lbr7mKXUgHWiZ5rlPw8lAfFX4Orh3o"].join("_");

const rework = { "x-goal-id": "rework" };
const security = { metadata: { kind: "SECURITY", risk_level: "HIGH" } };

const requests: readonly SampleRequest[] = [
  ask("Say hello in three languages."),
  ask("What does `git rebase --onto` do?", { stream: true }),
  ask("Migrate the billing service from one database to shards by tenant. Plan every step.", {}, rework),
  agentTurn(1),
  ask("Write a commit message for: fix typo in README.", { model: "smart-router-flash" }),
  agentTurn(2),
  ask("Prove that this lock-free queue is linearizable.", { model: "smart-router-pro", stream: true }, rework),
  // The credential is replaced.
  ask(`Why does this token not work? ${fakeToken}`),
  ask("Make a table: apples 3, pears 5.", { model: "smart-router-free", metadata: { sensitive: false } }),
  // Private, so it is refused.
  ask("Rename the variable `tmp` to `total` in this function.", { model: "smart-router-free" }),
  agentTurn(3),
  ask("Our PostgreSQL queries dead-lock once a day under load. Find the root cause.", { stream: true }),
  agentTurn(4),
  // A hard rule sends it to pro.
  ask("Passwords are compared in plain text in login.ts. Fix it.", security, { "x-goal-id": "login" }),
  ask("Say hello.", {}, { authorization: "" }),
  ask("Say hello.", { model: "gpt-none" }),
];

/** The request of this number, from 0 on. */
export function sampleRequest(n: number): SampleRequest {
  return requests[n % requests.length] ?? ask("Say hello.");
}

function ask(content: string, body: object = {}, headers: object = {}): SampleRequest {
  return {
    headers: { "x-session-id": "demo-traffic", ...headers },
    body: { model: "smart-router", messages: [{ role: "user", content }], max_tokens: 400, ...body },
  };
}

/** Test runs that fail in the same way, with a change between them, until the gateway calls a stronger model. */
function agentTurn(runs: number): SampleRequest {
  const request = "Make the tests of the parser pass.";
  const content = "FAIL parser.test.ts\nTypeError: token.kind is undefined at parse (parser.ts:88)\nexit code 1";
  const tool = { name: "run_tests", description: "Runs the tests.", parameters: { type: "object", properties: {} } };
  const steps = Array.from({ length: runs }, (_, at) => {
    const call = { id: `call_${at}`, type: "function", function: { name: "run_tests", arguments: "{}" } };
    return [
      { role: "assistant", content: at === 0 ? null : "I changed the parser.", tool_calls: [call] },
      { role: "tool", tool_call_id: call.id, content },
    ];
  });
  const messages = [{ role: "user", content: request }, ...steps.flat()];
  const tools = [{ type: "function", function: tool }];
  return ask(request, { messages, tools, stream: true }, { "x-goal-id": "parser" });
}
