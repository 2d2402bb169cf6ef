import { type AuthKeys, callerKey, tokenDigest } from "#config/auth-keys.ts";
import { nearest } from "#config/problem.ts";
import type { NanoUsd } from "#domain/money/money.ts";
import { keyAccountOf } from "#ledger/rules/accounts.ts";
import type { RecordStore } from "#records/store/record-store.ts";
import type { Operator } from "./audit.ts";
import { keyAccounts } from "./budgets.ts";
import { isExpired, notRevoked } from "./caller-keys.ts";
import { invalidInput, OperatorProblem } from "./problem.ts";
import { utcDayRange } from "./query.ts";
import type { OperatorStores } from "./stores.ts";

const maxKeys = 10_000;

export interface NewKey {
  readonly label: string;
  readonly dayHard?: NanoUsd | undefined;
  readonly rpm?: number | undefined;
  readonly expiresMs?: number | undefined;
}

/** The keys of `AUTH_KEYS_FILE`, which each process reads by itself, and the time. */
interface Known {
  readonly ofFile: AuthKeys | undefined;
  readonly nowMs: number;
}

/** Makes a token for callers and stores its digest; the token itself is only in the answer. */
export async function addKey(
  stores: Pick<OperatorStores, "keys" | "actions">,
  { label, ...limits }: NewKey,
  operator: Operator,
  { ofFile, nowMs }: Known,
) {
  if (!/^[\p{L}\p{N}._@-]{1,100}$/u.test(label)) throw invalidInput("A label is 1 to 100 letters, digits, or . _ @ -");
  if (limits.expiresMs !== undefined && limits.expiresMs <= nowMs) throw invalidInput("This end has passed already.");
  const store = await stores.keys();
  const listed = await store.list();
  if (listed.length >= maxKeys) throw new OperatorProblem("conflict", `There are ${maxKeys} keys already.`);
  const key = callerKey(label, limits);
  const same = notRevoked(listed, ofFile).find((one) => one?.label === label);
  // Keys of a label share one account and one rate.
  if (same != null && (same.dayHard !== key.dayHard || same.rpm !== key.rpm)) {
    const detail = `There is a key ${label} with another cap or rate, and they share one account.`;
    throw new OperatorProblem("conflict", detail);
  }
  const token = `sgw_${Buffer.from(crypto.getRandomValues(new Uint8Array(30))).toString("base64url")}`;
  await store.add({ digest: tokenDigest(token), key, createdMs: Math.round(nowMs), createdBy: operator.name });
  const detail = Object.entries(limits).flatMap(([name, value]) => (value === undefined ? [] : [`${name}=${value}`]));
  await (await stores.actions()).add(operator, { action: "key_added", target: label, detail: detail.join(" ") });
  // From the first key on, other tokens are refused.
  return { label, token, first: listed.length === 0 && ofFile === undefined };
}

/** Withdraws all tokens of a label: every node refuses them within a second. */
export async function revokeKey(
  stores: Pick<OperatorStores, "keys" | "actions">,
  label: string,
  operator: Operator,
  { ofFile, nowMs }: Known,
) {
  const store = await stores.keys();
  const inFile = [...(ofFile?.values() ?? [])].some((key) => key?.label === label);
  const revoked = await store.revoke(label, Math.round(nowMs));
  if (revoked > 0) await (await stores.actions()).add(operator, { action: "key_revoked", target: label });
  if (inFile) throw new OperatorProblem("conflict", `${label} stands in AUTH_KEYS_FILE: remove its line there.`);
  if (revoked > 0) return { label, revoked };
  const labels = (await store.list()).map(({ key }) => key.label);
  const close = nearest(label, labels);
  const hint = close === undefined ? "" : `; did you mean ${close}?`;
  throw new OperatorProblem("not_found", `There is no key ${label} in force${hint}`, "not_found");
}

/** Every key, also one that was revoked: what it may spend and has spent today, and when it was last used. */
export async function listKeys(
  stores: Pick<OperatorStores, "keys" | "admin"> & { readonly records: () => Promise<Pick<RecordStore, "groups">> },
  { ofFile, nowMs, keptMs }: Known & { readonly keptMs: number },
) {
  const [store, admin, records] = await Promise.all([stores.keys(), stores.admin(), stores.records()]);
  const stored = (await store.list()).map((row) => ({ ...row, from: "database" as const }));
  const inFile = { from: "file" as const, createdMs: null, createdBy: null, revokedMs: null };
  const filed = [...(ofFile?.entries() ?? [])].map(([digest, key]) => ({ ...inFile, digest, key }));
  const day = await admin.today();
  const { fromMs, toMs } = utcDayRange(nowMs);
  const all = [...stored, ...filed];
  const keys = all.map(({ key }) => key);
  const [used, today, accounts] = await Promise.all([
    records.groups("label", { fromMs: Math.max(0, nowMs - keptMs), toMs }, maxKeys),
    records.groups("label", { fromMs, toMs }, maxKeys),
    keyAccounts(admin, keys, day),
  ]);
  return all.map(({ digest, key, from, createdMs, createdBy, revokedMs }) => {
    const account = key === null ? undefined : accounts.find(({ id }) => id === keyAccountOf(key.label, day));
    const of = (groups: typeof used) => groups.find((group) => group.key === key?.label);
    const state = revokedMs !== null ? "revoked" : isExpired(key, nowMs) ? "expired" : "in force";
    return {
      label: key?.label ?? null,
      state,
      /** Where it stands: in the database, or in AUTH_KEYS_FILE. */
      from,
      digest: digest.slice(0, 12),
      spent_today_nano_usd: account?.spent ?? of(today)?.cost_nano_usd ?? 0,
      held_nano_usd: account?.held ?? 0,
      day_hard_nano_usd: (key?.dayHard ?? null) as number | null,
      rpm: key?.rpm ?? null,
      /** The end of its last day. */
      expires_ms: key?.expiresMs ?? null,
      last_used_ms: of(used)?.last_ms ?? null,
      created_ms: createdMs,
      created_by: createdBy,
      revoked_ms: revokedMs,
    };
  });
}
