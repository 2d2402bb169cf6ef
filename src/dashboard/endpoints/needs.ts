import type { CapUse, Pace } from "#dashboard/ledger-view.ts";
import type { DecisionFilter } from "#dashboard/query.ts";
import type { DashboardSources } from "#dashboard/sources.ts";
import { dollarText } from "#domain/money/dollar-text.ts";
import type { HoldTotal } from "#ledger/admin/holds.ts";
import { differenceOf, isNotable } from "#ledger/reconcile/key-usage-watch.ts";

/** The share of a cap from which its use is shown. */
const nearCapShare = 0.8;
/** Drifts and dropped records are news for a day. */
const recentMs = 24 * 3_600_000;

interface NeedInputs {
  readonly day: CapUse;
  readonly goals: readonly CapUse[];
  readonly pace: Pace;
  readonly totals: readonly HoldTotal[];
  /** Nothing was ever recorded. */
  readonly isNew: boolean;
}

/** How severe each need is, the most severe first, and which view shows more. */
const kinds = {
  cap_reached: ["act", "budgets"],
  all_models_out: ["act", "models"],
  aggregator_down: ["act", "models"],
  reload_refused: ["act", "policy"],
  store_unavailable: ["act", "now"],
  ledger_failed: ["act", "now"],
  cap_near: ["watch", "budgets"],
  cap_pace: ["watch", "budgets"],
  unresolved_hold: ["watch", "budgets"],
  price_drift: ["watch", "models"],
  records_dropped: ["watch", "decisions"],
  money_unreconciled: ["watch", "budgets"],
  model_out: ["watch", "models"],
  nothing_yet: ["info", "now"],
} as const;
type Kind = keyof typeof kinds;
const order = Object.keys(kinds);

/** The problem and what to do, each as a sentence; a command that does it; what it concerns and how much it is. */
interface Found {
  readonly kind: Kind;
  readonly title: string;
  readonly todo: string;
  /** Without the words before it. */
  readonly command?: string | null;
  readonly since_ms?: number | null;
  readonly amount_nano_usd?: number | null;
  readonly count?: number;
  /** The list of decisions that shows more. */
  readonly filter?: DecisionFilter;
  /** The model, account or hold that it concerns. */
  readonly target?: string;
  /** Stays the same while the problem lasts. */
  readonly id?: string;
}
type Finding = Generator<Found, void, undefined>;

/** What an operator should look at, the most severe first; empty when all is well. */
export function listNeeds(sources: DashboardSources, inputs: NeedInputs) {
  const found = [
    ...storeNeeds(sources),
    ...healthNeeds(sources),
    ...capNeeds(inputs),
    ...holdNeeds(inputs.totals),
    ...moneyNeeds(sources),
    ...configNeeds(sources),
    ...recordNeeds(sources),
    ...(inputs.isNew ? [firstSteps(sources)] : []),
  ];
  return found
    .map(({ command = null, target = null, ...given }) => ({
      id: target === null ? given.kind : `${given.kind} ${target}`,
      since_ms: null,
      amount_nano_usd: null,
      count: null,
      filter: null,
      ...given,
      // `act`: requests are refused or money is at risk; `watch`: that may follow; `info`: first steps.
      severity: kinds[given.kind][0],
      view: kinds[given.kind][1],
      target,
      command: command === null ? null : `${sources.installation.command} ${command}`,
    }))
    .sort((a, b) => order.indexOf(a.kind) - order.indexOf(b.kind));
}
export type Need = ReturnType<typeof listNeeds>[number];

function* storeNeeds({ ledger }: DashboardSources): Finding {
  const { ok, failed } = ledger.status();
  if (failed !== undefined) {
    const [title, todo] =
      failed === "store_lost"
        ? ["was deleted, replaced or emptied", "Restore the database, then restart the gateway."]
        : ["could not be synced to disk by this process", "Restart the gateway."];
    yield { kind: "ledger_failed", title: `The budget store ${title}, and nothing is admitted.`, todo };
  } else if (!ok) {
    yield {
      kind: "store_unavailable",
      title: "The budget store does not answer, and requests that cost anything are refused.",
      todo: "See whether the database runs and can be reached.",
      command: "doctor",
    };
  }
}

function* healthNeeds({ health, config }: DashboardSources): Finding {
  const { registry, policy } = config();
  const { models, aggregator } = health.status();
  if (aggregator.state !== "closed") {
    yield {
      kind: "aggregator_down",
      title: `The aggregator cannot be used: ${aggregator.reason ?? "its calls fail"}.`,
      todo: "It is tried again by itself. Check the key, the credit and the network.",
      command: "doctor",
      since_ms: aggregator.sinceMs ?? null,
    };
  }
  const chain = policy.health.senior_fallback_chain;
  const isOut = (key: string) => models.find(({ model }) => model === key)?.routable === false;
  if (chain.length > 0 && chain.every(isOut)) {
    yield {
      kind: "all_models_out",
      title: "No model of the senior chain can serve, and sensitive requests are refused.",
      todo: "See why each is out. `models reset` forgives what a model has done.",
    };
  }
  for (const { model, state, routable, reason, sinceMs } of models) {
    const entry = registry.models.get(model);
    const isUsed = entry !== undefined && (registry.byRole[entry.role] === entry || chain.includes(model));
    if (routable || !isUsed || !entry.enabled) continue;
    const byOperator = state === "DISABLED";
    yield {
      kind: "model_out",
      title: `${model} is out of service (${state}): ${reason}.`,
      todo: byOperator ? "Enable it when it may serve again." : "It is probed by itself. See its errors.",
      command: byOperator ? `models enable ${model}` : null,
      since_ms: sinceMs,
      target: model,
      filter: { model },
    };
  }
}

function* capNeeds({ day, goals, pace }: NeedInputs): Finding {
  for (const cap of [day, ...goals]) {
    const share = cap.used_share ?? 0;
    if (cap.hard_nano_usd === null || share < nearCapShare) continue;
    const reached = share >= 1;
    const what = cap.kind === "day" ? `The day ${cap.name} (UTC)` : `The goal ${cap.name}`;
    const figures = `${dollarText(cap.spent_nano_usd)} spent and ${dollarText(cap.held_nano_usd)} held of ${dollarText(cap.hard_nano_usd)}`;
    yield {
      kind: reached ? "cap_reached" : "cap_near",
      title: `${what} has used ${Math.floor(share * 100)} % of its hard cap: ${figures}.`,
      todo: `${reached ? "Further requests are refused. " : ""}Raise the cap, or let it stand.`,
      amount_nano_usd: cap.left_nano_usd,
      target: cap.account,
    };
  }
  if (pace.runs_out_at_ms !== null && (day.used_share ?? 0) < nearCapShare) {
    yield {
      kind: "cap_pace",
      title: `At the pace of the last ${Math.round(pace.window_ms / 60_000)} minutes the day's cap is reached before the UTC day ends.`,
      todo: "See which goals spend it.",
      amount_nano_usd: day.left_nano_usd,
      target: day.account,
    };
  }
}

function* holdNeeds(totals: readonly HoldTotal[]): Finding {
  const open = totals.filter(({ state }) => state === "unresolved" || state === "orphaned");
  const count = open.reduce((sum, total) => sum + total.count, 0);
  const amount = open.reduce((sum, total) => sum + total.amount, 0);
  if (count === 0) return;
  yield {
    kind: "unresolved_hold",
    title: `Nobody knows what ${count === 1 ? "one call has" : `${count} calls have`} cost: ${dollarText(amount)} is held.`,
    todo: "Each is charged in full when it expires, unless you settle or release it before.",
    command: "budgets holds",
    count,
    amount_nano_usd: amount,
  };
}

/** What has happened to a model's entry in the aggregator's list, and what to do. Not every drift is about a price. */
const drifted: Readonly<Record<string, readonly [what: string, todo: string]>> = {
  expires: ["will lose its model", "Name another model in the registry before."],
  not_listed: ["has a model that is not listed", "Correct its upstream_id in the registry, or disable it."],
  repointed: ["is answered by another model", "If it may not, name the model that you want in the registry."],
  constraint_filtered: ["had calls refused", "Compare the prices. Raise the registry's if the hosts' are right."],
};
const priceChanged = [
  "has another price",
  "Write the aggregator's prices into the registry if they are right.",
] as const;

function* moneyNeeds({ reconciliation, drifts, notices, clock }: DashboardSources): Finding {
  const counted = reconciliation();
  if (counted !== undefined && isNotable(counted)) {
    const difference = differenceOf(counted);
    const amount = Math.abs(difference);
    yield {
      kind: "money_unreconciled",
      title: `The aggregator has counted ${dollarText(amount)} ${difference > 0 ? "more" : "less"} on ${counted.day} than the ledger.`,
      todo: "Other users of the same key explain more. Prices that are out of date explain either.",
      command: `budgets reconcile --day ${counted.day}`,
      since_ms: counted.readMs,
      amount_nano_usd: amount,
      target: counted.day,
    };
  }
  const filtered = notices.filtered.filter(({ atMs }) => clock.now() - atMs < recentMs);
  for (const { model, reason, detail, atMs } of [...drifts(), ...filtered]) {
    const id = `price_drift ${model} ${reason}`;
    const [what, todo] = drifted[reason] ?? priceChanged;
    const title = `${model} ${what}: ${detail}.`;
    yield { kind: "price_drift", id, title, todo, command: "models sync", since_ms: atMs, target: model };
  }
}

function* configNeeds({ configStatus }: DashboardSources): Finding {
  const { state, loadedAtMs } = configStatus();
  if (state === "current") return;
  yield {
    kind: "reload_refused",
    title: `The policy or the model registry has changed and was refused. The last good one is in force.`,
    todo: "Mend what is wrong with the file; it is read again when it changes.",
    command: "policy check",
    since_ms: loadedAtMs,
  };
}

function* recordNeeds({ records, clock }: DashboardSources): Finding {
  const { dropped, droppedAtMs, kind, ok } = records.status();
  const isNews = droppedAtMs !== undefined && clock.now() - droppedAtMs < recentMs;
  if (kind === "off" || (ok && (dropped === 0 || !isNews))) return;
  const title = ok
    ? `${dropped} decision records were lost because the store was too slow. No money was.`
    : `Decision records cannot be written now, and ${dropped} were lost. No money was.`;
  const todo = "Lists and sums lack these requests. The ledger has them.";
  yield { kind: "records_dropped", title, todo, count: dropped, since_ms: droppedAtMs ?? null };
}

function firstSteps({ installation: { demo } }: DashboardSources): Found {
  const todo = demo
    ? "Make sample traffic: the simulator answers, nothing is spent."
    : "Point an OpenAI-compatible client at this gateway's address and /v1.";
  const command = demo ? "demo traffic" : null;
  return { kind: "nothing_yet", title: "No request has been recorded yet.", todo, command };
}
