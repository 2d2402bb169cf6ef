import { z } from "zod";
import { type Call, endpoint } from "#dashboard/endpoint.ts";
import type { ModelHealth } from "#health/health.ts";
import type { OverrideAction, OverrideRow } from "#health/store/health-store.ts";
import { overrideModel } from "#operator/model-overrides.ts";
import { counted, firstToken, namedRange, type Range, RangeQuery, timeRange } from "#operator/query.ts";
import { type OperatorSources, tierOf } from "#operator/sources.ts";
import type { SummaryShare } from "#records/store/summaries.ts";

const maxModels = 500;

/** Each model's state, errors, latency and prices, an operator's overrides, and what operators have done. */
export function modelEndpoints(sources: OperatorSources) {
  return {
    "GET models": endpoint({
      about: "The models: state, errors, latency, prices.",
      query: RangeQuery,
      async answer({ query }) {
        const nowMs = sources.clock.now();
        const range = namedRange(query, nowMs);
        const outage = sources.health.outage();
        const overrides = await sources.overrides.list().catch((): readonly OverrideRow[] => []);
        const calls = await sources.records.groups("attempt", timeRange(range), maxModels);
        const models = Object.entries(sources.health.view());
        const views = models.map(([key, health]) => modelView(sources, key, health, overrides, calls, range));
        return {
          at_ms: nowMs,
          range,
          models: (await Promise.all(views)).filter((view) => view !== undefined),
          aggregator: {
            state: outage === undefined ? "closed" : "open",
            since_ms: outage?.sinceMs ?? null,
            reason: outage?.reason ?? null,
            retry_at_ms: outage?.retryAtMs ?? null,
          },
          price_book_read_ms: sources.priceBookReadMs() ?? null,
        };
      },
    }),
    "POST models/{key}/disable": override(sources, "disable", "Takes a model out of service."),
    "POST models/{key}/enable": override(sources, "enable", "Puts a model back into service."),
    "POST models/{key}/reset": override(sources, "reset", "Clears a model's pauses, trips and quarantine."),
    "GET actions": endpoint({
      about: "The audit log: who changed what in the dashboard, and when; the newest first.",
      query: z.object({ limit: z.coerce.number().int().min(1).max(500).default(100) }),
      async answer({ query }) {
        return { actions: await (await sources.stores.actions()).list(query.limit) };
      },
    }),
  };
}

/** Undefined for a model that is not in the registry any more. */
async function modelView(
  sources: OperatorSources,
  key: string,
  health: ModelHealth,
  overrides: readonly OverrideRow[],
  calls: readonly SummaryShare[],
  range: Range,
) {
  const { registry, policy } = sources.config();
  const model = registry.models.get(key);
  if (model === undefined) return undefined;
  const { price, priceSource } = model;
  const override = overrides.find((row) => row.model === key);
  const own = calls.find((group) => group.key === key);
  const served = await sources.records.summary(timeRange(range), { model: [key] });
  return {
    key,
    role: model.role,
    tier: tierOf(sources, key),
    upstream_id: model.upstreamId,
    /** Routing chooses it for its role; other models of the role are only fallbacks. */
    used: registry.byRole[model.role] === model,
    in_senior_chain: policy.health.senior_fallback_chain.includes(key),
    state: health.state,
    routable: health.routable,
    since_ms: health.sinceMs,
    reason: health.reason,
    retry_at_ms: health.retryAtMs ?? null,
    override:
      override === undefined
        ? null
        : { disabled: override.disabled, by: override.changedBy, at_ms: override.changedMs },
    /** Changes of state that this gateway has seen, the oldest first. */
    history: sources.notices.healthOf(key).map(({ atMs, to, reason }) => ({ at_ms: atMs, state: to, reason })),
    served: counted(range)(served, { model: key }),
    // Its calls, also for requests that another model answered in the end.
    calls: {
      count: own?.requests ?? 0,
      failed: own?.failed ?? 0,
      retries: own?.retries ?? 0,
      fail_overs: own?.fail_overs ?? 0,
    },
    cache_share: served.prompt_tokens === 0 ? null : served.cached_tokens / served.prompt_tokens,
    first_token_ms: firstToken(served),
    price: {
      input_nano_usd_per_mtok: price.input,
      cached_input_nano_usd_per_mtok: price.cachedInput,
      output_nano_usd_per_mtok: price.output,
      /** Further prices, for long prompts or certain hours. */
      bands: price.bands?.length ?? 0,
    },
    price_source: priceSource?.kind ?? "shipped",
    drift: [...sources.drifts(), ...sources.notices.filtered]
      .filter((drift) => drift.model === key)
      .map(({ reason, detail, atMs }) => ({ reason, detail, at_ms: atMs })),
    context_tokens: model.contextTokens,
  };
}
export type ModelView = NonNullable<Awaited<ReturnType<typeof modelView>>>;

/** An operator's override of a model's health. It is stored in the database and survives restarts. */
function override({ stores, overrides, config }: OperatorSources, action: OverrideAction, about: string) {
  return endpoint({
    about,
    answer: ({ params: { key = "" }, operator }: Call) =>
      overrideModel(
        { ...stores, override: ({ by }) => overrides.set(key, action, by) },
        config().registry,
        { model: key, action },
        operator,
      ),
  });
}
