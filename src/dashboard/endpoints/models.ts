import { type ApiCall, type ApiHandler, ApiProblem } from "#dashboard/api/handlers.ts";
import { modelTier } from "#dashboard/api/model-tier.ts";
import { rangeOf, timeRangeOf } from "#dashboard/api/range.ts";
import { countedIn, failedOutcomes, firstTokenOf, sumsOf } from "#dashboard/api/sums.ts";
import { audited } from "#dashboard/audit/audited.ts";
import type { OperatorAction } from "#dashboard/audit/operator-actions.ts";
import type { ModelView } from "#dashboard/schema/operating.ts";
import type { Range } from "#dashboard/schema/shared.ts";
import type { DashboardSources } from "#dashboard/sources.ts";
import type { Model } from "#domain/model.ts";
import type { ModelHealthStatus } from "#health/operated-registry.ts";
import type { OverrideAction, OverrideRow } from "#health/store/health-store.ts";

/** `GET models`: each model's state, errors, latency, prices. */
export function modelsHandler(sources: DashboardSources): ApiHandler<"GET models"> {
  return async ({ query }) => {
    const nowMs = sources.clock.now();
    const range = rangeOf(query, nowMs);
    const { registry } = sources.config();
    const { models, aggregator } = sources.health.status();
    const overrides = await sources.overrides.list().catch((): readonly OverrideRow[] => []);
    const views = models.map(async (status) => {
      const model = registry.models.get(status.model);
      const override = overrides.find((row) => row.model === status.model);
      return model === undefined ? [] : [await viewOf(model, status, override, range, sources)];
    });
    return {
      at_ms: nowMs,
      range,
      models: (await Promise.all(views)).flat(),
      aggregator: {
        state: aggregator.state,
        since_ms: aggregator.sinceMs ?? null,
        reason: aggregator.reason ?? null,
        retry_at_ms: aggregator.retryAtMs ?? null,
      },
      price_book_read_ms: sources.priceBookReadMs() ?? null,
    };
  };
}

async function viewOf(
  model: Model,
  status: ModelHealthStatus,
  override: OverrideRow | undefined,
  range: Range,
  sources: DashboardSources,
): Promise<ModelView> {
  const { key } = model;
  const { registry, policy } = sources.config();
  const time = timeRangeOf(range);
  const records = sources.records;
  const served = await records.summary(time, { model: [key] });
  return {
    key,
    role: model.role,
    tier: modelTier(sources, key) ?? "flash",
    upstream_id: model.upstreamId,
    used: registry.byRole[model.role] === model,
    in_senior_chain: policy.health.senior_fallback_chain.includes(key),
    enabled_in_file: model.enabled,
    state: status.state,
    routable: status.routable,
    since_ms: status.sinceMs,
    reason: status.reason,
    retry_at_ms: status.retryAtMs ?? null,
    trips: status.trips,
    shed_share: status.shedShare,
    window: {
      answers: status.answers,
      failures: status.failures,
      slow: status.slow,
      first_token_p95_ms: status.firstTokenP95Ms ?? null,
    },
    override:
      override === undefined
        ? null
        : {
            disabled: override.disabled,
            reset_ms: override.resetMs === 0 ? null : override.resetMs,
            by: override.changedBy,
            at_ms: override.changedMs,
          },
    history: sources.notices.healthOf(key).map(({ atMs, to, reason }) => ({ at_ms: atMs, state: to, reason })),
    served: countedIn(range)(served, { model: key }),
    failed_attempts: sumsOf(served.by.outcome, failedOutcomes).requests,
    first_token_ms: firstTokenOf(served),
    price: {
      input_nano_usd_per_mtok: model.price.input,
      cached_input_nano_usd_per_mtok: model.price.cachedInput,
      output_nano_usd_per_mtok: model.price.output,
      request_nano_usd: model.price.request ?? null,
      bands: model.price.bands?.length ?? 0,
    },
    price_source: {
      kind: model.priceSource?.kind ?? "shipped",
      at_ms: model.priceSource?.kind === "price_book" ? model.priceSource.atMs : null,
    },
    drift: [...sources.drifts(), ...sources.notices.filtered]
      .filter((drift) => drift.model === key)
      .map(({ reason, detail, atMs }) => ({ reason, detail, at_ms: atMs })),
    context_tokens: model.contextTokens,
    max_output_tokens: model.maxOutputTokens,
  };
}

const actions = { disable: "model_disabled", enable: "model_enabled", reset: "model_reset" } as const satisfies {
  readonly [A in OverrideAction]: OperatorAction["action"];
};

/** `POST models/{key}/…`: an operator's override of a model's health. It is stored in the database and survives restarts. */
export function overrideHandler(sources: DashboardSources, action: OverrideAction) {
  return async ({
    params: { key = "" },
    operator,
  }: Pick<ApiCall<"POST models/{key}/reset">, "params" | "operator">) => {
    const by = `${operator.name}@dashboard`;
    let done: "done" | "unknown_model";
    try {
      done = await sources.overrides.set(key, action, by);
    } catch {
      throw new ApiProblem(503, "The database did not take it. Try again shortly.", "store_unavailable");
    }
    if (done === "unknown_model") throw new ApiProblem(404, "No model of the registry has this key.", "unknown_model");
    await audited(sources, operator, { action: actions[action], target: key, detail: "" });
    const follows =
      action === "enable" && sources.config().registry.models.get(key)?.enabled === false
        ? "The registry file disables it, and that stands."
        : "It is in force here, and on every other gateway of this database within a second.";
    return { model: key, action, at_ms: sources.clock.now(), by, follows };
  };
}
