import { isSection } from "#config/config-file.ts";
import { jsonSchemaOf, type SchemaNode } from "#config/json-schema.ts";
import { Policy } from "#config/policy.ts";
import type { ApiCall, ApiHandlers } from "#dashboard/api/endpoint.ts";
import type { EndpointSources } from "#dashboard/api/endpoint-sources.ts";
import type { EventStream } from "#dashboard/api/event-stream.ts";
import { dayMs } from "#dashboard/api/query.ts";
import type { BacktestEvent } from "#dashboard/api-schema.ts";
import { BacktestResult, type PolicyKey } from "#dashboard/schema/operating.ts";

/** A value of the policy: a key that holds no further ones. */
interface Leaf {
  readonly path: readonly string[];
  readonly about: string;
}

const leaves = listLeaves(jsonSchemaOf(Policy, ""), []);
const defaults = Policy.parse({});

/** The policy in force, where each value comes from, and what an edited one changes or would have changed. */
export function policyEndpoints(
  sources: EndpointSources,
): ApiHandlers<"GET policy" | "POST policy/check" | "POST policy/backtest"> {
  const { config, configStatus, policyFile } = sources;
  let isReplaying = false;
  return {
    "GET policy": async () => {
      const { state, hash, loadedAtMs } = configStatus();
      return {
        file: policyFile.path ?? null,
        state,
        config_hash: hash,
        policy_hash: sources.policyHash(),
        loaded_at_ms: loadedAtMs,
        problems: state === "refused" ? [...(await policyFile.problems())] : [],
        text: policyFile.text() ?? "# The defaults are in force. Write only the keys that you change.\n",
        keys: policyKeys(config().policy, policyFile.document()),
      };
    },

    "POST policy/check": async ({ body }) => {
      const checked = await policyFile.check(body.policy);
      if (checked.kind === "invalid") return { ok: false, problems: [...checked.problems], changes: [] };
      const { policy } = config();
      const changes = leaves.flatMap(({ path }) => {
        const [from, to] = [valueAt(policy, path), valueAt(checked.policy, path)];
        return isEqual(from, to) ? [] : [{ path: path.join("."), from, to }];
      });
      return { ok: true, problems: [], changes };
    },

    // One at a time in each process.
    "POST policy/backtest": (call, stream) => {
      const aborted = new AbortController();
      const fail = (detail: string) => stream.send({ kind: "problem", detail, problems: [] });
      if (isReplaying) {
        fail("Another backtest is running. Wait for its end.");
        stream.end();
        return () => {};
      }
      isReplaying = true;
      replay(sources, call, stream, aborted.signal)
        .catch(() => fail("The records could not be replayed: the store does not answer, or the backtest was ended."))
        .finally(() => {
          isReplaying = false;
          stream.end();
        });
      return () => aborted.abort();
    },
  };
}

function policyKeys(policy: Policy, document: ReturnType<EndpointSources["policyFile"]["document"]>): PolicyKey[] {
  return leaves.map(({ path, about }) => {
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
  });
}

/** `about`: the description of the section, for keys without their own. */
function listLeaves(node: SchemaNode, path: readonly string[], about = ""): Leaf[] {
  const own = node.description ?? about;
  if (node.properties === undefined) return [{ path, about: own }];
  return Object.entries(node.properties).flatMap(([key, child]) =>
    path.length === 0 && key === "$schema" ? [] : listLeaves(child, [...path, key], own),
  );
}

function valueAt(value: unknown, path: readonly string[]): unknown {
  return path.reduce<unknown>((at, key) => (isSection(at) && Object.hasOwn(at, key) ? at[key] : undefined), value);
}

function isEqual(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}

/** Records that are replayed when nobody says since when. */
const usualDays = 30;
const progressEveryMs = 200;

async function replay(
  { backtest, clock, policyFile, records }: EndpointSources,
  { body }: ApiCall<"POST policy/backtest">,
  stream: EventStream<BacktestEvent>,
  signal: AbortSignal,
): Promise<void> {
  const checked = await policyFile.check(body.policy);
  if (checked.kind === "invalid") {
    stream.send({ kind: "problem", detail: "The edited policy is not valid.", problems: [...checked.problems] });
    return;
  }
  const toMs = body.until_ms ?? Math.ceil(clock.now()) + 1;
  const range = { fromMs: body.since_ms ?? toMs - usualDays * dayMs, toMs };
  // Floods of refusals are one record for many requests, so there may be fewer.
  const total = (await records.summary(range)).requests;
  stream.send({ kind: "progress", done: 0, total });
  const begunMs = clock.monotonic();
  let saidMs = begunMs;
  const onProgress = (done: number) => {
    if (clock.monotonic() - saidMs < progressEveryMs) return;
    saidMs = clock.monotonic();
    stream.send({ kind: "progress", done: Math.min(done, total), total });
  };
  const result = BacktestResult.parse(await backtest(checked.policy, range, onProgress, signal));
  stream.send({ kind: "progress", done: total, total });
  stream.send({ kind: "result", result, took_ms: Math.round(clock.monotonic() - begunMs) });
}
