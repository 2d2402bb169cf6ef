import type { Cause } from "../routing.ts";

/** What each cause means and what a caller can do about it; `docs/reference/causes.md` is generated from this. */
export const causeMeanings: { readonly [C in Cause]: string } = {
  privacy_free_denied:
    "`DENY`, 403. The free tier was requested by name (`smart-router-free`, `explicit_route: FREE_SCOUT`) and privacy forbids it. Set `sensitive: false` if the request is not private (and opt in for repository work), or request another tier.",
  privacy_scout_denied:
    "`DENY`, 403. The caller sent `X-Scout: true` for a task that the free scout may not see. Leave the header out, or mark the task as not sensitive.",
  attempts_exhausted:
    "`STOP_FOR_HUMAN`, 403. `runtime.attempts` has reached `limits.max_attempts` (8 as shipped). A person should look at the task before it is tried again.",
  hard_pro_rule:
    "`ROUTE` to the senior model because a hard rule fired. `hard_rule` is true for this cause only. Soft caps do not apply.",
  explicit_pro: "`ROUTE` to the senior model because the caller requires it. Soft caps do not apply.",
  reasoning_high:
    "`ROUTE` to the senior model because of `reasoning: high`, or `[reasoning:high]` in the newest user message (in the dry run: in the instruction). Above a soft cap the worker model answers instead.",
  explicit_free:
    "`ROUTE` to the scout model because the caller requests it by name. The scout model answers the request itself (`EXECUTE`).",
  explicit_flash: "`ROUTE` to the worker model because the caller requests it by name.",
  scout_requested:
    "`SCOUT`: the caller asked for the scout (`X-Scout: true`). The scout picks flash or pro, whatever the score, and that model answers, with this cause. If the scout gives no usable verdict or is not routable, the midpoint of the gray zone decides.",
  hint_pro: "`ROUTE` to the senior model on the caller's hint. Above a soft cap the worker model answers instead.",
  hint_flash: "`ROUTE` to the worker model on the caller's hint.",
  hint_free:
    "`ROUTE` to the scout model on the caller's hint. Where privacy forbids it the hint is dropped, and another cause is given.",
  score_flash: "`ROUTE` to the worker model: the score is below `routing.flash_below`.",
  score_pro: "`ROUTE` to the senior model: the score is `routing.pro_from` or more.",
  gray_zone_scout:
    "`SCOUT`: the score is in the gray zone, and a free model may see the task. The scout picks flash or pro, and that model answers, with this cause, or with `budget_soft_cap` where pro steps down.",
  gray_zone_flash:
    "`ROUTE` to the worker model: the score is in the gray zone's lower half and the scout could not be asked.",
  gray_zone_pro:
    "`ROUTE` to the senior model: the score is in the gray zone's upper half and the scout could not be asked.",
  affinity:
    "`ROUTE` to the model that the conversation was routed to before, although the score alone would have chosen another. A further turn of an ask stays where the ask was routed. A new ask stays on the more expensive model if leaving it costs more than it saves: reading the whole context without a cache at the cheaper model costs more (`switch_cost_usd`) than the next turns would save (`switch_saves_usd`, over `routing.affinity.horizon_turns`). Hard rules, explicit routes and hints take precedence over it. Above a soft cap the worker model answers instead.",
  exploration:
    "`ROUTE` to the tier that the score has not chosen: a share of new tasks is sent there at random (`routing.exploration`, 0 as shipped), so that learning has outcomes of both tiers. Only tasks that the score alone decides are explored, in conversations that are not known yet, and only if both models could answer within the caps. Housekeeping, further turns and dry runs are never explored.",
  budget_soft_cap:
    "`ROUTE` to the worker model: an optional choice of the senior model would have exceeded a soft cap. `SCOUT` where the scout had chosen it.",
  budget_hard_cap_exceeded:
    "`DENY`, 403. The request could exceed the hard cap of its goal or of the day. The evidence names the cap and the amounts. A smaller `max_tokens` lowers the bound; waiting helps only for the day's cap.",
  all_models_unhealthy:
    "`STOP_FOR_HUMAN`, 403 with `Retry-After`. Neither the chosen model nor any model of the fallback chain is routable.",
};
