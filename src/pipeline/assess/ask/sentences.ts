/** Words of a label in front of a colon, as in `Task:`; longer ones are a sentence of their own. */
const labelWords = 3;
const maxSentences = 64;
const maxQuote = 2_000;
const closingQuote: Readonly<Record<number, string>> = { 34: '"', 8220: "”", 8222: "“", 171: "»", 12300: "」" };

/**
 * The sentences of an ask, without what stands in quotes, or behind a colon up to the end of the paragraph: a text that something is to
 * be done with. Behind a label (`Task: …`) the sentence is the label's. One walk over the text.
 */
export function sentencesOf(text: string): readonly string[] {
  const sentences: string[] = [];
  let sentence = "";
  let from = 0;
  /** Words of the sentence so far. */
  let words = 0;
  const end = (to: number, next: number) => {
    sentence += text.slice(from, to);
    if (sentence.trim() !== "" && sentences.length < maxSentences) sentences.push(sentence);
    sentence = "";
    from = next;
    words = 0;
  };
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    const next = text.charCodeAt(at + 1); // NaN at the end
    if (code === 0x20) words++;
    else if (code === 0x0a) {
      // A long line that goes on in the next one is wrapped.
      if (!(next >= 0x61 && next <= 0x7a && at - from > 50)) end(at, at + 1);
    } else if (code === 0x3a || code === 0xff1a) {
      if (code === 0x3a && next !== 0x20 && next !== 0x0a) continue; // a time, an address, a name
      if (words < labelWords && next === 0x20) end(at, at + 1);
      else {
        const paragraph = text.indexOf("\n\n", at + 2);
        const behind = paragraph < 0 ? text.length : paragraph + 1;
        end(at, behind);
        at = behind;
      }
    } else if (code in closingQuote) {
      const close = text.indexOf(closingQuote[code] ?? '"', at + 1);
      if (close < 0 || close - at > maxQuote) continue;
      sentence += `${text.slice(from, at)} `;
      from = at = close + 1;
    } else if (isEnd(code) && (code > 0x7f || next === 0x20 || next === 0x0a || Number.isNaN(next)))
      end(at + 1, at + 1);
  }
  end(text.length, text.length);
  return sentences;
}

/** A full stop, an exclamation or question mark, a semicolon, and their wide forms. */
function isEnd(code: number): boolean {
  return (
    code === 0x2e ||
    code === 0x21 ||
    code === 0x3f ||
    code === 0x3b ||
    code === 0x3002 ||
    code === 0xff01 ||
    code === 0xff1f
  );
}
