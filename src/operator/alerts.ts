import { dollarText } from "#domain/money/money.ts";
import type { LostCommits } from "#ledger/ledger.ts";
import { differenceOf, isNotable } from "#ledger/reconcile/reconciliation-job.ts";
import type { SummaryShare } from "#records/store/summaries.ts";
import type { BudgetLine, Budgets, Pace } from "./budgets.ts";
import type { DecisionFilter } from "./query.ts";
import type { OperatorSources } from "./sources.ts";

/** The share of a cap from which its use is shown. */
const nearCapShare = 0.8;
/** Drifts and dropped records are news for a day. */
const recentMs = 24 * 3_600_000;

/** How severe each alert is, the most severe first, and which view shows more. */
const kinds = {
  cap_reached: ["act", "budgets"],
  all_models_out: ["act", "models"],
  aggregator_down: ["act", "models"],
  reload_refused: ["act", "policy"],
  store_unavailable: ["act", "now"],
  ledger_failed: ["act", "now"],
  commits_lost: ["watch", "now"],
  cap_near: ["watch", "budgets"],
  cap_pace: ["watch", "budgets"],
  unresolved_hold: ["watch", "budgets"],
  price_drift: ["watch", "models"],
  records_dropped: ["watch", "decisions"],
  money_unreconciled: ["watch", "budgets"],
  model_out: ["watch", "models"],
  model_failing: ["watch", "models"],
  nothing_yet: ["info", "now"],
} as const;
type Kind = keyof typeof kinds;
const order = Object.keys(kinds);

/** What more there is to say. */
const nothingMore = {
  /** A command that does it, without the words before it. */
  command: null as string | null,
  since_ms: null as number | null,
  amount_nano_usd: null as number | null,
  /** The list of decisions that shows more. */
  filter: null as DecisionFilter | null,
  /** The model, account or hold that it concerns. */
  target: null as string | null,
};
/** The problem and what to do, each as a sentence. */
type Finding = Generator<readonly [kind: Kind, title: string, todo: string, more?: Partial<typeof nothingMore>]>;

interface Seen {
  readonly caps: { readonly day: BudgetLine; readonly pace: Pace } & Pick<Budgets, "goals" | "keys">;
  readonly totals: Budgets["totals"];
  /** The calls of each model within the last hour. */
  readonly recent: readonly Pick<SummaryShare, "key" | "requests" | "failed">[];
  /** Nothing was ever recorded. */
  readonly isNew: boolean;
}

/** What an operator should look at, the most severe first; empty when all is well. */
export function listAlerts(sources: OperatorSources, { caps, totals, recent, isNew }: Seen) {
  const found = [
    ...[...storeAlerts(sources), ...healthAlerts(sources), ...failingAlerts(sources, recent), ...capAlerts(caps)],
    ...[...holdAlerts(totals), ...moneyAlerts(sources), ...otherAlerts(sources, isNew)],
  ];
  return found
    .map(([kind, title, todo, { command, ...more } = {}]) => ({
      ...{ kind, title, todo, ...nothingMore, ...more },
      // Stays the same while the problem lasts.
      id: [kind, more.target, kind === "price_drift" ? title : ""].join(" ").trim(),
      // `act`: requests are refused or money is at risk; `watch`: that may follow; `info`: first steps.
      severity: kinds[kind][0],
      view: kinds[kind][1],
      command: command == null ? null : `${sources.installation.command} ${command}`,
    }))
    .sort((a, b) => order.indexOf(a.kind) - order.indexOf(b.kind));
}
export type Alert = ReturnType<typeof listAlerts>[number];

/** What a database has lost, as the end of a sentence about it. */
export function lostCommitsText({ batches, restored, silent }: LostCommits): string {
  const unknown = silent.length === 0 ? "" : `; what ${silent.join(", ")} wrote last is not known`;
  return `lost ${batches} commits in a fail-over, ${restored} entries were restored${unknown}`;
}

function* storeAlerts({ ledger }: OperatorSources): Finding {
  const { ok, failed, lostCommits } = ledger.status();
  if (lostCommits !== undefined) {
    const todo = "Compare the day with the aggregator's count, and have commits wait for a standby.";
    yield ["commits_lost", `The database ${lostCommitsText(lostCommits)}.`, todo, { command: "budgets reconcile" }];
  }
  if (failed !== undefined) {
    const [title, todo] =
      failed === "store_lost"
        ? ["was deleted, replaced or emptied", "Restore the database, then restart the gateway."]
        : ["could not be synced to disk by this process", "Restart the gateway."];
    yield ["ledger_failed", `The budget store ${title}, and nothing is admitted.`, todo];
  } else if (!ok) {
    const title = "The budget store does not answer, and requests that cost anything are refused.";
    yield ["store_unavailable", title, "See whether the database runs and can be reached.", { command: "doctor" }];
  }
}

function* healthAlerts({ health, config }: OperatorSources): Finding {
  const { registry, policy } = config();
  const [models, outage] = [Object.entries(health.view()), health.outage()];
  if (outage !== undefined) {
    const title = `The aggregator cannot be used: ${outage.reason}.`;
    const todo = "It is tried again by itself. Check the network and UPSTREAM_BASE_URL.";
    yield ["aggregator_down", title, todo, { command: "doctor", since_ms: outage.sinceMs }];
  }
  const chain = policy.health.senior_fallback_chain;
  const isOut = (key: string) => models.find(([model]) => model === key)?.[1].routable === false;
  if (chain.length > 0 && chain.every(isOut)) {
    const title = "No model of the senior chain can serve, and sensitive requests are refused.";
    yield ["all_models_out", title, "See why each is out. `models reset` forgives what a model has done."];
  }
  for (const [model, { state, routable, reason, sinceMs }] of models) {
    const entry = registry.models.get(model);
    const isUsed = entry !== undefined && (registry.byRole[entry.role] === entry || chain.includes(model));
    if (routable || !isUsed || !entry.enabled) continue;
    const byOperator = state === "DISABLED";
    const todo = byOperator ? "Enable it when it may serve again." : "It is probed by itself. See its errors.";
    const more = { since_ms: sinceMs, target: model, filter: { model } };
    const command = byOperator ? { command: `models enable ${model}` } : {};
    yield ["model_out", `${model} is out of service (${state}): ${reason}.`, todo, { ...more, ...command }];
  }
}

/** A model that is in service and fails: from this share of its calls, and so many of them. */
const failingShare = 0.25;
const failingCalls = 5;

function* failingAlerts({ health }: OperatorSources, recent: Seen["recent"]): Finding {
  const view = health.view();
  for (const { key, requests, failed } of recent) {
    if (view[key]?.routable !== true || failed < failingCalls || failed < failingShare * requests) continue;
    const title = `${key} is in service, and ${failed} of its ${requests} calls of the last hour have failed.`;
    yield ["model_failing", title, "See which errors they are.", { target: key, filter: { model: key } }];
  }
}

function* capAlerts({ day, goals, keys, pace }: Seen["caps"]): Finding {
  for (const cap of [day, ...goals, ...keys]) {
    const share = cap.used_share ?? 0;
    if (cap.hard_nano_usd === null || share < nearCapShare) continue;
    const reached = share >= 1;
    const what = cap.kind === "day" ? `The day ${cap.name} (UTC)` : `The ${cap.kind} ${cap.name}`;
    const unproven = cap.unproven_nano_usd > 0 ? ` (${dollarText(cap.unproven_nano_usd)} of it unproven)` : "";
    const [spent, held, hard] = [cap.spent_nano_usd, cap.held_nano_usd, cap.hard_nano_usd].map(dollarText);
    const figures = `${spent} spent${unproven} and ${held} held of ${hard}`;
    yield [
      reached ? "cap_reached" : "cap_near",
      `${what} has used ${Math.floor(share * 100)} % of its hard cap: ${figures}.`,
      `${reached ? "Further requests are refused. " : ""}Raise the cap, or let it stand.`,
      { amount_nano_usd: cap.left_nano_usd, target: cap.account },
    ];
  }
  if (pace.runs_out_at_ms !== null && (day.used_share ?? 0) < nearCapShare) {
    const minutes = Math.round(pace.window_ms / 60_000);
    const title = `At the pace of the last ${minutes} minutes the day's cap is reached before the UTC day ends.`;
    const more = { amount_nano_usd: day.left_nano_usd, target: day.account };
    yield ["cap_pace", title, "See which goals spend it.", more];
  }
}

function* holdAlerts(totals: Budgets["totals"]): Finding {
  const open = totals.filter(({ state }) => state === "unresolved" || state === "orphaned");
  const count = open.reduce((sum, total) => sum + total.count, 0);
  const amount = open.reduce((sum, total) => sum + total.held_nano_usd, 0);
  if (count === 0) return;
  const calls = count === 1 ? "one call has" : `${count} calls have`;
  const todo = "Each is charged in full when it expires, unless you settle or release it before.";
  const more = { command: "budgets holds", amount_nano_usd: amount };
  yield ["unresolved_hold", `Nobody knows what ${calls} cost: ${dollarText(amount)} is held.`, todo, more];
}

function* moneyAlerts({ reconciliation, drifts, notices, clock }: OperatorSources): Finding {
  const counted = reconciliation();
  if (counted !== undefined && isNotable(counted)) {
    const { day, readMs } = counted;
    const difference = differenceOf(counted);
    const amount = Math.abs(difference);
    const much = `${dollarText(amount)} ${difference > 0 ? "more" : "less"}`;
    const title = `The aggregator has counted ${much} on ${day} than the ledger.`;
    const todo = "Other users of the same key explain more. Prices that are out of date explain either.";
    const command = `budgets reconcile --day ${day}`;
    yield ["money_unreconciled", title, todo, { command, since_ms: readMs, amount_nano_usd: amount, target: day }];
  }
  const filtered = notices.filtered.filter(({ atMs }) => clock.now() - atMs < recentMs);
  for (const { model, reason, detail, atMs } of [...drifts(), ...filtered]) {
    const todo =
      "Correct its price or its upstream_id in the registry if the aggregator's list is right, or disable it.";
    const more = { command: "models sync", since_ms: atMs, target: model };
    yield ["price_drift", `${model} (${reason.replaceAll("_", " ")}): ${detail}.`, todo, more];
  }
}

function* otherAlerts({ configStatus, records, clock, installation }: OperatorSources, isNew: boolean): Finding {
  const { state, loadedAtMs } = configStatus();
  if (state !== "current") {
    const title = "The policy or the model registry has changed and was refused. The last good one is in force.";
    const todo = "Mend what is wrong with the file; it is read again when it changes.";
    yield ["reload_refused", title, todo, { command: "policy check", since_ms: loadedAtMs }];
  }
  const { dropped, droppedAtMs = 0, kind, ok } = records.status();
  if (kind !== "off" && (!ok || (dropped > 0 && clock.now() - droppedAtMs < recentMs))) {
    const title = ok
      ? `${dropped} decision records were lost because the store was too slow. No money was.`
      : `Decision records cannot be written now, and ${dropped} were lost. No money was.`;
    const todo = "Lists and sums lack these requests. The ledger has them.";
    yield ["records_dropped", title, todo, { since_ms: droppedAtMs || null }];
  }
  if (!isNew) return;
  const todo = installation.demo
    ? "Make sample traffic: the simulator answers, nothing is spent."
    : "Point an OpenAI-compatible client at this gateway's address and /v1.";
  const command = installation.demo ? "demo traffic" : null;
  yield ["nothing_yet", "No request has been recorded yet.", todo, { command }];
}
