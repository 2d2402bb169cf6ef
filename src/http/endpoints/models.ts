import { errorOf } from "#domain/errors.ts";
import type { Model, ModelRegistry, Role } from "#domain/model.ts";
import { type Alias, aliases } from "#domain/routing.ts";
import { type Handler, jsonResponse } from "#http/endpoint.ts";
import type { Ports } from "#pipeline/ports.ts";

/** The aliases came with release 1.0.0, 2026-08-23; Unix time in seconds. */
const created = 1_787_443_200;

export const modelPath = "/v1/models/:id";

/**
 * `GET /v1/models`: the four aliases, with the context window and the longest answer that each is sure to have. Clients
 * read from them when to compact a conversation.
 */
export function modelsEndpoint({ config }: Pick<Ports, "config">): Handler {
  return (_, { headers: common }) =>
    jsonResponse({ object: "list", data: aliases.map((id) => modelObject(id, config())) }, common);
}

/** `GET /v1/models/{id}`: one of them. */
export function modelEndpoint({ config }: Pick<Ports, "config">): Handler {
  return (request, { headers: common }) => {
    const { id } = (request as Request & { params: { id: string } }).params; // set by the router
    const alias = aliases.find((each) => each === id);
    if (alias !== undefined) return jsonResponse(modelObject(alias, config()), common);
    return errorOf("not_found.model", { models: aliases.join(", ") });
  };
}

function modelObject(id: Alias, { policy, registry }: ReturnType<Ports["config"]>) {
  const models = routableFor(id, registry, policy.health.senior_fallback_chain);
  return {
    id,
    object: "model",
    created,
    owned_by: "smart-gateway",
    ...(models.length === 0
      ? {}
      : {
          context_length: Math.min(...models.map(({ contextTokens }) => contextTokens)),
          max_output_tokens: Math.min(...models.map(({ maxOutputTokens }) => maxOutputTokens)),
        }),
  };
}

/**
 * The roles that an alias is routed to. A hard rule sends any of them to the senior model. The scout answers
 * `smart-router` only where a caller asks for it; its smaller window would make every client compact too early.
 */
const rolesOf: { readonly [A in Alias]: readonly Role[] } = {
  "smart-router": ["worker", "senior"],
  "smart-router-flash": ["worker", "senior"],
  "smart-router-pro": ["senior"],
  "smart-router-free": ["scout"],
};

/** The models that may answer for an alias: those of its roles, and the fallbacks. */
function routableFor(alias: Alias, { byRole, models }: ModelRegistry, chain: readonly string[]): Model[] {
  const candidates = [...rolesOf[alias].map((role) => byRole[role]), ...chain.map((key) => models.get(key))];
  return candidates.flatMap((model) => (model?.enabled === true ? [model] : []));
}
