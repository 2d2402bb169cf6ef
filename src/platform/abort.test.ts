import { describe, expect, test } from "bun:test";
import { LightAbortController } from "./abort.ts";

describe("an aborter", () => {
  test("does not call a listener that is removed, also during an abort, and accepts none afterwards", () => {
    const aborter = new LightAbortController();
    const called: string[] = [];
    const removed = () => called.push("removed");
    aborter.signal.addEventListener("abort", removed);
    aborter.signal.removeEventListener("abort", removed);
    aborter.signal.removeEventListener("abort", removed);
    aborter.signal.addEventListener("abort", () => {
      called.push("kept");
      aborter.signal.addEventListener("abort", () => called.push("late"));
    });
    aborter.abort();
    aborter.abort();
    expect(called).toEqual(["kept"]);
  });
});
