/**
 * How times are written on the page: in the zone that is selected, local by default. A cap counts UTC days, so a day that
 * belongs to a cap is always the UTC day, with the local time of its bounds beside it.
 */
export type Zone = "local" | "utc";

export const dayMs = 86_400_000;

/** `undefined` is the browser's own zone. */
function formatter(zone: Zone, options: Intl.DateTimeFormatOptions): Intl.DateTimeFormat {
  return new Intl.DateTimeFormat("en-GB", {
    ...options,
    hourCycle: "h23",
    ...(zone === "utc" ? { timeZone: "UTC" } : {}),
  });
}

type Parts = Intl.DateTimeFormatOptions;
const clockParts: Parts = { hour: "2-digit", minute: "2-digit", second: "2-digit", fractionalSecondDigits: 3 };
const shapes = {
  clock: clockParts,
  minute: { hour: "2-digit", minute: "2-digit" },
  day: { day: "numeric", month: "short" },
  date: { year: "numeric", month: "2-digit", day: "2-digit" },
} satisfies Record<string, Parts>;

const formatters = new Map<string, Intl.DateTimeFormat>();

function write(atMs: number, shape: keyof typeof shapes, zone: Zone): string {
  const key = `${shape} ${zone}`;
  let found = formatters.get(key);
  if (found === undefined) {
    found = formatter(zone, shapes[shape]);
    formatters.set(key, found);
  }
  return found.format(atMs);
}

/** `14:02:11.482` today, `21 Nov 14:02:11.482` on another day. */
export function clockTime(atMs: number, nowMs: number, zone: Zone): string {
  const clock = write(atMs, "clock", zone);
  return write(atMs, "date", zone) === write(nowMs, "date", zone) ? clock : `${write(atMs, "day", zone)} ${clock}`;
}

/** `14:02` today, `21 Nov 14:02` on another day. */
export function minuteTime(atMs: number, nowMs: number, zone: Zone): string {
  const minute = write(atMs, "minute", zone);
  return write(atMs, "date", zone) === write(nowMs, "date", zone) ? minute : `${write(atMs, "day", zone)} ${minute}`;
}

/** `21 Nov` */
export function dayName(atMs: number, zone: Zone): string {
  return write(atMs, "day", zone);
}

/** The whole time with its offset from UTC: `2026-11-22T14:02:11.482+01:00`, or with `Z`. */
export function isoTime(atMs: number, zone: Zone): string {
  const utc = new Date(atMs).toISOString();
  if (zone === "utc") return utc;
  const offset = -new Date(atMs).getTimezoneOffset();
  const shifted = new Date(atMs + offset * 60_000).toISOString().slice(0, -1);
  const minutes = Math.abs(offset);
  const two = (value: number): string => String(value).padStart(2, "0");
  return `${shifted}${offset < 0 ? "-" : "+"}${two(Math.floor(minutes / 60))}:${two(minutes % 60)}`;
}

/** The UTC day of a time: `2026-11-22`. */
export function utcDay(atMs: number): string {
  return new Date(atMs).toISOString().slice(0, 10);
}

/** When the UTC day of `atMs` starts. */
export function utcDayStart(atMs: number): number {
  return Math.floor(atMs / dayMs) * dayMs;
}

/** `UTC day 2026-11-22`, with the local time of its end beside it where that is not midnight. */
export function utcDayLabel(atMs: number): string {
  return `UTC day ${utcDay(atMs)}`;
}

/** When the UTC day ends, in the reader's zone: `ends 01:00 local`. In UTC itself nothing is beside it. */
export function utcDayEnd(atMs: number): string {
  const end = utcDayStart(atMs) + dayMs;
  return `ends ${write(end, "minute", "local")} local time`;
}

/** The browser's zone, such as `Europe/Berlin`. */
export function zoneName(zone: Zone): string {
  return zone === "utc" ? "UTC" : Intl.DateTimeFormat().resolvedOptions().timeZone;
}
