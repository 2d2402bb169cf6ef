import { expect, test } from "bun:test";
import { Policy } from "#config/policy.ts";
import { keywords } from "#privacy/detect/keyword-prefilter.ts";
import { privacyEngine } from "#privacy/engine.ts";
import { tokenRules } from "#privacy/rules/token-rules.ts";

const engine = privacyEngine(Policy.parse({}).privacy);

/** What may follow a key word, or begin a value. */
const behind = ' |=|: |="| = a| is | -p |: a@|(",|\'>|,|\n|\t|//|a1|@b:|=a;|?| x1|[|</|\\n|%40|&#65;|-a1B2c3D4|'.split(
  "|",
);
const escapes = "%40§\\0a§\0a§\\u0041§&amp;§\x1b[31ma§[REDACTED:a:1]§\u200ba§密码§пароль §中".split("§");

/** Each keyword of each rule, with what may stand behind it, to be repeated. */
const units = [
  ...Object.values(keywords).flatMap((words) =>
    [...words.matchAll(/(.+?)\d(?:,|$)/gs)].flatMap(([, word = ""]) => behind.map((more) => word + more)),
  ),
  ...tokenRules.flatMap(({ starts }) => ["", "a", "a1B2c3D4e5F6", "."].map((more) => (starts[0] ?? "") + more)),
  ...escapes,
  ...["://", "a://a@", "a://a:b@", "%3A%2F%2Fa%40"],
];
const isLong = process.env["SMART_GATEWAY_LONG_TESTS"] === "1";
/** All in the long form; a fifteenth, another one for each kind, in the short one. */
const tried = isLong ? units : units.filter((_, at) => at % 15 === 0).concat(escapes);

const length = 131_072;
/** Linear ones need 5 to 50; those that look at the rest of the text from each place, thousands. */
const limitMs = 400;

test("no text of a keyword over and over takes more than linear time", () => {
  const slow = tried.filter((unit) => {
    const text = unit.repeat(Math.ceil(length / unit.length)).slice(0, length);
    for (let run = 0; run < 3; run++) {
      const begin = process.cpuUsage();
      engine.placesIn(text);
      if (process.cpuUsage(begin).user < limitMs * 1_000) return false;
    }
    return true;
  });
  expect(slow).toEqual([]);
}, 600_000);
