/** What is looked for first: searching for long texts takes several instructions for each of their characters. */
const probeLength = 64;
const maxProbes = 8;

/** Where a text first holds another one; -1 where it does not. For parts that are nearly as long as the text. */
export function placeOf(text: string, part: string): number {
  const next = nextPlace(text, part, 0);
  return next === undefined ? text.indexOf(part) : next;
}

/** The one place where a text holds another one; -1 where there is none or more than one, or what begins like the part stands in too many. */
export function onlyPlaceOf(text: string, part: string): number {
  const first = nextPlace(text, part, 0) ?? -1;
  return first >= 0 && nextPlace(text, part, first + 1) === -1 ? first : -1;
}

/** The first place from `from` on; undefined where too many places begin alike. */
function nextPlace(text: string, part: string, from: number): number | undefined {
  const probe = part.slice(0, probeLength);
  const searched = text.slice(0, Math.max(0, text.length - part.length + probe.length));
  let at = from;
  for (let probes = 0; probes < maxProbes; probes++) {
    at = searched.indexOf(probe, at);
    if (at < 0 || text.startsWith(part, at)) return at;
    at++;
  }
  return undefined;
}
