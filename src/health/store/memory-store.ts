import type { ModelKey } from "#domain/model.ts";
import {
  type HealthRow,
  type HealthSample,
  type HealthStore,
  type OverrideRow,
  sampleRetentionMs,
} from "./health-store.ts";

/** Health that is shared within one process and lost when it ends. */
export function memoryHealthStore(): HealthStore {
  const rows = new Map<ModelKey, HealthRow>();
  const overrides = new Map<ModelKey, OverrideRow>();
  const samples = new Map<string, HealthSample>();
  return {
    async load() {
      return { rows: [...rows.values()], overrides: [...overrides.values()], samples: [...samples.values()] };
    },
    async save(changes) {
      const written: ModelKey[] = [];
      for (const { basedOn, ...change } of changes) {
        if (rows.get(change.model)?.epoch !== basedOn) continue;
        rows.set(change.model, { ...change, epoch: (basedOn ?? 0) + 1 });
        written.push(change.model);
      }
      return written;
    },
    async saveSamples(reported) {
      for (const sample of reported) samples.set(JSON.stringify([sample.nodeId, sample.model]), sample);
      const newest = Math.max(...reported.map(({ atMs }) => atMs));
      for (const [key, { atMs }] of samples) if (atMs < newest - sampleRetentionMs) samples.delete(key);
    },
    async override({ model, action, atMs, by }) {
      const before = overrides.get(model);
      overrides.set(model, {
        model,
        disabled: action === "reset" ? (before?.disabled ?? false) : action === "disable",
        resetMs: action === "reset" ? atMs : (before?.resetMs ?? 0),
        changedMs: atMs,
        changedBy: by,
      });
    },
    async close() {},
  };
}
