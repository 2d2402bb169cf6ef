import { expect, test } from "bun:test";
import fc from "fast-check";
import { tagOfText } from "./process-tags.ts";

const text = fc.constantFrom(
  "",
  "a",
  "b",
  "ab".repeat(200),
  `${"ab".repeat(200)} `,
  "é".repeat(300),
  "z".repeat(2_000),
);

test("a text has the same tag in every run of the event loop, and no other text has it", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.array(text, { maxLength: 12 }), { maxLength: 4 }), async (runs) => {
      const seen = new Map<string, string>();
      for (const texts of runs) {
        for (const each of texts) {
          const tag = tagOfText(each);
          expect(seen.get(each) ?? tag).toBe(tag);
          seen.set(each, tag);
        }
        await Promise.resolve();
      }
      expect(new Set(seen.values()).size).toBe(seen.size);
    }),
  );
});
