import type { Output } from "./outputs.ts";

const ran = (command: string) => ({ command });
const tool = (name: string) => ({ name });

/** A second set, written after the rules had been changed for the first. */
export const outputs: readonly Output[] = [
  [
    "bazel, failed",
    ran("bazel test //..."),
    "//export:json_test                                FAILED in 0.3s\n\nExecuted 1 out of 4 tests: 3 tests pass and 1 fails locally.",
    true,
  ],
  [
    "bazel, passed",
    ran("bazel test //..."),
    "//export:json_test                                PASSED in 0.3s\n\nExecuted 4 out of 4 tests: 4 tests pass.",
    false,
  ],
  [
    "sbt, failed",
    ran("sbt test"),
    "[info] *** 1 TEST FAILED ***\n[error] Failed tests:\n[error] \tExportSpec\n[error] (Test / test) sbt.TestsFailedException: Tests unsuccessful",
    true,
  ],
  [
    "lein, failed",
    ran("lein test"),
    "Ran 4 tests containing 9 assertions.\n1 failures, 0 errors.\nTests failed.",
    true,
  ],
  ["lein, passed", ran("lein test"), "Ran 4 tests containing 9 assertions.\n0 failures, 0 errors.", false],
  ["nim, failed", ran("nim c export.nim"), "/w/export.nim(3, 5) Error: undeclared identifier: 'json'", true],
  [
    "crystal spec, passed",
    ran("crystal spec"),
    "....\n\nFinished in 1.2 milliseconds\n4 examples, 0 failures, 0 errors, 0 pending",
    false,
  ],
  [
    "julia, failed",
    ran("julia -e 'using Pkg; Pkg.test()'"),
    "Test Summary: | Pass  Fail  Total\nexport        |    3     1      4\nERROR: LoadError: Some tests did not pass: 3 passed, 1 failed, 0 errored, 0 broken.",
    true,
  ],
  ["perl prove, failed", ran("prove t"), "t/export.t .. 1/4\n#   Failed test 'json'\nResult: FAIL", true],
  [
    "perl prove, passed",
    ran("prove t"),
    "t/export.t .. ok\nAll tests successful.\nFiles=1, Tests=4,  0 wallclock secs\nResult: PASS",
    false,
  ],
  [
    "stylelint, found",
    ran("npx stylelint a.css"),
    "a.css\n  3:1  ✖  Unexpected unknown property  property-no-unknown\n\n1 problem (1 error, 0 warnings)",
    true,
  ],
  ["yamllint, clean", ran("yamllint ."), "", false],
  [
    "cmake, failed",
    ran("cmake -B build"),
    "CMake Error at CMakeLists.txt:3 (find_package):\n  Could not find a package configuration file\n-- Configuring incomplete, errors occurred!",
    true,
  ],
  [
    "pip, failed",
    ran("pip install json9"),
    "ERROR: Could not find a version that satisfies the requirement json9 (from versions: none)\nERROR: No matching distribution found for json9",
    true,
  ],
  [
    "gem, failed",
    ran("gem install json9"),
    "ERROR:  Could not find a valid gem 'json9' (>= 0) in any repository",
    true,
  ],
  [
    "git merge, a conflict",
    ran("git merge topic"),
    "Auto-merging a.ts\nCONFLICT (content): Merge conflict in a.ts\nAutomatic merge failed; fix conflicts and then commit the result.",
    true,
  ],
  [
    "wget, refused",
    ran("wget http://localhost:1/"),
    "Connecting to localhost (localhost)|127.0.0.1|:1... failed: Connection refused.",
    true,
  ],
  [
    "MCP, text that tells of errors",
    tool("mcp__sentry__list_errors"),
    "1. TypeError: x is not a function (12 events)\n2. Error: timeout (3 events)",
    false,
  ],
  ["a JSON result with status failed", tool("deploy"), '{"id": 7, "status": "failed", "log": "image not found"}', true],
  // What only looks like a failure.
  [
    "docker run, an image is fetched first",
    ran("docker run --rm hello"),
    "Unable to find image 'hello:latest' locally\nlatest: Pulling from library/hello\nhello",
    false,
  ],
  [
    "a file with errors, written and shown",
    ran("echo x >> a.log && cat a.log"),
    "start\nerror: no space\nfatal: stop\nx",
    false,
  ],
];
