import { aliases } from "#domain/routing.ts";
import { type Handler, jsonResponse } from "#http/endpoint.ts";

/** The aliases came with release 1.0.0, 2026-08-23; Unix time in seconds. */
const created = 1_787_443_200;

/** `GET /v1/models`: the four aliases. */
export const modelsEndpoint: Handler = (_request, _, common) =>
  jsonResponse(
    { object: "list", data: aliases.map((id) => ({ id, object: "model", created, owned_by: "smart-gateway" })) },
    common,
  );
