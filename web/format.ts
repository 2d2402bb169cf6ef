import { dollarText, formatUsd } from "#domain/money/money.ts";

/** How amounts, durations, shares, counts, times and names are written on the page. */

/** As texts of the server have it, of nano-US-dollars. An amount that is not known (null) is a dash, not zero. */
export function money(nano: number | null | undefined): string {
  return nano === null || nano === undefined ? "–" : dollarText(nano);
}

/** Every digit of an amount, for titles and copies: `0.004123456 USD`. */
export function exactMoney(nano: number): string {
  return `${formatUsd(nano).replace("-", "−")} USD`;
}

const grouped = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 });
const two = (value: number): string => String(value).padStart(2, "0");

/** `0.4 ms`, `2 ms`, `3.2 s`, `1 m 04 s`, `2 h 05 m`, `3 d 04 h`; a dash when there is none. */
export function duration(ms: number | null | undefined): string {
  if (ms === null || ms === undefined) return "–";
  if (ms < 0) return `−${duration(-ms)}`;
  if (ms === 0) return "0 ms";
  if (ms < 9.95) return `${Number(Math.max(ms, 0.1).toFixed(1))} ms`;
  if (ms < 999.5) return `${Math.round(ms)} ms`;
  if (ms < 59_950) return `${(ms / 1_000).toFixed(1)} s`;
  const seconds = Math.round(ms / 1_000);
  if (seconds < 3_600) return `${Math.floor(seconds / 60)} m ${two(seconds % 60)} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 2_880) return `${Math.floor(minutes / 60)} h ${two(minutes % 60)} m`;
  return `${Math.floor(minutes / 1_440)} d ${two(Math.floor((minutes % 1_440) / 60))} h`;
}

/** Whole percents; a part is never shown as none (`<1 %`) or as all (`>99 %`). */
export function share(part: number, whole: number): string {
  if (whole <= 0) return "–";
  const percent = (part / whole) * 100;
  if (percent > 0 && percent < 0.5) return "<1 %";
  if (percent < 100 && percent >= 99.5) return ">99 %";
  return `${Math.round(percent)} %`;
}

/** `1,234`. */
export function count(value: number): string {
  return grouped.format(value);
}

/** `1 request`, `2 requests`. */
export function counted(value: number, singular: string, plural = `${singular}s`): string {
  return `${count(value)} ${value === 1 ? singular : plural}`;
}

/**
 * A goal as people name it. Where an id has a slash in it the gateway escapes both parts and joins them by two slashes
 * (`a%2Fb//c`); the name in full is shown on hover.
 */
export function goalName(goal: string): string {
  if (!goal.includes("//")) return goal;
  const parts = goal.split("//").filter((part) => part !== "");
  return parts.map((part) => part.replaceAll("%2F", "/").replaceAll("%25", "%")).join("/");
}

/** `hard_pro_rule` as `hard pro rule`: the gateway's word, in readable spacing. */
export function words(name: string): string {
  return name.replaceAll("_", " ").toLowerCase();
}

/**
 * Times are in the zone that is selected, local by default. A cap counts UTC days, so a day that belongs to a cap is always the
 * UTC day, with the local time of its bounds beside it.
 */
export type Zone = "local" | "utc";

export const dayMs = 86_400_000;

const shapes = {
  clock: { hour: "2-digit", minute: "2-digit", second: "2-digit", fractionalSecondDigits: 3 },
  minute: { hour: "2-digit", minute: "2-digit" },
  day: { day: "numeric", month: "short" },
  date: { year: "numeric", month: "2-digit", day: "2-digit" },
} satisfies Record<string, Intl.DateTimeFormatOptions>;

const formatters = new Map<string, Intl.DateTimeFormat>();

function write(atMs: number, shape: keyof typeof shapes, zone: Zone): string {
  const key = `${shape} ${zone}`;
  const utc = zone === "utc" ? { timeZone: "UTC" } : {}; // without it, the browser's own zone
  const found = formatters.get(key) ?? new Intl.DateTimeFormat("en-GB", { ...shapes[shape], hourCycle: "h23", ...utc });
  formatters.set(key, found);
  return found.format(atMs);
}

/** A time of day, with the date before it on another day than `nowMs`: `14:02:11.482`, `21 Nov 14:02:11.482`. */
export function clockTime(atMs: number, nowMs: number, zone: Zone, shape: "clock" | "minute" = "clock"): string {
  const time = write(atMs, shape, zone);
  return write(atMs, "date", zone) === write(nowMs, "date", zone) ? time : `${write(atMs, "day", zone)} ${time}`;
}

/** The same without seconds. */
export function minuteTime(atMs: number, nowMs: number, zone: Zone): string {
  return clockTime(atMs, nowMs, zone, "minute");
}

/** `21 Nov` */
export function dayName(atMs: number, zone: Zone): string {
  return write(atMs, "day", zone);
}

/** The whole time with its offset from UTC: `2026-11-22T14:02:11.482+01:00`, or with `Z`. */
export function isoTime(atMs: number, zone: Zone): string {
  if (zone === "utc") return new Date(atMs).toISOString();
  const offset = -new Date(atMs).getTimezoneOffset();
  const shifted = new Date(atMs + offset * 60_000).toISOString().slice(0, -1);
  const minutes = Math.abs(offset);
  return `${shifted}${offset < 0 ? "-" : "+"}${two(Math.floor(minutes / 60))}:${two(minutes % 60)}`;
}

/** The UTC day of a time: `2026-11-22`. */
export function utcDay(atMs: number): string {
  return new Date(atMs).toISOString().slice(0, 10);
}

/** `UTC day 2026-11-22` */
export function utcDayLabel(atMs: number): string {
  return `UTC day ${utcDay(atMs)}`;
}

/** When the UTC day ends, in the reader's zone: `ends 01:00 local time`. */
export function utcDayEnd(atMs: number): string {
  return `ends ${write(Date.parse(utcDay(atMs)) + dayMs, "minute", "local")} local time`;
}

/** The browser's zone, such as `Europe/Berlin`. */
export function zoneName(zone: Zone): string {
  return zone === "utc" ? "UTC" : Intl.DateTimeFormat().resolvedOptions().timeZone;
}
