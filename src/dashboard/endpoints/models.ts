import { type ApiCall, type ApiHandlers, ApiProblem } from "#dashboard/api/endpoint.ts";
import type { EndpointSources } from "#dashboard/api/endpoint-sources.ts";
import { counted, failedOutcomes, firstToken, namedRange, sumsOfKeys, timeRange } from "#dashboard/api/query.ts";
import type { ModelView } from "#dashboard/schema/operating.ts";
import type { Range } from "#dashboard/schema/shared.ts";
import type { ModelHealthStatus } from "#health/health.ts";
import type { OverrideAction, OverrideRow } from "#health/store/health-store.ts";

/** Each model's state, errors, latency and prices, an operator's overrides, and what operators have done. */
export function modelEndpoints(
  sources: EndpointSources,
): ApiHandlers<
  "GET models" | "POST models/{key}/disable" | "POST models/{key}/enable" | "POST models/{key}/reset" | "GET actions"
> {
  return {
    "GET models": async ({ query }) => {
      const nowMs = sources.clock.now();
      const range = namedRange(query, nowMs);
      const { models, aggregator } = sources.health.status();
      const overrides = await sources.overrides.list().catch((): readonly OverrideRow[] => []);
      const views = models.map((status) => modelView(sources, status, overrides, range));
      return {
        at_ms: nowMs,
        range,
        models: (await Promise.all(views)).filter((view) => view !== undefined),
        aggregator: {
          state: aggregator.state,
          since_ms: aggregator.sinceMs ?? null,
          reason: aggregator.reason ?? null,
          retry_at_ms: aggregator.retryAtMs ?? null,
        },
        price_book_read_ms: sources.priceBookReadMs() ?? null,
      };
    },
    "POST models/{key}/disable": (call) => override(sources, call, "disable", "model_disabled"),
    "POST models/{key}/enable": (call) => override(sources, call, "enable", "model_enabled"),
    "POST models/{key}/reset": (call) => override(sources, call, "reset", "model_reset"),
    "GET actions": async ({ query }) => {
      const listed = await sources.actions.list(query.limit).catch(() => {
        throw new ApiProblem(503, "The audit log cannot be read now. Try again shortly.", "store_unavailable");
      });
      return { actions: listed.map(({ atMs, ...action }) => ({ at_ms: atMs, ...action })) };
    },
  };
}

/** Undefined for a model that is not in the registry any more. */
async function modelView(
  sources: EndpointSources,
  status: ModelHealthStatus,
  overrides: readonly OverrideRow[],
  range: Range,
): Promise<ModelView | undefined> {
  const { registry, policy } = sources.config();
  const model = registry.models.get(status.model);
  if (model === undefined) return undefined;
  const { key, price, priceSource } = model;
  const override = overrides.find((row) => row.model === key);
  const served = await sources.records.summary(timeRange(range), { model: [key] });
  return {
    key,
    role: model.role,
    tier: sources.tierOf(key) ?? "flash",
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
    override: override === undefined ? null : overrideView(override),
    history: sources.notices.healthOf(key).map(({ atMs, to, reason }) => ({ at_ms: atMs, state: to, reason })),
    served: counted(range)(served, { model: key }),
    failed_attempts: sumsOfKeys(served.by.outcome, failedOutcomes).requests,
    first_token_ms: firstToken(served),
    price: {
      input_nano_usd_per_mtok: price.input,
      cached_input_nano_usd_per_mtok: price.cachedInput,
      output_nano_usd_per_mtok: price.output,
      request_nano_usd: price.request ?? null,
      bands: price.bands?.length ?? 0,
    },
    price_source: {
      kind: priceSource?.kind ?? "shipped",
      at_ms: priceSource?.kind === "price_book" ? priceSource.atMs : null,
    },
    drift: [...sources.drifts(), ...sources.notices.filtered]
      .filter((drift) => drift.model === key)
      .map(({ reason, detail, atMs }) => ({ reason, detail, at_ms: atMs })),
    context_tokens: model.contextTokens,
    max_output_tokens: model.maxOutputTokens,
  };
}

function overrideView({ disabled, resetMs, changedBy, changedMs }: OverrideRow) {
  return { disabled, reset_ms: resetMs === 0 ? null : resetMs, by: changedBy, at_ms: changedMs };
}

/** An operator's override of a model's health. It is stored in the database and survives restarts. */
async function override(
  sources: EndpointSources,
  { params: { key = "" }, operator }: Pick<ApiCall<"POST models/{key}/reset">, "params" | "operator">,
  action: OverrideAction,
  audited: "model_disabled" | "model_enabled" | "model_reset",
) {
  const by = `${operator.name}@dashboard`;
  const done = await sources.overrides.set(key, action, by).catch(() => {
    throw new ApiProblem(503, "The database did not take it. Try again shortly.", "store_unavailable");
  });
  if (done === "unknown_model") throw new ApiProblem(404, "No model of the registry has this key.", "unknown_model");
  await sources.audit(operator, { action: audited, target: key, detail: "" });
  const follows =
    action === "enable" && sources.config().registry.models.get(key)?.enabled === false
      ? "The registry file disables it, and that stands."
      : "It is in force here, and on every other gateway of this database within a second.";
  return { model: key, action, at_ms: sources.clock.now(), by, follows };
}
