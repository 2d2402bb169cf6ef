import { z } from "zod";
import { isSection } from "#config/config-file.ts";
import { jsonSchemaOf, type SchemaNode } from "#config/json-schema.ts";
import { Policy } from "#config/policy.ts";
import type { Problem } from "#config/problem.ts";
import { endpoint } from "#dashboard/endpoint.ts";
import type { EventStream } from "#dashboard/event-stream.ts";
import { dayMs } from "#dashboard/query.ts";
import type { DashboardSources } from "#dashboard/sources.ts";
import type { BacktestResult } from "#records/backtest/backtest.ts";

/** A value of the policy: a key that holds no further ones. */
interface Leaf {
  readonly path: readonly string[];
  readonly about: string;
}

const leaves = listLeaves(jsonSchemaOf(Policy, ""), []);
const defaults = Policy.parse({});

const policyText = z.string().max(262_144).describe("YAML or JSON; may be partial.");
const BacktestBody = z.strictObject({
  policy: policyText,
  since_ms: z.number().optional().describe("Time of the oldest record; 30 days ago when absent."),
  until_ms: z.number().optional(),
});

export type BacktestEvent =
  | { readonly kind: "progress"; readonly done: number; readonly total: number }
  | { readonly kind: "result"; readonly result: BacktestResult; readonly took_ms: number }
  | { readonly kind: "problem"; readonly detail: string; readonly problems: readonly Problem[] };

/** The policy in force, where each value comes from, and what an edited one changes or would have changed. */
export function policyEndpoints(sources: DashboardSources) {
  const { config, configStatus, policyFile } = sources;
  let isReplaying = false;
  return {
    "GET policy": endpoint({
      about: "The policy in force, where each value comes from, and the problems of the files as they are now.",
      async answer() {
        const { state, hash, loadedAtMs } = configStatus();
        return {
          file: policyFile.path ?? null,
          state,
          config_hash: hash,
          policy_hash: sources.policyHash(),
          loaded_at_ms: loadedAtMs,
          problems: state === "refused" ? await policyFile.problems() : [],
          text: policyFile.text() ?? "# The defaults are in force. Write only the keys that you change.\n",
          keys: policyKeys(config().policy, policyFile.document()),
        };
      },
    }),

    "POST policy/check": endpoint({
      about: "What is wrong with an edited policy, and where it differs from the policy in force.",
      body: z.strictObject({ policy: policyText }),
      async answer({ body }) {
        const checked = await policyFile.check(body.policy);
        if (checked.kind === "invalid") return { ok: false, problems: checked.problems, changes: [] };
        const { policy } = config();
        const changes = leaves.flatMap(({ path }) => {
          const [from, to] = [valueAt(policy, path), valueAt(checked.policy, path)];
          return isEqual(from, to) ? [] : [{ path: path.join("."), from, to }];
        });
        return { ok: true, problems: [], changes };
      },
    }),

    "POST policy/backtest": endpoint({
      about:
        "Replays recorded tasks under an edited policy, one replay at a time: `progress` several times, then `result` or `problem`.",
      body: BacktestBody,
      events({ body }, stream: EventStream<BacktestEvent>) {
        const aborted = new AbortController();
        const fail = (detail: string) => stream.send({ kind: "problem", detail, problems: [] });
        if (isReplaying) {
          fail("Another backtest is running. Wait for its end.");
          stream.end();
          return () => {};
        }
        isReplaying = true;
        replay(sources, body, stream, aborted.signal)
          .catch(() => fail("The records could not be replayed: the store does not answer, or the backtest was ended."))
          .finally(() => {
            isReplaying = false;
            stream.end();
          });
        return () => aborted.abort();
      },
    }),
  };
}

function policyKeys(policy: Policy, document: ReturnType<DashboardSources["policyFile"]["document"]>) {
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
export type PolicyKey = ReturnType<typeof policyKeys>[number];

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
  { backtest, clock, policyFile, records }: DashboardSources,
  { policy, since_ms, until_ms }: z.output<typeof BacktestBody>,
  stream: EventStream<BacktestEvent>,
  signal: AbortSignal,
): Promise<void> {
  const checked = await policyFile.check(policy);
  if (checked.kind === "invalid") {
    stream.send({ kind: "problem", detail: "The edited policy is not valid.", problems: checked.problems });
    return;
  }
  const toMs = until_ms ?? Math.ceil(clock.now()) + 1;
  const range = { fromMs: since_ms ?? toMs - usualDays * dayMs, toMs };
  // Floods of refusals are one record for many requests, so there may be fewer.
  const total = (await records.summary(range)).requests;
  const begunMs = clock.monotonic();
  let saidMs = Number.NEGATIVE_INFINITY;
  const onProgress = (done: number) => {
    if (clock.monotonic() - saidMs < progressEveryMs) return;
    saidMs = clock.monotonic();
    stream.send({ kind: "progress", done: Math.min(done, total), total });
  };
  onProgress(0);
  const result = await backtest(checked.policy, range, onProgress, signal);
  stream.send({ kind: "result", result, took_ms: Math.round(clock.monotonic() - begunMs) });
}
