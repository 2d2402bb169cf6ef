/**
 * What the local assessment is worth and what it costs: `bun bench/assess.ts`.
 * Quality needs the routing development data at ../shared/routing-dev; time does not.
 */
import type { ChatMessage, ChatRequest, JsonObject } from "#domain/chat.ts";
import { assess } from "#pipeline/assess/assess.ts";
import { inMemoryTaskMemory } from "#pipeline/assess/task/task-memory.ts";
import { midpointTier, scoreOf, zoneOf } from "#pipeline/decide/rules/score.ts";
import { Policy } from "#policy/schema.ts";
import { qualityOf, type Row, routingDev } from "./routing-dev.ts";

const policy = Policy.parse({
  routing: {},
  hard_rules: {},
  limits: {},
  scout: {},
  privacy: {},
  budget: {},
  health: {},
  upstream: {},
  stream: {},
  tasks: {},
  records: {},
});
const memory = inMemoryTaskMemory(() => policy.tasks);

function requestFor(body: JsonObject & { messages: ChatMessage[] }): ChatRequest {
  return {
    requestId: "bench",
    alias: "smart-router",
    stream: false,
    body,
    bodyBytes: 1_000,
    requestedOutputTokens: null,
    choices: 1,
    wantsUsage: false,
    routing: { forcePro: false, scoutFirst: false, taskFields: {} },
    receivedAtMs: 0,
  };
}

function assessed(row: Row) {
  const request = requestFor({
    messages: [{ role: "user", content: row.prompt }],
    ...(row.tools && { tools: row.tools.map((name) => ({ type: "function", function: { name } })) }),
  });
  const { task, runtime } = assess(request, request.body, memory, { now: 0, policy, redactions: 0 });
  return { task, score: scoreOf(task, runtime, policy, []) };
}

/** Sources whose strong model is small and fails the hardest questions too: no measure of who should answer them. */
const smallStrongModel = new Set(["llmrouter-math", "llmrouter-agentverse-logicgrid"]);

const percent = (value: number) => `${(100 * value).toFixed(0)} %`.padStart(6);

const data = routingDev();
if (data === undefined) console.log("No routing development data at ../shared/routing-dev: quality is not measured.\n");
else {
  console.log("source                          rows   gap  APGR  (by length)  CPT50  CPT80   flash   gray    pro");
  const judged: { apgr: number; byLength: number }[] = [];
  for (const [source, rows] of data) {
    const scored = rows.map((row) => ({ row, ...assessed(row) }));
    const zones = scored.map(({ score }) => zoneOf(score, policy));
    const share = (zone: string) => percent(zones.filter((each) => each === zone).length / zones.length);
    const paired = scored.flatMap(({ row, score }) =>
      row.weak_score === undefined || row.strong_score === undefined
        ? []
        : [{ score, length: row.prompt.length, weak: row.weak_score, strong: row.strong_score }],
    );
    let quality = "".padEnd(47);
    if (paired.length > 0) {
      const { apgr, cpt50, cpt80 } = qualityOf(paired);
      const byLength = qualityOf(paired.map((each) => ({ ...each, score: each.length }))).apgr;
      const gap = paired.reduce((sum, each) => sum + each.strong - each.weak, 0) / paired.length;
      if (gap >= 0.08 && rows.length >= 300 && !smallStrongModel.has(source)) judged.push({ apgr, byLength });
      quality =
        `${gap.toFixed(2).padStart(6)} ${apgr.toFixed(3).padStart(6)}  (${byLength.toFixed(3)})   ${percent(cpt50)} ${percent(cpt80)}`.padEnd(
          47,
        );
    }
    console.log(
      `${source.padEnd(30)} ${String(rows.length).padStart(5)} ${quality} ${share("flash")} ${share("gray")} ${share("pro")}`,
    );
  }
  const mean = (key: "apgr" | "byLength") =>
    (judged.reduce((sum, each) => sum + each[key], 0) / judged.length).toFixed(3);
  console.log(
    `mean APGR of ${judged.length} sources (300 rows and a gap of 0.08 or more): ${mean("apgr")}, by length ${mean("byLength")}\n`,
  );

  for (const source of ["kinds-authored", "uncommonroute-tiers"]) {
    const rows = (data.get(source) ?? []).filter((row) => row.kind !== undefined);
    const guesses = rows.map((row) => ({ row, kind: assessed(row).task.kind, risk: assessed(row).task.risk_level }));
    const right = guesses.filter(({ row, kind }) => row.kind === kind);
    console.log(
      `kind, ${source}: ${right.length} of ${rows.length} right (${percent(right.length / rows.length).trim()})`,
    );
    if (process.argv.includes("--misses")) {
      for (const { row, kind } of guesses) {
        if (row.kind !== kind) console.log(`  ${row.kind} taken for ${kind}: ${row.prompt.slice(0, 120)}`);
      }
    }
  }
  const tiers = (data.get("uncommonroute-tiers") ?? []).map((row) => ({ tier: row.tier, ...assessed(row) }));
  for (const tier of ["SIMPLE", "MEDIUM", "COMPLEX", "REASONING"]) {
    const scores = tiers.filter((each) => each.tier === tier).map(({ score }) => score);
    const share = (which: (score: number) => boolean) => percent(scores.filter(which).length / scores.length);
    const gray = (side: string) =>
      share((score) => zoneOf(score, policy) === "gray" && midpointTier(score, policy) === side);
    const zones = `flash ${share((score) => zoneOf(score, policy) === "flash")}, gray nearer flash ${gray("flash")}, gray nearer pro ${gray("pro")}, pro ${share((score) => zoneOf(score, policy) === "pro")}`;
    console.log(`tier ${tier.padEnd(9)} ${String(scores.length).padStart(4)}: ${zones}`);
  }
}

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
const conversations: Record<string, ChatMessage[]> = {
  "one short question": [{ role: "user", content: "What is the capital of France?" }],
  "one ask of 2 kB": [{ role: "user", content: prose.repeat(22) }],
  "one ask of 20 kB": [{ role: "user", content: prose.repeat(100) + code.repeat(140) }],
  "agent loop of 20 kB": toolLoop(10, 24),
  "agent loop of 1 MB": toolLoop(100, 135),
};
console.log("\nassess(), microseconds            bytes    p10    p50    p99");
for (const [name, messages] of Object.entries(conversations)) {
  const request = requestFor({ messages });
  const times: number[] = [];
  for (let run = 0; run < 3_000; run++) {
    const start = Bun.nanoseconds();
    assess(request, request.body, memory, { now: 0, policy, redactions: 0 });
    times.push((Bun.nanoseconds() - start) / 1_000);
  }
  const settled = times.slice(500).sort((a, b) => a - b);
  const at = (share: number) => (settled[Math.floor(share * settled.length)] ?? 0).toFixed(1).padStart(6);
  console.log(
    `${name.padEnd(28)} ${String(JSON.stringify(messages).length).padStart(10)} ${at(0.1)} ${at(0.5)} ${at(0.99)}`,
  );
}
