import { describe, expect, test } from "bun:test";
import type { Cause, RoutingTask, RuntimeState } from "#domain/routing.ts";
import { decide } from "#pipeline/decide/decide.ts";
import { aHealth, aRegistry, aRuntime, aSnapshot, aTask, dimensions, scoutModel } from "#pipeline/decide/fixtures.ts";

interface Ask {
  readonly cause: Cause;
  readonly task?: Partial<RoutingTask>;
  readonly runtime?: Partial<RuntimeState>;
}

/** Highest first. Two that set the same field to different values cannot be requested at once. */
const order: readonly Ask[] = [
  { cause: "privacy_free_denied", task: { explicit_route: "FREE_SCOUT", sensitive: true } },
  { cause: "privacy_scout_denied", task: { metadata: { scout: true }, sensitive: true } },
  { cause: "attempts_exhausted", runtime: { attempts: 8 } },
  { cause: "hard_pro_rule", runtime: { same_error_count: 2 } },
  { cause: "explicit_pro", task: { metadata: { pro: true } } },
  { cause: "explicit_pro", task: { explicit_route: "PRO" } },
  { cause: "reasoning_high", task: { reasoning: "HIGH" } },
  { cause: "explicit_free", task: { explicit_route: "FREE_SCOUT", sensitive: false } },
  { cause: "scout_requested", task: { metadata: { scout: true }, sensitive: false } },
  { cause: "explicit_flash", task: { explicit_route: "FLASH" } },
  { cause: "hint_pro", task: { metadata: { routing: "pro" } } },
  { cause: "hint_flash", task: { metadata: { routing: "flash" } } },
  { cause: "hint_free", task: { metadata: { routing: "free" }, sensitive: false } },
  { cause: "score_pro", task: dimensions(1) },
  { cause: "gray_zone_scout", task: { ...dimensions(0.5), sensitive: false } },
  { cause: "score_flash", task: dimensions(0) },
];

const pairs = order.flatMap((upper, at) =>
  order.slice(at + 1).flatMap((lower): [string, string, Partial<RoutingTask>, Partial<RuntimeState>][] => {
    const task = joined(upper.task, lower.task);
    return task === undefined ? [] : [[upper.cause, lower.cause, task, { ...lower.runtime, ...upper.runtime }]];
  }),
);

/** Both requests in one task, which is not sensitive unless one says so; undefined if they contradict each other. */
function joined(one: Partial<RoutingTask> = {}, other: Partial<RoutingTask> = {}): Partial<RoutingTask> | undefined {
  const values = new Map<string, unknown>();
  for (const [key, value] of [one, other].flatMap((task) => flat(task))) {
    if (values.has(key) && values.get(key) !== value) return undefined;
    values.set(key, value);
  }
  return { sensitive: false, ...one, ...other, metadata: { ...one.metadata, ...other.metadata } };
}

function flat({ metadata = {}, ...task }: Partial<RoutingTask>): [string, unknown][] {
  return [
    ...Object.entries(task),
    ...Object.entries(metadata).map(([key, value]): [string, unknown] => [`m.${key}`, value]),
  ];
}

describe("precedence", () => {
  test.each(pairs)("%s comes before %s", (upper, _, task, runtime) => {
    expect(decide(aTask(task), aRuntime(runtime), aSnapshot()).cause).toBe(upper as Cause); // a name from the table
  });
});

describe("hints", () => {
  test("that are missing, unknown or of another type are ignored", () => {
    for (const routing of ["auto", "PRO", "cheap", true, null, 7, {}]) {
      expect(decide(aTask({ metadata: { routing } }), aRuntime(), aSnapshot()).cause).toBe("score_flash");
    }
  });
});

describe("a requested scout", () => {
  const requested = (values: Partial<RoutingTask> = {}) =>
    aTask({ sensitive: false, metadata: { scout: true }, ...values });

  test("is asked whatever the score, but only if the value is true", () => {
    for (const value of [0, 0.5, 1]) {
      expect(decide(requested(dimensions(value)), aRuntime(), aSnapshot())).toMatchObject({
        action: "SCOUT",
        purpose: "SCOUT",
        model: "vendor_free_scout",
        cause: "scout_requested",
      });
    }
    expect(decide(requested({ metadata: { scout: "true" } }), aRuntime(), aSnapshot()).cause).toBe("score_flash");
  });

  test.each([
    ["flash", 1, "vendor_v4_flash"],
    ["pro", 0, "vendor_v4_pro"],
    ["none", 0, "vendor_v4_flash"],
    ["none", 1, "vendor_v4_pro"],
  ] as const)(
    "that answered %s at dimensions %d routes to %p, with the cause of its request",
    (verdict, value, model) => {
      const decision = decide(requested(dimensions(value)), aRuntime(), aSnapshot({ verdict }));
      expect(decision).toMatchObject({ action: "ROUTE", purpose: "EXECUTE", model, cause: "scout_requested" });
      expect(decision.evidence).toContain(`scout_verdict=${verdict}`);
    },
  );

  test("that is not routable leaves the choice to the midpoint", () => {
    const snapshots = [
      aSnapshot({ health: aHealth({ vendor_free_scout: "UNHEALTHY" }) }),
      aSnapshot({
        registry: aRegistry([...aRegistry().models.values()].filter((model) => model.key !== scoutModel.key)),
      }),
    ];
    for (const snapshot of snapshots) {
      const easy = decide(requested(dimensions(0)), aRuntime(), snapshot);
      expect(easy).toMatchObject({ action: "ROUTE", model: "vendor_v4_flash", cause: "scout_requested" });
      expect(easy.evidence).toContain("scout_routable=false");
      expect(decide(requested(dimensions(1)), aRuntime(), snapshot).model).toBe("vendor_v4_pro");
    }
  });
});

describe("the gray zone", () => {
  const low = aTask({ sensitive: false, ...dimensions(0.6) });
  const high = aTask({ sensitive: false, ...dimensions(0.7) });

  test("keeps its cause when the scout has answered, with a higher confidence", () => {
    expect(decide(low, aRuntime(), aSnapshot({ verdict: "pro" }))).toMatchObject({
      action: "ROUTE",
      purpose: "EXECUTE",
      model: "vendor_v4_pro",
      cause: "gray_zone_scout",
      confidence: 0.75,
    });
    expect(decide(high, aRuntime(), aSnapshot({ verdict: "flash" })).model).toBe("vendor_v4_flash");
  });

  test("uses its midpoint if the scout is not routable, and sensitive_block_applied is false", () => {
    const snapshot = aSnapshot({ health: aHealth({ vendor_free_scout: "QUARANTINE" }) });
    expect(decide(low, aRuntime(), snapshot)).toMatchObject({
      cause: "gray_zone_flash",
      model: "vendor_v4_flash",
      sensitive_block_applied: false,
    });
    expect(decide(high, aRuntime(), snapshot)).toMatchObject({ cause: "gray_zone_pro", model: "vendor_v4_pro" });
  });
});
