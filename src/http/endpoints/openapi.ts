import type { Handler } from "#http/endpoint.ts";
import { openApiDocument } from "#http/openapi/document.ts";

/** `GET /openapi.json`; the document is made at the first request. */
export function openApiEndpoint(): Handler {
  let document: string | undefined;
  return (_request, _, common) => {
    document ??= JSON.stringify(openApiDocument());
    return new Response(document, { headers: { ...common, "content-type": "application/json" } });
  };
}
