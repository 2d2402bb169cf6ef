import { type ConfigDocument, valueAt } from "#config/config-file.ts";
import { jsonSchemaOf, type SchemaNode } from "#config/json-schema.ts";
import { Policy } from "#config/policy.ts";

/** A value of the policy: a key that holds no further ones. */
interface Leaf {
  readonly path: readonly string[];
  readonly about: string;
}

const leaves = listLeaves(jsonSchemaOf(Policy, ""), []);
const defaults = Policy.parse({});

/** The keys in which a policy differs from another. */
export function changedKeys(before: Policy, after: Policy) {
  return leaves.flatMap(({ path }) => {
    const [from, to] = [valueAt(before, path), valueAt(after, path)];
    return Bun.deepEquals(from, to) ? [] : [{ path: path.join("."), from, to }];
  });
}

/** Every key of the policy with its value, its default, and where it comes from. */
export function policyKeys(policy: Policy, document: ConfigDocument | undefined) {
  return leaves.map(({ path, about }) => {
    const value = valueAt(policy, path);
    const fallback = valueAt(defaults, path);
    const changed = !Bun.deepEquals(value, fallback);
    const isSet = document !== undefined && valueAt(document.value, path) !== undefined;
    return {
      path: path.join("."),
      value,
      default: fallback,
      // Also where its key is not in the file: one threshold can move the other.
      from: isSet || changed ? "file" : "default",
      line: isSet ? (document.lineOf(path) ?? null) : null,
      changed,
      about,
    };
  });
}
export type PolicyKey = ReturnType<typeof policyKeys>[number];

/** `about`: the description of the section, for keys without their own. */
function listLeaves(node: SchemaNode, path: readonly string[], about = ""): Leaf[] {
  const own = node.description ?? about;
  if (node.properties === undefined) return [{ path, about: own }];
  return Object.entries(node.properties).flatMap(([key, child]) =>
    path.length === 0 && key === "$schema" ? [] : listLeaves(child, [...path, key], own),
  );
}
