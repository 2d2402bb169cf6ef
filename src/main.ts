import { CommanderError } from "commander";
import { exitCodes, failWith } from "#cli/exit.ts";
import { commandNames, programWith } from "#cli/program.ts";

/** The process: picks a command and runs it. */
async function main(args: readonly string[]): Promise<void> {
  const [first = "", second = ""] = args;
  // Called by the shell's completion script; hidden, because it is not for people.
  if (first === "__complete")
    return (await import("#cli/commands/completion.ts")).printCompletions(args.slice(1), programWith);
  // `help NAME` prints what NAME itself would.
  if (first === "help" && commandNames.includes(second)) return main([...args.slice(1), "--help"]);
  const json = args.includes("--json");
  const program = await programWith((name) => name === first, { silentErrors: json });
  try {
    await program.parseAsync(args, { from: "user" });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    // Help that was asked for has code 0; all else that the parser throws is about how it was called, and said already but in JSON.
    if (error.exitCode === 0) process.exitCode = exitCodes.ok;
    else if (json) failWith(exitCodes.badUsage, error.message.replace(/^error: /, ""), { json });
    else process.exitCode = exitCodes.badUsage;
  }
}

// A reader that closes the pipe early (`| head`) is no failure. A full disk is one: what a command prints is its result, and it may
// wait for ever until it is taken. A gateway prints its log there, and serves without it.
process.stdout.on("error", (error: Error & { code?: string }) => {
  if (error.code === "EPIPE" || process.argv[2] === "serve") return;
  process.stderr.write(`standard output cannot be written: ${error.code ?? error.message}\n`);
  process.exit(exitCodes.failed);
});
await main(process.argv.slice(2));
