import { describe, expect, test } from "bun:test";
import { completes, replies } from "#simulator/behaviours.ts";
import { chunk, streams } from "#simulator/testing/scripted.ts";
import { start } from "../../harness/gateway.ts";
import { contentOf, readStream } from "../../harness/sse.ts";

const secret = ["ghp", "_", "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"].join("");
const messages = [{ role: "user", content: `Use ${secret} to clone` }];
const call = (name: string) => ({
  index: 0,
  id: "c1",
  type: "function",
  function: { name: "run", arguments: JSON.stringify({ token: name }) },
});

describe("privacy.restore", () => {
  test("off: upstream and caller receive the placeholder", async () => {
    await using gateway = await start({ script: () => completes({ text: "clone with [REDACTED:github_token:1]" }) });
    const reply = await gateway.chat({ messages });
    expect(reply.headers.get("x-smart-gateway-redactions")).toBe("1");
    expect(JSON.stringify(gateway.upstream.requests[0]?.body)).toContain("[REDACTED:github_token:1]");
    expect((await reply.json()).choices[0].message.content).toBe("clone with [REDACTED:github_token:1]");
  });

  test("text: a whole answer has the value restored, a tool call never", async () => {
    const content = "clone with [REDACTED:github_token:1]";
    const answered = { role: "assistant", content, tool_calls: [call("[REDACTED:github_token:1]")] };
    const choice = { index: 0, finish_reason: "tool_calls", message: answered };
    await using gateway = await start({
      policy: { privacy: { restore: "text" } },
      script: () => replies(200, { id: "gen-1", choices: [choice] }),
    });
    const { message } = (await (await gateway.chat({ messages })).json()).choices[0];
    expect(message.content).toBe(`clone with ${secret}`);
    expect(JSON.stringify(message.tool_calls)).not.toContain(secret);
    expect(JSON.stringify(gateway.upstream.requests)).not.toContain(secret);
  });

  test.each([1, 2, 3, 5, 8, 40])("text: a stream in pieces of %d has it restored, a tool call never", async (size) => {
    const placeholder = "[REDACTED:github_token:1]";
    const said = `Of course, this is easy: clone with ${placeholder} now, or with ${placeholder}`;
    const pieces = said.match(new RegExp(`.{1,${size}}`, "gs")) ?? [];
    await using gateway = await start({
      policy: { privacy: { restore: "text" } },
      script: () =>
        streams({
          events: [
            ...pieces.map((content) => chunk({ role: "assistant", content })),
            chunk({ tool_calls: [call(placeholder)] }),
            chunk({}, "tool_calls"),
          ],
          end: "done",
        }),
    });
    const { chunks, text, done } = await readStream(await gateway.chat({ messages, stream: true }));
    expect(contentOf(chunks)).toBe(said.replaceAll(placeholder, secret));
    expect(text.split(placeholder).length - 1).toBe(1);
    expect(done).toBe(true);
  });
});
