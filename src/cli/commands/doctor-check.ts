/** The result of one check. `warn`: it works, but not as it should. `fail`: the gateway cannot start or keep its promises. */
export interface Check {
  readonly name: string;
  readonly status: "ok" | "warn" | "fail";
  readonly detail: string;
  readonly advice?: string;
}

export const ok = (name: string, detail: string): Check => ({ name, status: "ok", detail });
export const warn = (name: string, detail: string, advice: string): Check => ({ name, status: "warn", detail, advice });
export const fail = (name: string, detail: string, advice?: string): Check => ({
  name,
  status: "fail",
  detail,
  ...(advice === undefined ? {} : { advice }),
});

/** How far this clock is ahead of another. Days and deadlines depend on it. */
export function checkClock(aheadMs: number, whose: string): Check {
  const detail = `this clock and ${whose} differ by ${(Math.abs(aheadMs) / 1_000).toFixed(1)} s`;
  if (Math.abs(aheadMs) < 5_000) return ok("clock", detail);
  return warn("clock", detail, "days and deadlines depend on it: run an NTP client on both");
}

/** The code of an error; its message may hold a connection string. */
export function errorCode(error: unknown): string {
  if (!(error instanceof Error)) return "unknown error";
  return "code" in error && typeof error.code === "string" ? error.code : error.name;
}
