/** Test summaries: pytest, Jest, Vitest, Mocha, cargo, Bun, unittest, RSpec, JUnit; the number that failed comes first. */
const failedTests =
  /\b(\d{1,6}) (?:failed|failing|failures?|fail)\b|\bFAILED \((?:failures|errors)=(\d{1,6})|Failures: (\d{1,6})/;
const passedTests = /\b\d{1,6} (?:passed|passing|pass)\b|\btest result: ok|^OK\b|^ok\s+\S+\s+[\d.]+s/m;

/** How many tests failed, as the last summary in a command's output says; undefined when it has none. */
export function failedTestsIn(text: string): number | undefined {
  const failed = failedIn(text, "ail") ?? failedIn(text, "FAILED (");
  if (failed !== undefined) return failed;
  if (text.includes("--- FAIL: ")) return text.split("--- FAIL: ").length - 1;
  return (text.includes("pass") || /^ok\b/im.test(text)) && passedTests.test(text) ? 0 : undefined;
}

/** The number in the last summary that holds `word`; regular expressions see only the places where it stands. */
function failedIn(text: string, word: string): number | undefined {
  if (!text.includes(word)) return undefined;
  let at = text.length;
  for (let tries = 0; tries < 6; tries++) {
    at = text.lastIndexOf(word, at - 1);
    if (at < 0) return undefined;
    const summary = failedTests.exec(text.slice(Math.max(0, at - 20), at + 40));
    if (summary !== null) return Number(summary[1] ?? summary[2] ?? summary[3]);
    if (at === 0) return undefined;
  }
  return undefined;
}
