import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { capsOf } from "#config/policy.ts";
import type { ChatMessage, JsonObject } from "#domain/chat.ts";
import { loadRegistry } from "#models/load-registry.ts";
import { assess } from "#pipeline/assess/assess.ts";
import { inMemoryTaskMemory } from "#pipeline/assess/task/task-memory.ts";
import { decide } from "#pipeline/decide/decide.ts";
import { takeSnapshot } from "#pipeline/take-snapshot.ts";
import { benchPolicy, requestWith } from "./assessed.ts";

const folder = join(import.meta.dir, "../../../shared/agent-requests");

export interface Captured {
  readonly right: number;
  readonly wrong: readonly string[];
}

/** The routing of captured requests of agents, compared with the expected tier. Undefined if the data is absent. */
export function assessCaptured(): Captured | undefined {
  if (!existsSync(folder)) return undefined;
  const labels = JSON.parse(readFileSync(join(folder, "labels.json"), "utf8")) as Record<string, { tier: string }>;
  const loaded = loadRegistry(undefined);
  if (loaded.kind !== "ok") throw new Error("the shipped registry is invalid");
  const configuration = { policy: benchPolicy, registry: loaded.registry, caps: capsOf(benchPolicy) };
  const wrong: string[] = [];
  let right = 0;
  for (const file of readdirSync(folder).sort()) {
    const label = labels[file.replace(/\.json$/, "")];
    if (label === undefined) continue;
    const body = JSON.parse(readFileSync(join(folder, file), "utf8")) as JsonObject & { messages: ChatMessage[] };
    const limit = body["max_tokens"];
    const request = {
      ...requestWith(body, JSON.stringify(body).length),
      requestedOutputTokens: typeof limit === "number" ? limit : null,
    };
    const memory = inMemoryTaskMemory(() => benchPolicy.tasks);
    const { task, runtime, size, scale } = assess(request, body, memory, {
      now: 0,
      policy: benchPolicy,
      redactions: 0,
    });
    const snapshot = { ...takeSnapshot(configuration as never, {}, size), scale }; // the fields that a snapshot reads
    const { model } = decide(task, runtime, snapshot);
    const tier = loaded.registry.models.get(model ?? "")?.role === "worker" ? "flash" : "pro";
    if (label.tier === "any" || label.tier === tier) right++;
    else wrong.push(file);
  }
  return { right, wrong };
}
