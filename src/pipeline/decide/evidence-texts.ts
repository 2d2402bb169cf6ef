/** Values whose text is kept, of each key: scores have ten thousand, of which most requests have a few hundred. */
const maxTexts = 1_000;

/**
 * Makes entries `key=value` of the evidence. The text of a value that was seen before is the same one: making it takes longer than
 * finding it, and the decision records of requests with one text compare it at once.
 */
export function evidenceTexts<Value extends string | number>(key: string): (value: Value) => string {
  const texts = new Map<Value, string>();
  return (value) => {
    const known = texts.get(value);
    if (known !== undefined) return known;
    const text = `${key}=${value}`;
    if (texts.size >= maxTexts) texts.clear();
    texts.set(value, text);
    return text;
  };
}
