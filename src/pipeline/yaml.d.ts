/** Lists of words are imported as data, so that a compiled program carries them. */
declare module "*-words.yaml" {
  const lists: Readonly<Record<string, string>>;
  export default lists;
}
