import { describe, expect, test } from "bun:test";
import { spansIn } from "./history.tsx";

const range = { key: null, from_ms: 100, to_ms: 200 };
const change = (at_ms: number, state: "HEALTHY" | "UNHEALTHY") => ({ at_ms, state, reason: "seen" });

describe("the states that a model had in a range", () => {
  test("begin where the range begins and end where it ends", () => {
    const model = {
      history: [change(50, "HEALTHY"), change(150, "UNHEALTHY")],
      state: "UNHEALTHY",
      since_ms: 150,
      reason: "seen",
    } as const;
    expect(spansIn(range, model).map(({ state, fromMs, toMs }) => [state, fromMs, toMs])).toEqual([
      ["HEALTHY", 100, 150],
      ["UNHEALTHY", 150, 200],
    ]);
  });

  test("are unknown before the first recorded change", () => {
    const model = { history: [], state: "HEALTHY", since_ms: 180, reason: "started" } as const;
    expect(spansIn(range, model).map(({ fromMs, toMs }) => [fromMs, toMs])).toEqual([[180, 200]]);
  });

  test("end with the current state, also when another node has recorded the change", () => {
    const model = { history: [change(120, "HEALTHY")], state: "UNHEALTHY", since_ms: 160, reason: "shared" } as const;
    expect(spansIn(range, model).map(({ state }) => state)).toEqual(["HEALTHY", "UNHEALTHY"]);
  });
});
