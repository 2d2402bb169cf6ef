/** Words of a label in front of a colon, as in `Task:`; longer ones are a sentence of their own. */
const labelWords = 2;
const maxSentences = 64;
const maxQuote = 2_000;
const wrapped = 50;
const closingQuote: Readonly<Record<string, string>> = { '"': '"', "“": "”", "„": "“", "«": "»", "「": "」" };
/** Where a sentence may end, a quote or a line begins, or data follow. */
const mark = /["“„«「\n:：.!?;。！？；]/g;

/**
 * The sentences of an ask, without what stands in quotes, or behind a colon up to the end of the paragraph: a text that
 * something is to be done with. Behind a label (`Task: …`) the sentence is the label's. One walk over the text.
 */
export function sentencesOf(text: string): readonly string[] {
  const sentences: string[] = [];
  let sentence = "";
  let from = 0;
  const end = (to: number, next: number) => {
    sentence += text.slice(from, to);
    if (sentence.trim() !== "" && sentences.length < maxSentences) sentences.push(sentence);
    sentence = "";
    from = mark.lastIndex = next;
  };
  mark.lastIndex = 0;
  for (let match = mark.exec(text); match !== null; match = mark.exec(text)) {
    const { 0: sign, index: at } = match;
    const next = text.charAt(at + 1);
    const close = closingQuote[sign];
    if (close !== undefined) {
      const quoteEnd = text.indexOf(close, at + 1);
      if (quoteEnd < 0 || quoteEnd - at > maxQuote) continue;
      sentence += `${text.slice(from, at)} `;
      from = mark.lastIndex = quoteEnd + 1;
    } else if (sign === "\n") {
      // A long line that goes on in the next one is wrapped.
      if (!(/[a-z]/.test(next) && at - from > wrapped)) end(at, at + 1);
    } else if (sign === ":" || sign === "：") {
      if (sign === ":" && next !== " " && next !== "\n") continue; // a time, an address, a name
      const isLabel = next === " " && text.slice(from, at).trim().split(" ").length <= labelWords;
      const paragraph = isLabel ? -1 : text.indexOf("\n\n", at + 2);
      end(at, isLabel ? at + 1 : paragraph < 0 ? text.length : paragraph + 1);
    } else if (sign > "\x7f" || next === " " || next === "\n" || next === "") end(at + 1, at + 1);
  }
  end(text.length, text.length);
  return sentences;
}

/** Answers to choose from, or words without a sentence. */
export function isListOrQuiz(ask: string): boolean {
  let commas = 0;
  for (let at = ask.indexOf(","); at >= 0; at = ask.indexOf(",", at + 1)) commas++;
  if (commas > 4 && 2 * commas > ask.split(" ").length) return true;
  return ask.includes("\n") && (ask.match(/^[ \t]{0,4}\(?[a-j][.)] /gm)?.length ?? 0) >= 3;
}
