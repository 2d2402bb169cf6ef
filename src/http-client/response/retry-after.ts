const months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
const time = String.raw`(?<hour>\d{2}):(?<minute>\d{2}):(?<second>\d{2})`;
const shortDay = "(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)";
const longDay = "(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day";
const month = `(?<month>${months.join("|")})`;
/** The three spellings of an HTTP-date that a recipient must accept (RFC 9110 §5.6.7). */
const dates = [
  new RegExp(`^${shortDay}, (?<day>\\d{2}) ${month} (?<year>\\d{4}) ${time} GMT$`),
  new RegExp(`^${longDay}, (?<day>\\d{2})-${month}-(?<year>\\d{2}) ${time} GMT$`),
  new RegExp(`^${shortDay} ${month} (?<day>[ \\d]\\d) ${time} (?<year>\\d{4})$`),
];

/**
 * Milliseconds to wait as `Retry-After` asks (seconds or HTTP-date, RFC 9110 §10.2.3); 0 for a date that has passed,
 * undefined if absent or nonsense. A fraction of a second, which the RFC does not know, is taken as meant.
 */
export function retryAfterMs(header: string | null | undefined, nowEpochMs: number): number | undefined {
  const text = header?.trim() ?? "";
  if (/^\d{1,12}(\.\d{1,9})?$/.test(text)) return Math.ceil(Number(text) * 1_000);
  const epochMs = parseHttpDate(text, nowEpochMs);
  return epochMs === undefined ? undefined : Math.max(0, epochMs - nowEpochMs);
}

function parseHttpDate(text: string, nowEpochMs: number): number | undefined {
  for (const date of dates) {
    const parts = date.exec(text)?.groups;
    if (parts === undefined) continue;
    const [day, hour, minute] = [Number(parts["day"]), Number(parts["hour"]), Number(parts["minute"])];
    // A leap second counts as the one before it.
    const second = Math.min(Number(parts["second"]), 59);
    const monthIndex = months.indexOf(parts["month"] ?? "");
    const year = wholeYear(parts["year"] ?? "", nowEpochMs);
    const epochMs = Date.UTC(year, monthIndex, day, hour, minute, second);
    const read = new Date(epochMs);
    const exists = read.getUTCDate() === day && read.getUTCMonth() === monthIndex && hour < 24 && minute < 60;
    return exists && Number(parts["second"]) <= 60 ? epochMs : undefined;
  }
  return undefined;
}

/** A two-digit year that seems more than 50 years ahead is the last one in the past that ends so (RFC 9110 §5.6.7). */
function wholeYear(text: string, nowEpochMs: number): number {
  if (text.length === 4) return Number(text);
  const now = new Date(nowEpochMs).getUTCFullYear();
  const inThisCentury = now - (now % 100) + Number(text);
  return inThisCentury > now + 50 ? inThisCentury - 100 : inThisCentury;
}
