import type { ChatMessage } from "#domain/chat.ts";
import { assess } from "#pipeline/assess/assess.ts";
import { inMemoryTaskMemory } from "#pipeline/assess/task/task-memory.ts";
import { quantile } from "../support/quantiles.ts";
import { threadTime } from "../support/thread-time.ts";
import { benchPolicy, requestWith } from "./assessed.ts";

const prose = "Please look at the service that handles retries, and explain why the second attempt is lost.\n";
const code = "  const held = await ledger.reserve({ id, amount }); // src/ledger/hold.ts\n";
const toolLoop = (turns: number, size: number): ChatMessage[] => [
  { role: "system", content: "You are a coding agent. Working directory: /srv/app\n".repeat(40) },
  {
    role: "user",
    content: `Fix the failing retry test in src/ledger/hold.ts.\n<environment_details>${code.repeat(20)}</environment_details>`,
  },
  ...Array.from({ length: turns }, (_, turn): ChatMessage[] => [
    {
      role: "assistant",
      content: null,
      tool_calls: [
        {
          id: `c${turn}`,
          type: "function",
          function: { name: turn % 2 ? "bash" : "edit_file", arguments: `{"path":"src/f${turn}.ts"}` },
        },
      ],
    },
    {
      role: "tool",
      tool_call_id: `c${turn}`,
      content: `${code.repeat(size)}\n3 failed\nTypeError: x is not a function`,
    },
  ]).flat(),
];
const ask = (content: string) => (run: number) => [{ role: "user" as const, content: `${run}: ${content}` }];
const turn = (messages: ChatMessage[]) => () => messages;
/** Each ask is new, because what one showed is remembered. The ask of an agent's loop is the same in all of its turns, as it is in use. */
const conversations: Record<string, (run: number) => ChatMessage[]> = {
  "one short question": ask("What is the capital of France?"),
  "one ask of 2 kB": ask(prose.repeat(22)),
  "one ask of 8 kB": ask(prose.repeat(40) + code.repeat(55)),
  "one ask of 20 kB": ask(prose.repeat(100) + code.repeat(140)),
  "agent loop of 20 kB": turn(toolLoop(10, 24)),
  "agent loop of 400 kB": turn(toolLoop(40, 135)),
  "agent loop of 1 MB": turn(toolLoop(100, 135)),
};
/** CPU time of one `assess`, microseconds. */
export interface AssessTime {
  readonly name: string;
  readonly bytes: number;
  readonly p10: number;
  readonly p50: number;
  readonly p99: number;
}

export function measureTimes(rounds = 16_000): AssessTime[] {
  const memory = inMemoryTaskMemory(() => benchPolicy.tasks);
  return Object.entries(conversations).map(([name, messagesOf]) => {
    const times: number[] = [];
    for (let run = 0; run < rounds; run++) {
      const request = requestWith({ messages: messagesOf(run) });
      const start = threadTime();
      assess(request, request.body, memory, { now: 0, policy: benchPolicy, redactions: 0 });
      times.push((threadTime() - start) / 1_000);
    }
    const settled = times.slice(rounds / 2);
    const at = (share: number) => quantile(settled, share);
    return { name, bytes: JSON.stringify(messagesOf(0)).length, p10: at(0.1), p50: at(0.5), p99: at(0.99) };
  });
}
