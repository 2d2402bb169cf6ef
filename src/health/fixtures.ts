import type { Model, ModelKey, ModelRegistry, Role } from "#domain/model.ts";
import type { NanoUsdPerMTok } from "#domain/money/money.ts";
import type { EvidenceSource, Verdict } from "./health.ts";

export const second = 1_000;
export const minute = 60_000;
export const flash = "vendor_v4_flash";
export const pro = "vendor_v4_pro";
export const ok: Verdict = { kind: "success", firstTokenMs: 300 };
export const bad: Verdict = { kind: "failure", reason: "timed_out" };
export const empty: Verdict = { kind: "garbage", reason: "empty answer" };
/** One caller with one conversation. */
export const ann: EvidenceSource = { caller: 1, conversation: "ann", billed: "ann" };
/** A conversation of its own for each number. */
export const talk = (n: number, caller = 1): EvidenceSource => ({
  caller,
  conversation: `talk ${n}`,
  billed: `talk ${n}`,
});

const free = 0 as NanoUsdPerMTok; // a literal price, not money that is counted

export function modelWith(key: ModelKey, role: Role, enabled = true): Model {
  return {
    key,
    role,
    upstreamId: `vendor/${key}`,
    price: { input: free, cachedInput: free, output: free },
    contextTokens: 1,
    maxOutputTokens: 1,
    defaultOutputTokens: 1,
    free: role === "scout",
    enabled,
    reasoning: false,
    timeoutsMs: {},
  };
}

export function registryWith(...models: Model[]): ModelRegistry {
  return { models: new Map(models.map((one) => [one.key, one])), byRole: {} };
}
