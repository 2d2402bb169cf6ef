import { z } from "zod";

/** The part of JSON Schema that ours use: enough to write reference pages and commented files from. */
export interface SchemaNode {
  readonly type?: string;
  readonly description?: string;
  readonly default?: unknown;
  readonly enum?: readonly unknown[];
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minItems?: number;
  readonly properties?: { readonly [key: string]: SchemaNode };
  readonly additionalProperties?: boolean | SchemaNode;
  readonly items?: SchemaNode;
  readonly anyOf?: readonly SchemaNode[];
}

/** The JSON Schema of what may be written (defaults are optional), for editors. */
export function jsonSchemaOf(schema: z.ZodType, title: string): SchemaNode {
  const generated = z.toJSONSchema(schema, {
    io: "input",
    override({ jsonSchema }) {
      // A default of {} on a section says nothing, and the bounds of safe integers are no bounds of ours.
      if (jsonSchema.type === "object" && jsonSchema.properties !== undefined) delete jsonSchema.default;
      if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
    },
  });
  const { $schema, ...rest } = generated;
  // Our schemas are objects of objects, lists and plain values: what SchemaNode describes.
  return { $schema, title, ...rest } as SchemaNode;
}
