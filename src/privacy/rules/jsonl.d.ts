/** Tables of the privacy gate are imported as text, so that the single-file binary carries them. */
declare module "*.jsonl" {
  const text: string;
  export default text;
}
