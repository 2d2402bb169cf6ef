import { describe, expect, test } from "bun:test";
import { mkdtemp, open, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { bufferedOutput } from "#telemetry/log/buffered-output.ts";

/** Runs a program that logs to its standard output, as a separate process. */
function program(body: string, throughPipe = false) {
  const root = join(import.meta.dirname, "../..");
  const text = `import { bufferedOutput } from "${root}/src/telemetry/log/buffered-output.ts";
    const dropped = (lines) => \`dropped \${lines}\\n\`;
    ${body}`;
  const env = { ...process.env, BUN: process.execPath, TEXT: text };
  // Through a real pipe that fills up; the runtime's own "pipe" is a socket.
  const command = throughPipe ? ["sh", "-c", '"$BUN" -e "$TEXT" | (sleep 0.3; cat)'] : [process.execPath, "-e", text];
  return Bun.spawn(command, { cwd: root, env, stdin: "pipe", stdout: "pipe", stderr: "inherit" });
}

describe("buffered log output", () => {
  test("keeps every line, complete and in order, when the process ends at once", async () => {
    const child = program(`
      const output = bufferedOutput(1, { dropped });
      process.on("exit", output.flush);
      for (let i = 0; i < 20000; i++) output.write(\`line \${i} \${"x".repeat(100)}\\n\`);
      process.exit(0);`);
    const lines = (await new Response(child.stdout).text()).split("\n");
    expect(lines).toHaveLength(20_001);
    expect(lines.every((line, i) => i === 20_000 || line.startsWith(`line ${i} x`))).toBe(true);
  });

  test("never waits for a reader that does not read: lines above the bound are dropped and counted", async () => {
    // A pipe without a reader until the test reads from it.
    const directory = await mkdtemp(join(tmpdir(), "smart-gateway-log-"));
    const path = join(directory, "pipe");
    expect(Bun.spawnSync(["mkfifo", path]).exitCode).toBe(0);
    const pipe = await open(path, "r+");
    const output = bufferedOutput(pipe.fd, { dropped: (lines) => `dropped ${lines}\n`, maxWaiting: 100_000 });
    for (let i = 0; i < 20_000; i++) {
      output.write(`line ${i} ${"x".repeat(100)}\n`);
      if (i % 100 === 0) await new Promise((resolve) => setImmediate(resolve));
    }
    // The event loop reached this point, although no byte was read. Now the test reads until every line is accounted for.
    let [text, dropped, next] = ["", 0, 0];
    while (next < 20_000) {
      const { buffer, bytesRead } = await pipe.read();
      const lines = (text + buffer.toString("utf8", 0, bytesRead)).split("\n");
      text = lines.pop() ?? "";
      for (const line of lines) {
        const [what, count] = line.split(" ");
        // Dropped lines are counted at the place where they are missing.
        if (what === "line") expect(Number(count)).toBe(next);
        else dropped += Number(count);
        next += what === "line" ? 1 : Number(count);
      }
    }
    expect(next).toBe(20_000);
    expect(dropped).toBeGreaterThan(10_000);
    await pipe.close();
    await rm(directory, { recursive: true });
  });

  test("ends although the reader stalls, and survives a reader that exits", async () => {
    const stalled = program(`
      const output = bufferedOutput(1, { dropped });
      process.on("exit", output.flush);
      for (let i = 0; i < 3000; i++) output.write("x".repeat(200) + "\\n");
      setTimeout(() => process.exit(7), 700);`);
    expect(await stalled.exited).toBe(7);
    const left = program(`
      const output = bufferedOutput(1, { dropped, flushEveryMs: 1 });
      process.on("exit", output.flush);
      for (let i = 0; i < 200; i++) {
        output.write("x".repeat(2000) + "\\n");
        await new Promise((resolve) => setTimeout(resolve, 1));
      }
      process.exit(8);`);
    await left.stdout.cancel();
    expect(await left.exited).toBe(8);
  });
});
