import { createInterface } from "node:readline";
import type { Ask } from "./questions.ts";

/** Questions on standard error, answers from standard input: a terminal, or lines from a pipe. */
export function terminalQuestions(): { readonly ask: Ask; readonly end: () => void } {
  const { stdin, stderr } = process;
  const lines = createInterface({ input: stdin, terminal: false });
  const iterator = lines[Symbol.asyncIterator]();
  return {
    async ask(question, secret = false) {
      stderr.write(question);
      const hide = secret && stdin.isTTY === true;
      // The terminal driver echoes input unless echo is switched off.
      if (hide) setEcho(false);
      try {
        const { done, value } = await iterator.next();
        if (stdin.isTTY !== true || hide) stderr.write("\n");
        return done === true ? undefined : value;
      } finally {
        if (hide) setEcho(true);
      }
    },
    end() {
      lines.close();
      stdin.destroy();
    },
  };
}

function setEcho(on: boolean): void {
  Bun.spawnSync(["stty", on ? "echo" : "-echo"], { stdin: "inherit", stdout: "ignore", stderr: "ignore" });
}
