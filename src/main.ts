import { exitCodes, reportFailure } from "#cli/output.ts";
import { programWith } from "#cli/program.ts";

/** The process: picks a command and runs it. */
async function main(args: readonly string[]): Promise<void> {
  const json = args.includes("--json");
  const [name] = args[0] === "help" ? args.slice(1) : args;
  const program = await programWith((each) => each === name, { silentErrors: json });
  try {
    await program.parseAsync(args, { from: "user" });
  } catch (error) {
    process.exitCode = reportFailure(error, json);
  }
}

// A reader that closes the pipe early (`| head`) is no failure. A full disk is one: what a command prints is its
// result, and it may wait for ever until it is taken. A gateway prints its log there, and serves without it.
process.stdout.on("error", (error: Error & { code?: string }) => {
  if (error.code === "EPIPE" || (process.argv[2] ?? "serve") === "serve") return;
  process.stderr.write(`standard output cannot be written: ${error.code ?? error.message}\n`);
  process.exit(exitCodes.failed);
});
// Without a command it serves: in demo mode where nothing is set.
await main(process.argv.length > 2 ? process.argv.slice(2) : ["serve"]);
