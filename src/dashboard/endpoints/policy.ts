import { isSection } from "#config/config-file.ts";
import { jsonSchemaOf, type SchemaNode } from "#config/json-schema.ts";
import { Policy } from "#config/policy.ts";
import type { ApiHandler } from "#dashboard/api/handlers.ts";
import type { PolicyKey } from "#dashboard/schema/policy.ts";
import type { DashboardSources } from "#dashboard/sources.ts";

/** A value of the policy: a key that holds no further ones. */
interface Leaf {
  readonly path: readonly string[];
  readonly about: string;
}

const leaves = leavesOf(jsonSchemaOf(Policy, ""), []);
const defaults = Policy.parse({});

/** `GET policy`: the policy in force, and where each value comes from. */
export function policyHandler(sources: DashboardSources): ApiHandler<"GET policy"> {
  const { config, configStatus, policyFile, policyHash } = sources;
  return async () => {
    const { state, hash, loadedAtMs } = configStatus();
    const { policy } = config();
    const isRefused = state === "refused" || state === "failed";
    const document = policyFile.document();
    return {
      file: policyFile.path ?? null,
      state,
      config_hash: hash,
      policy_hash: policyHash(),
      loaded_at_ms: loadedAtMs,
      problems: isRefused ? [...(await policyFile.problems())] : [],
      text: policyFile.text() ?? "# The defaults are in force. Write only the keys that you change.\n",
      keys: leaves.map(({ path, about }): PolicyKey => {
        const value = valueAt(policy, path);
        const fallback = valueAt(defaults, path);
        const changed = !isEqual(value, fallback);
        const isSet = document !== undefined && valueAt(document.value, path) !== undefined;
        return {
          path: path.join("."),
          value,
          default: fallback,
          // A value that is not the default follows from the file also where its key is not in it: one threshold can move the other.
          from: isSet || changed ? "file" : "default",
          line: isSet ? (document.lineOf(path) ?? null) : null,
          changed,
          about,
        };
      }),
    };
  };
}

/** `POST policy/check`: what is wrong with an edited policy, and what it would change. */
export function policyCheckHandler({ policyFile, config }: DashboardSources): ApiHandler<"POST policy/check"> {
  return async ({ body }) => {
    const checked = await policyFile.check(body.policy);
    if (checked.kind === "invalid") return { ok: false, problems: [...checked.problems], changes: [] };
    return { ok: true, problems: [], changes: changesOf(config().policy, checked.policy) };
  };
}

function changesOf(before: Policy, after: Policy) {
  return leaves.flatMap(({ path }) => {
    const [from, to] = [valueAt(before, path), valueAt(after, path)];
    return isEqual(from, to) ? [] : [{ path: path.join("."), from, to }];
  });
}

/** `about`: the description of the section, for keys without their own. */
function leavesOf(node: SchemaNode, path: readonly string[], about = ""): Leaf[] {
  const own = node.description ?? about;
  if (node.properties === undefined) return [{ path, about: own }];
  return Object.entries(node.properties).flatMap(([key, child]) =>
    path.length === 0 && key === "$schema" ? [] : leavesOf(child, [...path, key], own),
  );
}

function valueAt(value: unknown, path: readonly string[]): unknown {
  return path.reduce<unknown>((at, key) => (isSection(at) && Object.hasOwn(at, key) ? at[key] : undefined), value);
}

function isEqual(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}
