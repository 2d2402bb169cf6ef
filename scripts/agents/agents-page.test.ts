import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parse as parseYaml } from "yaml";
import { agents } from "./agents.ts";
import { messagesIn } from "./recording-proxy.ts";
import { documentedAddress, settingsIn } from "./settings.ts";

const page = readFileSync(join(import.meta.dir, "..", "..", "docs", "guides", "agents.md"), "utf8");
const documented = settingsIn(page);

describe("the settings in docs/guides/agents.md", () => {
  test("every agent that is tried has settings with a command, and the page has no others", () => {
    const tried = agents.filter(({ notTried }) => notTried === undefined).map(({ name }) => name);
    expect([...documented.keys()].sort()).toEqual(tried.sort());
    for (const [name, { commands }] of documented)
      expect({ name, commands: commands.length }).toEqual({ name, commands: 1 });
  });

  test("the settings of each agent contain the gateway's address exactly as the script replaces it", () => {
    for (const [name, { files, commands }] of documented) {
      const text = [...files.map((file) => file.text), ...commands].join("\n");
      expect({ name, named: text.includes(`${documentedAddress}/v1`) }).toEqual({ name, named: true });
      expect({
        name,
        others: text.match(/https?:\/\/(?:127|localhost)\S*/g)?.filter((url) => !url.startsWith(documentedAddress)),
      }).toEqual({ name, others: [] });
    }
  });

  test("files in JSON, YAML and TOML parse", () => {
    for (const { files } of documented.values()) {
      for (const { path, text } of files) {
        if (path.endsWith(".json")) expect(JSON.parse(text)).toBeObject();
        if (path.endsWith(".yaml") || path.endsWith(".yml")) expect(typeof parseYaml(text)).toBe("object");
        if (path.endsWith(".toml")) expect(Bun.TOML.parse(text)).toBeObject();
      }
    }
  });

  test("each package is named at an exact version", () => {
    for (const { packages, notTried, from } of agents) {
      if (notTried !== undefined) continue;
      for (const name of packages) expect(name).toMatch(from === "npm" ? /.@\d+\.\d+\.\d+$/ : /==\d+(\.\d+)+$/);
    }
  });

  test("two blocks for one file are refused", () => {
    const block = "```yaml agent=x file=a.yaml\na: 1\n```\n";
    expect(settingsIn(block).get("x")).toEqual({ files: [{ path: "a.yaml", text: "a: 1\n" }], commands: [] });
    expect(() => settingsIn(block + block)).toThrow("a.yaml");
  });
});

describe("the messages in recorded bytes", () => {
  const read = (text: string) => messagesIn(Buffer.from(text)).map(({ start, body }) => [start, body]);

  test("are separated on a kept-alive connection, by length and by chunks", () => {
    const bytes =
      "POST /a HTTP/1.1\r\nContent-Length: 2\r\n\r\nhiPOST /b HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\nGET /c HTTP/1.1\r\n\r\n";
    expect(read(bytes)).toEqual([
      ["POST /a HTTP/1.1", "hi"],
      ["POST /b HTTP/1.1", "abcde"],
      ["GET /c HTTP/1.1", ""],
    ]);
  });

  test("include the received part of a message that was cut off", () => {
    expect(read("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n9\r\nde")).toEqual([
      ["HTTP/1.1 200 OK", "abcde"],
    ]);
  });
});
