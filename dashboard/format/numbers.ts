/** How durations, shares and counts are written on the page. */

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
