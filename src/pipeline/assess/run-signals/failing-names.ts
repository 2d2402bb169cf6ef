/** So many are told apart; what fails with more of them is one failure all the same. */
const maxNames = 12;

/** How test runners begin, or end, the line that names a test which failed. */
const failingTest = new RegExp(
  [
    String.raw`^(?:FAILED|ERROR) \S+`, // pytest
    String.raw`^(?:FAIL|ERROR): \S+ \(`, // unittest
    String.raw`^\s*--- FAIL: |^\s*FAIL\s+\S+\.\w+\s`, // Go, Vitest
    String.raw`^test \S+ \.\.\. FAILED`, // cargo
    String.raw`^\S[^\n]* > [^\n]* FAILED$`, // Gradle
    String.raw`^\[ERROR\] +[\w.$]+[.:]\w+[^\n]*:\d+`, // Maven
    String.raw`^\s*Failed \S+ \[`, // .NET
    String.raw`^\s*\d+ - \S+ \((?:Failed|Timeout|SEGFAULT|Child aborted)\)`, // ctest
    String.raw`\s\[E\]$`, // Dart
    String.raw`\*\*\* FAILED \*\*\*`, // ScalaTest
    String.raw`^\s*not ok \d`, // TAP
    String.raw`^\(fail\) `, // Bun
  ].join("|"),
);
/** The same of Jest, AVA, Pest; PHPUnit, RSpec, Mocha, ExUnit, Playwright: other programs print lists as well. */
const inListOfTests = /^\s*(?:(?:●|✗|✘|✕|×|✖|⨯|❌)\s+|\d+\) )\S/;
/** How compilers and linters name a place and what is wrong there. */
const faultInCode =
  /^\s*\S{1,200}[:(]\d{1,6}(?:[:,]\d{1,5})?\)?:? (?:fatal )?error\b|^\s+\d{1,6}:\d{1,5}\s+error\s|^error\[\w{1,10}\]: |^\S{1,160}\.\w{1,8}:\d{1,6}:\d{1,5}: (?!warning|note|info)\S/;
const counts = /^\W*\d+ (?:problems?|errors?|failed|failing)\b/;

/** What a harness writes in front of the first line of an output. */
const streamLabel =
  /^\s*(?:\{\s*"\w{1,20}"\s*:\s*"|(?:Stdout|Stderr|Output|STDOUT|STDERR|stdout|stderr): |Observation: )/;

/** What failed, as the lines of an output name it. */
export interface FailingNames {
  /** One for each that differs from the others, without numbers: fit to be compared, not to be shown. */
  readonly names: readonly string[];
  /** How many lines name something that failed: the same fault may stand at several places. */
  readonly count: number;
}

export function failingNamesIn(text: string, areTests: boolean): FailingNames {
  const names = new Set<string>();
  let count = 0;
  for (const labelled of text.split("\n")) {
    const line = labelled.replace(streamLabel, "");
    if (!failingTest.test(line) && !faultInCode.test(line) && !(areTests && inListOfTests.test(line))) continue;
    if (counts.test(line)) continue;
    count++;
    if (names.size < maxNames) names.add(withoutNumbers(line));
  }
  return { names: [...names], count };
}

function withoutNumbers(line: string): string {
  return line
    .slice(0, 300)
    .replace(/\u001b\[[0-9;]*m/g, "")
    .replace(/\b0x[0-9a-f]+\b|\b[0-9a-f]{8,}\b/gi, "#")
    .replace(/\d+(?:[.:]\d+)*(?:ms|s)?\b/g, "#")
    .replace(/\s+/g, " ")
    .trim();
}
