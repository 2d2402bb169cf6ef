/** What a character is to a reader of words; found out once for each. */
const blank = 1;
const letter = 2;
const joint = 3;
const unspaced = 4;
/** By UTF-16 code unit; 0: not known yet. Halves of surrogate pairs, most of them emoji, count as blanks. */
const kinds = new Uint8Array(0x1_0000);

/** @param code NaN behind the end of a text */
function kindOf(code: number): number {
  return kinds[code] || (Number.isNaN(code) ? blank : readKind(code));
}

function readKind(code: number): number {
  const character = String.fromCharCode(code);
  let kind = blank;
  if (/[_./@:\\]/.test(character)) kind = joint;
  else if (/[\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff]/.test(character)) kind = unspaced;
  else if (/[\p{L}\p{M}\p{N}]/u.test(character)) kind = letter;
  kinds[code] = kind;
  return kind;
}

/** Letters and digits of scripts whose words have blanks around them. */
export function isLetter(code: number): boolean {
  return kindOf(code) === letter;
}

/** Between letters it makes a name of them. */
export function isJoint(code: number): boolean {
  return kindOf(code) === joint;
}

/** Letters of scripts without blanks. */
export function isUnspaced(code: number): boolean {
  return kindOf(code) === unspaced;
}
