import { type TextTag, TextTags } from "./text-tags.ts";

/** Several memories ask for the tags of the same texts, one after the other: the system prompt and the ask of a request. */
const maxKept = 4;

const tags = new TextTags();
const texts: string[] = [];
const tagsOfTexts: TextTag[] = [];
let next = 0;

/** The tag of a text under the one key of this process. A text is tagged once in a run of the event loop, and not held beyond it. */
export function tagOfText(text: string): TextTag {
  for (let at = 0; at < texts.length; at++) {
    const known = texts[at] === text ? tagsOfTexts[at] : undefined;
    if (known !== undefined) return known;
  }
  if (texts.length === 0) queueMicrotask(forgetTexts);
  const tag = tags.ofText(text);
  texts[next] = text;
  tagsOfTexts[next] = tag;
  next = (next + 1) % maxKept;
  return tag;
}

function forgetTexts(): void {
  texts.length = 0;
  next = 0;
}
