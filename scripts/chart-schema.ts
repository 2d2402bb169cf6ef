import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parse } from "yaml";
import { z } from "zod";
import { secretSettings, settingsShape } from "../src/config/settings.ts";

interface Schema {
  readonly [keyword: string]: unknown;
}

/** Values of the chart that Kubernetes checks, or the gateway: whatever stands in them passes. */
const open = new Set(
  "policy models resources from dns to annotations labels parentRefs podAnnotations nodeSelector tolerations affinity imagePullSecrets".split(
    " ",
  ),
);
/** What of a value its default does not say. */
const known: { readonly [path: string]: Schema } = {
  "database.kind": { enum: ["sqlite", "postgres"] },
  "image.pullPolicy": { enum: ["Always", "IfNotPresent", "Never"] },
  "image.digest": { type: "string", pattern: "^(?:sha256:[0-9a-f]{64})?$" },
  replicas: { type: "integer", minimum: 0 },
  "httpRoute.hosts": { type: "array", items: { type: "string" } },
  "ingress.paths": { type: "array", minItems: 1, items: { type: "string", pattern: "^/" } },
  "httpRoute.paths": { type: "array", minItems: 1, items: { type: "string", pattern: "^/" } },
  "migrations.deadlineSeconds": { type: "integer", minimum: 1 },
};

/** The schema of the chart's values: what they are by default, and the settings as the gateway reads them. No secret is one of them. */
export function chartSchema(root: string): Schema {
  const values = parse(readFileSync(join(root, "deploy/chart/values.yaml"), "utf8"));
  const schema = schemaOfDefault(values, "");
  const properties = schema["properties"] as Record<string, Schema>; // of an object
  return {
    $schema: "http://json-schema.org/draft-07/schema#",
    ...schema,
    properties: { ...properties, settings: settingsSchema(), global: { type: "object" } },
  };
}

function schemaOfDefault(value: unknown, path: string): Schema {
  const name = path.split(".").at(-1) ?? "";
  const given = known[path];
  if (given !== undefined) return given;
  if (Array.isArray(value)) return { type: "array" };
  if (typeof value !== "object" || value === null) {
    return { type: Number.isInteger(value) ? "integer" : typeof value };
  }
  if (open.has(name)) return { type: "object" };
  const members = Object.entries(value).map(([key, child]) => [
    key,
    schemaOfDefault(child, path === "" ? key : `${path}.${key}`),
  ]);
  return { type: "object", additionalProperties: false, properties: Object.fromEntries(members) };
}

/** The environment is text; in the chart's values a number may stand for itself. What the chart sets cannot be set again. */
function settingsSchema(): Schema {
  const own = new Set([
    ...secretSettings,
    "AUTH_KEYS_FILE",
    "ROUTING_POLICY_PATH",
    "MODEL_REGISTRY_PATH",
    "NODE_ID",
    "PORT",
  ]);
  const { properties = {} } = z.toJSONSchema(z.object(settingsShape), { io: "input" });
  const settings = Object.entries(properties).flatMap(([name, schema]) => {
    if (own.has(name) || typeof schema !== "object") return [];
    const { description, enum: words } = schema;
    // Helm reads patterns in the syntax of Go.
    const pattern = schema.pattern?.replaceAll(/\\u00(?=[0-9a-f]{2})/g, "\\x");
    return [[name, { description, ...(words ? { enum: words } : { type: ["string", "integer"], pattern }) }]];
  });
  const further = {
    "^(?:OTEL_|HTTPS?_PROXY$|NO_PROXY$|NODE_EXTRA_CA_CERTS$|MIMALLOC_)": { type: ["string", "integer"] },
  };
  return {
    type: "object",
    additionalProperties: false,
    properties: Object.fromEntries(settings),
    patternProperties: further,
  };
}
