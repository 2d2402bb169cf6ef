/**
 * How many tests failed, as the summaries of test runners say: pytest, Jest, Vitest, Mocha, cargo, Bun, Go, unittest, RSpec, JUnit,
 * Maven, Gradle, .NET, node:test, ctest. Tests that ended with an error count as failed.
 */
const count = (words: string) => new RegExp(`(?<!=)\\b(\\d{1,6}) ${words}\\b`);
const failedWords = count("(?:tests? )?(?:failed|failing|failures?|fail)");
const errorWords = count("errors?");
/** `Failures: 1, Errors: 2`, `Failed: 2, Passed: 5`, `FAILED (failures=1, errors=2)`, `ℹ fail 2`: the word comes first. */
const labelled =
  /\bFailures: (\d{1,6})(?:, Errors: (\d{1,6}))?|\bAssertions: \d{1,7}, Errors: (\d{1,6})|\bFAILED \((?:failures=(\d{1,6}))?(?:, )?(?:errors=(\d{1,6}))?|\bFailed: +(\d{1,6}),|^(?:ℹ|#) fail (\d{1,6})$/;
/** What pytest and RSpec end with: errors stand beside the other counts. */
const counted = /\bin \d+(?:\.\d+)?s\b|\bexamples?, |\bassertions?, /;
const passed = /\b\d{1,6} (?:passed|passing|pass)\b|\btest result: ok|^OK\b|^ok\s+\S+\s+[\d.]+s|^Passed!/m;
/** A summary has one of these words. */
const anySummary = /ail|FAIL|rror|pass|Pass|^(?:not )?ok\b/im;
/** The number that a line of the whole run gives; Jest and Vitest also count files, whose line comes before. */
const ofTests = /^\s*Tests:?\s+\S.*\b(?:passed|failed|total|skipped)\b/;
const ofFiles = /^\s*Test (?:Suites:|Files)\s/;
const ofSnapshots = /^\s*Snapshots:?\s/;

/** How many tests failed, as the newest summary in a command's output says; undefined when it has none. */
export function failedTestsIn(text: string): number | undefined {
  if (!anySummary.test(text)) return undefined;
  let failed: number | undefined;
  let files = 0;
  let perPackage = 0;
  for (const line of text.split("\n")) {
    if (line.startsWith("--- FAIL: ") || /^FAIL\t.*\[(?:build|setup) failed\]/.test(line)) perPackage++;
    else if (line.startsWith("not ok ") && !/# (?:TODO|SKIP)\b/i.test(line)) perPackage++;
    if (!/\d/.test(line) || ofSnapshots.test(line)) continue;
    const found = failedInLine(line);
    if (ofFiles.test(line)) files = found ?? 0;
    else if (ofTests.test(line)) failed = found === undefined || found === 0 ? files : found;
    else if (line.includes("test result: "))
      failed = (failed ?? 0) + (found ?? 0); // one for each binary
    else if (found !== undefined) failed = found;
    else if (counted.test(line) && passed.test(line)) failed = 0;
  }
  if (perPackage > 0) return perPackage;
  if (failed !== undefined) return failed;
  return passed.test(text) ? 0 : undefined;
}

function failedInLine(line: string): number | undefined {
  const named = labelled.exec(line);
  if (named !== null) return named.slice(1).reduce((sum, digits) => sum + Number(digits ?? 0), 0);
  const failures = failedWords.exec(line)?.[1];
  const errors = counted.test(line) ? errorWords.exec(line)?.[1] : undefined;
  if (failures === undefined && errors === undefined) return undefined;
  return Number(failures ?? 0) + Number(errors ?? 0);
}
