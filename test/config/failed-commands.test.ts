import { afterAll, describe, expect, test } from "bun:test";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Command } from "commander";
import { programWith } from "#cli/program.ts";
import { main, runCommand } from "../harness/command-line.ts";
import { postgresMissing, startPostgres } from "../harness/postgres.ts";
import { freePort, root } from "../harness/process.ts";

const folder = mkdtempSync(join(tmpdir(), "smart-gateway-failed-commands-"));
afterAll(() => rmSync(folder, { recursive: true }));

const fullDisk = "/dev/full";

describe("a command that fails", () => {
  test("for arguments that the parser refuses says so in JSON where that was asked for, and as text elsewhere", async () => {
    const refused: readonly (readonly [problem: string, ...args: string[]])[] = [
      ["unknown option '--wrong'", "budgets", "show", "--wrong"],
      ["missing required argument 'key'", "models", "enable"],
      ["unknown command 'wrong'", "wrong"],
      ["option '--goal <values>' argument missing", "decisions", "export", "--goal"],
    ];
    for (const [problem, ...args] of refused) {
      const { code, err, json } = await runCommand([...args.slice(0, 2), "--json", ...args.slice(2)]);
      expect([code, err, json()]).toEqual([2, "", { ok: false, problem }]);
      const asText = await runCommand(args);
      expect([asText.code, asText.out, asText.err.split("\n")[0]]).toEqual([2, "", `error: ${problem}`]);
    }
  });
});

/** One for each way to print: values as JSON, tables, texts of a file's length, help, completions. */
const printing = [
  ["models", "list", "--json"],
  ["models", "list"],
  ["policy", "show"],
  ["policy", "schema"],
  ["privacy", "scan", join(root, "README.md"), "--json"],
  ["budgets", "--help"],
];

describe("a command whose output cannot be written", () => {
  test.if(existsSync(fullDisk))("because the disk is full ends with 1 and says so", async () => {
    const ended = printing.map(async (args) => {
      const child = Bun.spawn([process.execPath, main, ...args], {
        env: { PATH: process.env["PATH"] ?? "" },
        stdout: Bun.file(fullDisk),
        stderr: "pipe",
      });
      return [args, await new Response(child.stderr).text(), await child.exited] as const;
    });
    expect(await Promise.all(ended)).toEqual(
      printing.map((args) => [args, "standard output cannot be written: ENOSPC\n", 1]),
    );
  });
});

/** Every command that reads or changes a gateway's database, with arguments that are right. */
const onDatabase: { readonly [command: string]: readonly string[] } = {
  "budgets show": [],
  "budgets audit": [],
  "budgets holds": [],
  "budgets settle": ["x", "--usd", "1"],
  "budgets release": ["x"],
  "budgets set": ["--goal", "a", "--hard-usd", "1"],
  "budgets reconcile": [],
  "keys list": [],
  "keys add": ["ci"],
  "keys revoke": ["ci"],
  "decisions tail": ["--no-follow"],
  "decisions show": ["x"],
  "decisions export": [],
  explain: ["x"],
  "models disable": ["vendor_v4_flash"],
  "models enable": ["vendor_v4_flash"],
  "models reset": ["vendor_v4_flash"],
  "policy backtest": [join(root, "defaults", "policy.yaml")],
  "policy learn": [],
  backup: [join(folder, "copy.db")],
  migrate: [],
};
const withoutDatabase = [
  "serve",
  "init",
  "doctor",
  "healthcheck",
  "route",
  "policy check",
  "policy show",
  "policy schema",
  "policy diff",
  "models list",
  "models sync",
  "demo traffic",
  "privacy scan",
];

/** One for each way in which commands open the database. */
const someOnDatabase = ["budgets show", "decisions tail", "models reset", "policy learn", "backup"];
const longMs = 120_000;

/** How each command ends with this database; run beside each other, because each takes a while to start. */
async function endings(database: Record<string, string>, commands: readonly string[] = Object.keys(onDatabase)) {
  const env = { ...database, UPSTREAM_API_KEY: "x", UPSTREAM_BASE_URL: "http://127.0.0.1:1" };
  const ended = async (name: string): Promise<[string, Ending]> => {
    const args = [...name.split(" "), ...(onDatabase[name] ?? []), "--json"];
    const { code, out, err } = await runCommand(args, { cwd: folder, env });
    return [name, { code, err, answer: JSON.parse(out) }];
  };
  return new Map(await Promise.all(commands.map(ended)));
}

interface Ending {
  readonly code: number;
  readonly err: string;
  readonly answer: unknown;
}

function allAre(code: number, problem: string, commands: readonly string[] = Object.keys(onDatabase)) {
  const answer = { ok: false, problem: expect.stringContaining(problem) };
  return new Map(commands.map((name): [string, Ending] => [name, { code, err: "", answer }]));
}

describe("a command on a database", () => {
  test("is in the table of this test, or needs none", async () => {
    const leaves = (command: Command, name: string): string[] =>
      command.commands.length === 0 ? [name] : command.commands.flatMap((sub) => leaves(sub, `${name} ${sub.name()}`));
    const program = await programWith(() => true);
    const all = program.commands.flatMap((command) => leaves(command, command.name()));
    expect([...Object.keys(onDatabase), ...withoutDatabase].sort()).toEqual(all.sort());
  });

  test(
    "that is not there ends with 2, says where it looked, in JSON where that was asked for, and creates nothing",
    async () => {
      // In a container the URL is a mounted secret.
      const file = join(folder, "database-url");
      writeFileSync(file, "sqlite:./none/gateway.db\n");
      expect(await endings({ DATABASE_URL_FILE: file })).toEqual(allAre(2, "no database at ./none/gateway.db yet"));
      expect(existsSync(join(folder, "none"))).toBe(false);
    },
    longMs,
  );

  test(
    "in memory, or whose URL has no known form, ends with 2, and the URL is not repeated",
    async () => {
      expect(await endings({ DATABASE_URL: "sqlite::memory:" }, someOnDatabase)).toEqual(
        allAre(2, "in-memory", someOnDatabase),
      );
      const results = await endings({ DATABASE_URL: "mysql://me:secret-word@host/db" }, someOnDatabase);
      for (const { code, answer } of results.values()) {
        expect([code, answer]).toMatchObject([2, { ok: false, problems: [{ path: "DATABASE_URL" }] }]);
      }
      expect(JSON.stringify([...results])).not.toContain("secret-word");
    },
    longMs,
  );

  test(
    "on a server that does not answer ends with 1: to wait may help",
    async () => {
      const ofPostgres = Object.keys(onDatabase).filter((name) => name !== "backup");
      const results = await endings(
        { DATABASE_URL: `postgres://me:secret-word@127.0.0.1:${await freePort()}/db` },
        ofPostgres,
      );
      expect(results).toEqual(allAre(1, "", ofPostgres));
      expect(JSON.stringify([...results])).not.toContain("secret-word");
    },
    longMs,
  );
});

const missing = postgresMissing();
if (missing !== undefined) test.skip(`PostgreSQL: ${missing}`, () => {});
else {
  test(
    "a server that has no such database is as a missing file: 2",
    async () => {
      const server = await startPostgres();
      try {
        const url = server.url.replace(/[^/]+$/, "no_such_database");
        const commands = someOnDatabase.filter((name) => name !== "backup");
        expect(await endings({ DATABASE_URL: url }, commands)).toEqual(allAre(2, "no_such_database", commands));
      } finally {
        await server.remove();
      }
    },
    longMs,
  );
}
