import { expect, test } from "bun:test";
import fc from "fast-check";
import { RetryBudget } from "./retry-budget.ts";

function setUp(perSecond = 3) {
  const world = { ms: 1_000_000 };
  const budget = new RetryBudget({ monotonic: () => world.ms }, () => perSecond);
  const takeAll = () => {
    let taken = 0;
    while (taken < 10_000 && budget.take()) taken += 1;
    return taken;
  };
  const requests = (n: number) => {
    for (let i = 0; i < n; i++) budget.countRequest();
  };
  return { world, budget, takeAll, requests };
}

test("an idle gateway may retry three times a second, and accumulates three seconds of that", () => {
  const { world, takeAll } = setUp();
  expect(takeAll()).toBe(9);
  world.ms += 1_000;
  expect(takeAll()).toBe(3);
  world.ms += 3_600_000;
  expect(takeAll()).toBe(9);
  world.ms += 500;
  expect(takeAll()).toBe(1);
});

test("a rate of zero allows no retry; a rate below one per second accumulates", () => {
  expect(setUp(0).takeAll()).toBe(0);
  const slow = setUp(0.3);
  expect(slow.takeAll()).toBe(1);
  slow.world.ms += 2_000;
  expect(slow.takeAll()).toBe(0);
  slow.world.ms += 2_000;
  expect(slow.takeAll()).toBe(1);
});

test("in any traffic, retries stay within the share of all requests, three a second, and the accumulated ones", () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.nat(3_000), fc.nat(30), fc.nat(30)), { maxLength: 200, size: "max" }), (steps) => {
      const { world, budget, requests } = setUp();
      let came = 0;
      let taken = 0;
      const startMs = world.ms;
      for (const [waitMs, arrive, want] of steps) {
        world.ms += waitMs;
        requests(arrive);
        came += arrive;
        for (let i = 0; i < want; i++) if (budget.take()) taken += 1;
        expect(taken).toBeLessThanOrEqual(0.1 * came + 3 * ((world.ms - startMs) / 1_000) + 9);
      }
    }),
  );
});
