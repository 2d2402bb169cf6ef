import type { Handler } from "#http/endpoint.ts";

/** `GET /openapi.json`; the document is made, and what makes it is loaded, at the first request. */
export function openApiEndpoint(): Handler {
  let document: string | undefined;
  return async (_request, _, common) => {
    if (document === undefined) {
      const { openApiDocument } = await import("#http/openapi/document.ts");
      document = JSON.stringify(openApiDocument());
    }
    return new Response(document, { headers: { ...common, "content-type": "application/json" } });
  };
}
