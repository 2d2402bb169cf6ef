import { CommanderError } from "commander";
import { exitCodes } from "#cli/exit.ts";
import { commandNames, programWith } from "#cli/program.ts";

/** The process: picks a command and runs it. */
async function main(args: readonly string[]): Promise<void> {
  const [first = "", second = ""] = args;
  // Called by the shell's completion script; hidden, because it is not for people.
  if (first === "__complete")
    return (await import("#cli/commands/completion.ts")).printCompletions(args.slice(1), programWith);
  // `help NAME` prints what NAME itself would.
  if (first === "help" && commandNames.includes(second)) return main([...args.slice(1), "--help"]);
  const program = await programWith((name) => name === first);
  try {
    await program.parseAsync(args, { from: "user" });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    // Help that was asked for has code 0; all else that the parser throws is about how it was called.
    process.exitCode = error.exitCode === 0 ? exitCodes.ok : exitCodes.badUsage;
  }
}

// A reader that closes the pipe early (`| head`) is no failure.
process.stdout.on("error", (error: Error & { code?: string }) => {
  if (error.code !== "EPIPE") throw error;
});
await main(process.argv.slice(2));
