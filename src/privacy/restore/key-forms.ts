/** One way to write the key. */
export interface KeyForm {
  readonly whole: string;
  /** A beginning this long is no coincidence: it is replaced, and as much of the rest as follows. */
  readonly head: string;
  /** A shorter beginning is given out before it is known how it goes on. */
  readonly start: string;
}

/** So many characters of the key are in a head, and in a start. */
const headLength = 16;
const startLength = 4;

/**
 * The key as it is, percent-encoded, in hexadecimal, and in base64 of both alphabets: on its own, or behind one or two bytes of
 * another text, such as `Bearer `, which shift it. Not reversed or spelled out: there is no end of what a model can be asked to do.
 */
export function keyForms(key: string): readonly KeyForm[] {
  const hex = Buffer.from(key).toString("hex");
  const forms = new Map<string, KeyForm>();
  const add = (whole: string, charactersEach: number) => {
    const upTo = (characters: number) => whole.slice(0, Math.floor(characters * charactersEach));
    forms.set(whole, { whole, head: upTo(headLength), start: upTo(startLength) });
  };
  for (const shift of [0, 1, 2]) {
    for (const alphabet of ["base64", "base64url"] as const) add(base64Behind(key, shift, alphabet), 4 / 3);
  }
  for (const digits of [hex, hex.toUpperCase()]) add(digits, 2);
  add(encodeURIComponent(key), 1);
  add(key, 1);
  return [...forms.values()];
}

/** Base64 of a key behind so many bytes, without the characters at both ends that other bytes have a part in. */
function base64Behind(key: string, bytes: number, alphabet: "base64" | "base64url"): string {
  const encoded = Buffer.concat([Buffer.alloc(bytes), Buffer.from(key)]).toString(alphabet);
  const whole = Math.floor(((bytes + Buffer.byteLength(key)) * 8) / 6);
  return encoded.slice(Math.ceil((bytes * 8) / 6), whole);
}
