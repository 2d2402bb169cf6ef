import { errorOf } from "#domain/errors.ts";
import { goalIdOf } from "#domain/goal.ts";
import { formatUsd } from "#domain/money/money.ts";
import { type Handler, jsonResponse } from "#http/endpoint.ts";
import type { ServerOptions } from "#http/server-options.ts";
import { outageError } from "#ledger/ledger.ts";

const maxIdLength = 256;

/** `GET /v1/route/status`: what a goal and the day have spent and may spend, and the goal's last model. */
export function routeStatusEndpoint({ ports, lastModel }: Pick<ServerOptions, "ports" | "lastModel">): Handler {
  return async (request, { headers: common }) => {
    const { searchParams } = new URL(request.url);
    const ids: { sessionId?: string; goalId?: string } = {};
    for (const name of ["session", "goal"] as const) {
      const value = searchParams.get(name);
      if (value === null) continue;
      if (value === "" || value.length > maxIdLength) {
        const problem = `${name}: must have 1 to ${maxIdLength} characters.`;
        return { ...errorOf("invalid_request.fields", { problem }), param: name };
      }
      ids[`${name}Id`] = value;
    }
    const goal = goalIdOf(ids);
    const spend = await ports.ledger.read(goal);
    if (spend === undefined) return outageError(ports.ledger.status());
    const { caps, registry } = ports.config();
    const last = lastModel(goal);
    const model = last === undefined ? undefined : registry.models.get(last.model);
    return jsonResponse(
      {
        goal: { id: goal, ...accountOf(spend.goalAccount, spend.goalHardOverride ?? caps.goalHard) },
        day: { id: spend.day, ...accountOf(spend.dayAccount, spend.dayHardOverride ?? caps.dayHard) },
        model:
          last === undefined || model === undefined
            ? null
            : { key: model.key, upstream_id: model.upstreamId, at_ms: last.atMs },
      },
      common,
    );
  };
}

function accountOf({ spent, held }: { readonly spent: number; readonly held: number }, hard: number) {
  return {
    spent_usd: formatUsd(spent),
    held_usd: formatUsd(held),
    hard_cap_usd: formatUsd(hard),
    left_usd: formatUsd(Math.max(0, hard - spent - held)),
  };
}
