// What may differ between two runs of one version (ids, times, durations) is replaced; the rest is compared value by value.

const uuid = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g;
const isoTime = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z/g;
const loopback = /127\.0\.0\.1:\d+/g;
const folder = /compare-versions-\w+/g;
const counts = /("(?:\w+_ms|queued)":)\d+/g;
/** Members whose values are durations, times, hashes with a random key, or sizes of this process. */
const unstable =
  /(?:_ms|_(?:spent|held)_nano_usd|Ms|_at|_s|_hash|Hash|_digest|_us|_bytes|uptime|version|salt|node|pid|epoch|generation)$|^(?:date|forecast_nano_usd|time|seq|conversation|created|timings|expires|id)$/;

export function normalized(value, name = "") {
  if (typeof value === "string") {
    return value
      .replace(uuid, "<id>")
      .replace(isoTime, "<time>")
      .replace(loopback, "<address>")
      .replace(folder, "<folder>")
      .replace(counts, "$10");
  }
  if (Array.isArray(value)) return value.filter(isStable).map((item) => normalized(item));
  if (value === null || typeof value !== "object") return unstable.test(name) ? "<unstable>" : value;
  // Whether a short stream is sent as a whole depends on how its pieces arrive.
  const framing = (key) => key === "content-length" || key === "transfer-encoding";
  return Object.fromEntries(
    Object.entries(value)
      .filter(([key]) => !framing(key))
      .map(([key, item]) => [
        key,
        unstable.test(key) && (item === null || typeof item !== "object") ? "<unstable>" : normalized(item, key),
      ]),
  );
}

/** What would have changed a decision names the spend, which depends on whether the last answer was settled already. */
function isStable(item) {
  return !/spend \(USD\)/.test(item?.sentence ?? "");
}

/** One line for each place in which two values differ: `path: left → right`. */
export function differences(left, right, path = "") {
  if (Object.is(left, right)) return [];
  if (isRecord(left) && isRecord(right)) {
    return [...new Set([...Object.keys(left), ...Object.keys(right)])].flatMap((key) =>
      differences(left[key], right[key], path === "" ? key : `${path}.${key}`),
    );
  }
  if (typeof left === "string" && typeof right === "string") return [`${path}: ${around(left, right)}`];
  return [`${path}: ${brief(left)} → ${brief(right)}`];
}

function isRecord(value) {
  return typeof value === "object" && value !== null;
}

/** The first place in which two texts differ, with what stands around it. */
function around(left, right) {
  let at = 0;
  while (left[at] === right[at]) at++;
  const from = Math.max(0, at - 30);
  return `at ${at}: ${JSON.stringify(left.slice(from, at + 60))} → ${JSON.stringify(right.slice(from, at + 60))}`;
}

function brief(value) {
  return value === undefined ? "absent" : (JSON.stringify(value) ?? String(value)).slice(0, 160);
}
