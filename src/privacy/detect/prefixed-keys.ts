import { isIdentifierShaped } from "./identifiers.ts";
import { isRandom, shapeOf } from "./randomness.ts";

const prefixed =
  /^([a-z][a-z0-9]{1,15})([_-])((?:[a-z0-9]{1,12}\2){0,3})([A-Za-z0-9]{16,}(?:[_-][A-Za-z0-9]{4,}){0,2})$/;
/** Vendor words that show a secret key; below, words that do so after a vendor's name. */
const secretVendorWord = /^(?:sk|rk|secret|pat|key|apikey|tok|token|whsec|[a-z0-9]+(?:key|pat|token|secret))$/;
const secretMiddleWord =
  /^(?:sk|rk|sec|secret|pat|key|apikey|api|tok|token|live|prod|oauth|priv|private|auth|access|at|rt|svc|bot|signing)$/;

/** Beginnings of ids, sums and names that nobody keeps secret, whatever follows. */
const publicPrefixes =
  /^(?:sha\d+|md5|h1|nonce|sig|hash|cs|ch|pi|seti|sub|cus|evt|acct|price|prod|req|resp|msg|run|step|call|toolu|chatcmpl|cmpl|gen|file|asst|thread|item|batch|ft|rs|fc|ws|org|proj|user|usr|chunk|index|main|build|css|img|id|uid|obj|doc|page|session|trace|span|task|job|event|video|image|upload|blob|pk|pub|public|phc|ca)$/;

const longKey = /^(?:[a-z]{2,12}_)?(?:sk|pat|tok|token|key|secret)[_-]([\w-]{32,300})$/;

/** `pat_…`, `xyz_sk_…` with dashes and underscores in what follows. */
function isLongKey(run: string): boolean {
  const body = longKey.exec(run)?.[1];
  if (body === undefined) return false;
  const { length, digits, upper, lower, classChanges } = shapeOf(body);
  return digits >= 4 && upper >= 4 && lower >= 4 && classChanges * 3 >= length;
}

/**
 * `vendor_live_…`, `xyz-sk-…`: the common pattern of keys, for any vendor.
 * @param namedId whether the name beside it says that it is an id
 */
export function isPrefixedKey(run: string, namedId: boolean): boolean {
  const match = prefixed.exec(run);
  if (match === null) return isLongKey(run);
  const [, vendor = "", separator = "", middle = "", body = ""] = match;
  const words = middle.split(separator);
  if (vendor === "pk" || words.includes("pk") || words.includes("pub")) return false; // meant to be seen
  const shape = shapeOf(body);
  if (secretVendorWord.test(vendor) || words.some((word) => secretMiddleWord.test(word)))
    return shape.digits > 0 && isRandom(shape) && !isIdentifierShaped(body, shape);
  // Without such a word, only what no id is: long, and drawn from capitals, small letters and digits alike.
  if (namedId || middle !== "" || vendor.length > 12 || publicPrefixes.test(vendor)) return false;
  const { length, digits, upper, lower, classChanges } = shape;
  return (
    length >= (separator === "_" ? 32 : 36) &&
    digits >= 3 &&
    upper >= 5 &&
    lower >= 5 &&
    classChanges * 3 >= length &&
    isRandom(shape)
  );
}
