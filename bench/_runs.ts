import { replayRuns } from "./routing/agent-runs.ts";

for (const form of ["tool", "raw"] as const) {
  const r = replayRuns(form, 1)!;
  console.log(
    form,
    "pro calls",
    (100 * r.proCalls).toFixed(1),
    "resolved",
    (100 * r.resolvedMeetingPro).toFixed(1),
    "failed",
    (100 * r.failedMeetingPro).toFixed(1),
    "lift",
    (r.failedMeetingPro / r.resolvedMeetingPro).toFixed(2),
    "xflash",
    r.timesFlash.toFixed(2),
    "sw",
    r.switchesPerSession.toFixed(2),
  );
}
