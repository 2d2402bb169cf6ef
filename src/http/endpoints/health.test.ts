import { expect, test } from "bun:test";
import { healthReport, worstReport } from "./health.ts";

type Sources = Parameters<typeof healthReport>[0];

function reportWith(records?: ReturnType<Sources["records"]["health"]>) {
  const ports = {
    health: {
      view: () => ({ pro: { state: "HEALTHY", routable: true, sinceMs: 0, reason: "" } }),
      outage: () => undefined,
    },
    config: () => ({ policy: { health: { senior_fallback_chain: ["pro"] } } }),
    ledger: { status: () => ({ kind: "sqlite", ok: true, queued: 0, oldestMs: 0 }) },
    clock: { monotonic: () => 0 },
  } as unknown as Sources["ports"]; // what is read
  const configStatus = () => ({ state: "current" as const, loadedAtMs: 0, hash: "h" });
  return healthReport(
    { ports, records: { health: () => records } as Sources["records"], configStatus, version: "1", commit: () => "c" },
    0,
  );
}

test("while decision records cannot be written the gateway is degraded, but not unavailable", () => {
  expect(reportWith({ ok: false, queued: 7, dropped: 0 })).toMatchObject({ status: 200, body: { status: "degraded" } });
  expect(reportWith({ ok: true, queued: 7, dropped: 9 }).body.status).toBe("ok");
  expect(reportWith().body.status).toBe("ok");
});

test("of several workers the records that wait and those that were dropped are counted together", () => {
  const reports = [
    reportWith({ ok: true, queued: 1, dropped: 20 }),
    reportWith({ ok: false, queued: 3, dropped: 0 }),
    reportWith({ ok: true, queued: 5, dropped: 4 }),
  ];
  const workers = { wanted: 3, serving: 3 };
  expect(worstReport(reports, workers, 0)?.body).toMatchObject({
    status: "degraded",
    records: { ok: false, queued: 9, dropped: 24 },
  });
  expect(worstReport([reportWith()], { wanted: 1, serving: 1 }, 0)?.body.records).toBeUndefined();
});
