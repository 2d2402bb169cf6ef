import { z } from "zod";
import { endpoint } from "#dashboard/endpoint.ts";
import { listAlerts } from "#operator/alerts.ts";
import { currentBudgets } from "#operator/budgets.ts";
import {
  counted,
  failedOutcomes,
  firstToken,
  hourMs,
  namedRange,
  noValue,
  RangeQuery,
  sumsOfKeys,
  timeRange,
  utcDayRange,
} from "#operator/query.ts";
import { type OperatorSources, tierOf } from "#operator/sources.ts";
import { refusers } from "#records/decision-record.ts";
import {
  type RecordSeries,
  type RecordSummary,
  type SeriesMetric,
  type SummaryShare,
  seriesKeys,
  seriesMetrics,
} from "#records/store/summaries.ts";
import { otherNames } from "#records/store/sums.ts";

/** Goals in the summary, by cost and by what they have used of their cap. */
const maxGoals = 10;
const maxModels = 500;
const maxCaps = 5;
/** Lines of a series: as many as a chart can show apart. What is left over stands in the last. */
const maxLines = 4;

/** The first view: the gateway's state, the sums of a range, a number over time. */
export function nowEndpoints(sources: OperatorSources) {
  const { clock, config, records } = sources;
  return {
    "GET session": endpoint({
      about: "The caller, and the gateway's version and state.",
      answer({ operator }) {
        const { version, nodeId, demo, command } = sources.installation;
        const { kind, ok, failed = null } = sources.ledger.status();
        return {
          version,
          node_id: nodeId,
          demo,
          operator: operator.name,
          signed_in: operator.by === "session",
          command,
          config_hash: sources.configStatus().hash,
          store: { kind, ok, failed },
        };
      },
    }),

    "GET summary": endpoint({
      about: "What needs attention, spending against caps, and where requests were routed.",
      query: RangeQuery,
      async answer({ query }) {
        const nowMs = clock.now();
        const range = namedRange(query, nowMs);
        const { budgets, day, pace } = await currentBudgets(sources);
        const { goals: accounts, keys } = budgets;
        // Yesterday's requests without a goal have no cap any more.
        const current = accounts.filter(({ past }) => !past);
        const caps = { day, pace, goals: current.slice(0, maxCaps), keys: keys.slice(0, maxCaps) };
        const [all, calls, recent, today, goals] = await Promise.all([
          records.summary(timeRange(range)),
          records.groups("attempt", timeRange(range), maxModels),
          records.groups("attempt", { fromMs: nowMs - hourMs, toMs: Math.ceil(nowMs) + 1 }, maxModels),
          records.summary(utcDayRange(nowMs)),
          records.groups("goal", timeRange(range), maxGoals),
        ]);
        const isNew = all.requests === 0 && all.oldest_record_ms === null;
        const sums = counted(range);
        const word = ({ key }: SummaryShare) => (key === "" ? noValue : key);
        const spent = day.spent_nano_usd;
        return {
          range,
          at_ms: nowMs,
          needs_you: listAlerts(sources, { caps, totals: budgets.totals, recent, isNew }),
          total: sums(all, {}),
          answered: sums(sumsOfKeys(all.by.outcome, ["answered"]), { outcome: "answered" }),
          refused: sums(sumsOfKeys(all.by.outcome, ["refused"]), { outcome: "refused" }),
          failed: sums(sumsOfKeys(all.by.outcome, failedOutcomes), { outcome: failedOutcomes.join(",") }),
          refused_by: refusers.map((by) => ({ ...sums(sumsOfKeys(all.by.refused_by, [by]), { refused_by: by }), by })),
          by_cause: all.by.cause.map((share) => ({ ...sums(share, { cause: word(share) }), cause: share.key || null })),
          by_model: all.by.model.map((share) => ({
            ...sums(share, { model: word(share) }),
            model: share.key || null,
            tier: tierOf(sources, share.key),
          })),
          by_label: all.by.label.map((share) => ({ ...sums(share, { label: word(share) }), label: share.key || null })),
          by_goal: goals
            .filter(({ key }) => key !== otherNames)
            .map((group) => ({ ...sums(group, { goal: group.key }), goal: group.key || null })),
          tokens: { prompt: all.prompt_tokens, cached: all.cached_tokens, completion: all.completion_tokens },
          calls: callSums(calls),
          switches: { count: all.switches, cost_nano_usd: all.switch_nano_usd },
          first_token_ms: firstToken(all),
          caps,
          ledger: {
            day: budgets.today,
            spent_nano_usd: spent,
            records_nano_usd: today.cost_nano_usd,
            unexplained_nano_usd: spent - today.cost_nano_usd,
          },
          saved: savings(all, config().registry.byRole.senior?.key ?? null),
        };
      },
    }),

    "GET series": endpoint({
      about:
        "A metric over time, from the roll-ups: at most `points` points and 4 groups, of which the last may be `other`. A point without requests is null where a zero would be untrue.",
      query: RangeQuery.extend({
        metric: z.enum([...seriesMetrics, ...derivedMetrics]),
        by: z.enum(["none", ...seriesKeys]).default("none"),
        points: z.coerce.number().int().min(1).max(400).default(400),
      }),
      async answer({ query: { metric, by, points, ...query } }) {
        const range = namedRange(query, clock.now());
        const read = (one: SeriesMetric) =>
          records.series({ metric: one, range: timeRange(range), maxPoints: points, ...(by === "none" ? {} : { by }) });
        const [base, other] = await Promise.all((derived[metric] ?? [metric as SeriesMetric]).map(read)); // one of both kinds
        const lines = (base?.lines ?? []).map(({ key, values }) => {
          const others = other?.lines.find((line) => line.key === key)?.values ?? [];
          const combine = (value: number, and: number) =>
            metric === "tokens" ? value + and : value === 0 ? null : and / value;
          const isPlain = derived[metric] === undefined;
          return {
            key,
            values: values.map((value, at) => (value === null || isPlain ? value : combine(value, others[at] ?? 0))),
          };
        });
        const groups = largestLines(lines, !/share$|_ms$|_per_s$/.test(metric));
        return { range, metric, by, step_ms: base?.bucket_ms ?? hourMs, at_ms: base?.at_ms ?? [], groups };
      },
    }),
  };
}

/** Metrics that are made of two: a sum, and shares of the first one. */
const derivedMetrics = ["tokens", "cache_share", "failed_share"] as const;
const derived: Readonly<Record<string, readonly SeriesMetric[]>> = {
  tokens: ["prompt_tokens", "completion_tokens"],
  cache_share: ["prompt_tokens", "cached_tokens"],
  failed_share: ["attempts", "failed_attempts"],
} satisfies Record<(typeof derivedMetrics)[number], readonly SeriesMetric[]>;

function callSums(models: readonly SummaryShare[]) {
  const sumOf = (name: "requests" | "failed" | "retries" | "fail_overs") => sum(models.map((sums) => sums[name])) ?? 0;
  // A call that a retry or a fail-over followed: no caller has seen its failure.
  return { count: sumOf("requests"), failed: sumOf("failed"), repeated: sumOf("retries") + sumOf("fail_overs") };
}

/** What has no baseline (failed calls, for example) would have cost the same, so that spent and saved add up to it. */
function savings(all: RecordSummary, model: string | null) {
  const saved = all.baseline_nano_usd - all.baseline_cost_nano_usd;
  return {
    baseline:
      "Every answered request on the senior model, with the tokens that were recorded, the prices of the time, and the same share of the prompt read from the cache; other costs as they were.",
    model,
    requests: all.outcomes["answered"] ?? 0,
    cost_nano_usd: all.cost_nano_usd,
    baseline_nano_usd: all.cost_nano_usd + saved,
    saved_nano_usd: saved,
  };
}

/** The largest lines; the others together where their sum means something. */
function largestLines(lines: RecordSeries["lines"], isSum: boolean) {
  const group = (name: string, values: readonly (number | null)[]) => ({
    name,
    values,
    total: isSum ? sum(values) : null,
  });
  const groups = lines
    .map(({ key, values }) => group(key === "" ? noValue : key, values))
    .filter(({ total }) => total !== 0)
    .sort((a, b) => (b.total ?? 0) - (a.total ?? 0) || (a.name < b.name ? -1 : 1));
  if (groups.length <= maxLines) return groups;
  const rest = groups.slice(maxLines - 1);
  const others = rest[0]?.values.map((_, at) => sum(rest.map(({ values }) => values[at] ?? null))) ?? [];
  return isSum ? [...groups.slice(0, maxLines - 1), group("other", others)] : groups.slice(0, maxLines);
}

function sum(values: readonly (number | null)[]): number | null {
  const known = values.filter((value) => value !== null);
  return known.length === 0 ? null : known.reduce((total, value) => total + value, 0);
}
