import { describe, expect, test } from "bun:test";
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parse } from "yaml";
import { settingsTable } from "../../src/config/settings.ts";

const deploy = join(import.meta.dir, "..");

/** Says what is left out where a tool is not installed. */
function missing(tool: string, what: string): boolean {
  if (Bun.which(tool) !== null) return false;
  console.warn(`${what} is not tested: ${tool} is not installed.`);
  return true;
}

function run(...command: string[]): { code: number; output: string } {
  const { exitCode, stdout, stderr } = Bun.spawnSync(command);
  return { code: exitCode, output: `${stdout}${stderr}` };
}

describe.skipIf(missing("systemd-analyze", "The systemd unit"))("the systemd unit", () => {
  const path = join(deploy, "smart-gateway.service");

  test("is valid", () => {
    const folder = mkdtempSync(join(tmpdir(), "smart-gateway-unit-"));
    const program = join(folder, "smart-gateway");
    writeFileSync(program, "");
    chmodSync(program, 0o755);
    // The executable is not installed on a machine that tests.
    const unit = readFileSync(path, "utf8").replaceAll("/usr/local/bin/smart-gateway", program);
    writeFileSync(join(folder, "smart-gateway.service"), unit);
    const { code, output } = run("systemd-analyze", "verify", join(folder, "smart-gateway.service"));
    rmSync(folder, { recursive: true });
    expect(output).not.toContain("smart-gateway.service:");
    expect(code).toBe(0);
  });

  test("is exposed less than 1.5 of 10", () => {
    const { output } = run("systemd-analyze", "security", "--offline=true", path);
    const exposure = Number(/Overall exposure level for smart-gateway.service: ([\d.]+)/.exec(output)?.[1]);
    expect(exposure, output).toBeLessThan(1.5);
  });
});

test.skipIf(missing("haproxy", "The load balancer's configuration"))(
  "the load balancer's configuration is valid",
  () => {
    const { code, output } = run("haproxy", "-c", "-f", join(deploy, "haproxy.cfg"));
    expect(code, output).toBe(0);
  },
);

describe("the compose file", () => {
  const { services, volumes } = parse(readFileSync(join(deploy, "compose.yaml"), "utf8"), { merge: true });

  test("gives each gateway a name of its own, the same database, and longer to stop than a drain takes", () => {
    const gateways = ["gateway-1", "gateway-2", "gateway-3"].map((name) => services[name]);
    expect(new Set(gateways.map(({ environment }) => environment.NODE_ID)).size).toBe(3);
    expect(new Set(gateways.map(({ environment }) => environment.DATABASE_URL)).size).toBe(1);
    const drainMs = Number(settingsTable.DRAIN_ACCEPT_MS.fallback) + Number(settingsTable.DRAIN_STREAMS_MS.fallback);
    for (const gateway of gateways) {
      expect(Number.parseInt(gateway.stop_grace_period, 10) * 1_000).toBeGreaterThan(drainMs);
      expect(gateway).toMatchObject({ read_only: true, cap_drop: ["ALL"] });
      const names = Object.keys(gateway.environment).map((name) => name.replace(/_FILE$/, ""));
      expect(names.filter((name) => !(name in settingsTable))).toEqual([]);
      // Secrets are files that the container has.
      const files = Object.values<string>(gateway.environment).flatMap(
        (value) => /\/run\/secrets\/([\w-]+)/.exec(value)?.[1] ?? [],
      );
      expect(files.toSorted()).toEqual(gateway.secrets.toSorted());
    }
  });

  test("mounts files and volumes that exist, opens ports on this machine only, and holds no secret", () => {
    for (const { ports = [], volumes: mounted = [] } of Object.values<{ ports?: string[]; volumes?: string[] }>(
      services,
    )) {
      for (const port of ports) expect(port).toStartWith("127.0.0.1:");
      for (const [source = ""] of mounted.map((mount) => mount.split(":"))) {
        if (source.startsWith("./")) expect(existsSync(join(deploy, source)), source).toBe(true);
        else expect(Object.keys(volumes)).toContain(source);
      }
    }
    expect(readFileSync(join(deploy, "compose.yaml"), "utf8")).not.toMatch(/(?:PASSWORD|TOKEN|KEY): *[\w-]+\s*$/m);
  });
});
