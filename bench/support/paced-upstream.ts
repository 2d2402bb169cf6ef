/**
 * An upstream for benchmarks of many streams, in a process of its own: the simulator with one clock for all streams. Each
 * sends its first event at once, holds until the parent says `go`, and then sends one event per tick.
 * `bun bench/support/paced-upstream.ts EVENTS INTERVAL_MS`, with a channel to its parent.
 */

import { loadConfig } from "#config/load-config.ts";
import { nanoUsd } from "#domain/money/money.ts";
import { systemClock } from "#platform/system-clock.ts";
import type { Behaviour } from "#simulator/simulated-exchange.ts";
import { startSimulator } from "#simulator/simulator.ts";
import { chunk, usageChunk } from "#simulator/testing/scripted.ts";

const events = Number(process.argv[2] ?? 50);
const intervalMs = Number(process.argv[3] ?? 100);

const loaded = loadConfig({});
if (loaded.kind === "invalid") throw new Error("the shipped configuration is invalid");
const models = [...loaded.config.registry.models.values()];

const word = `data: ${JSON.stringify(chunk({ role: "assistant", content: "word " }))}\n\n`;
const end = [chunk({ content: "" }, "stop"), usageChunk({ input: 50, output: events, costUsd: 0.00002 })];
const lastPart = `${end.map((event) => `data: ${JSON.stringify(event)}\n\n`).join("")}data: [DONE]\n\n`;

let go = Promise.withResolvers<void>();
let tick = Promise.withResolvers<void>();
const ticking = setInterval(() => {
  const due = tick;
  tick = Promise.withResolvers<void>();
  due.resolve();
}, intervalMs);

const paced: Behaviour = async (exchange) => {
  exchange.bill(nanoUsd(20_000));
  await exchange.head(200, { "content-type": "text/event-stream" }, "chunked");
  await exchange.event(word);
  await exchange.until(go.promise);
  for (let sent = 1; sent < events && !exchange.over; sent++) {
    await tick.promise;
    await exchange.event(word);
  }
  await exchange.part(lastPart);
  await exchange.finish();
};

const simulator = await startSimulator({
  models: () => models,
  clock: systemClock,
  random: Math.random,
  script: () => paced,
});

process.on("message", (message) => {
  if (message === "go") go.resolve();
  if (message === "hold") go = Promise.withResolvers<void>();
});
process.on("disconnect", () => {
  clearInterval(ticking);
  void simulator.stop();
});
process.send?.({ url: simulator.url });
