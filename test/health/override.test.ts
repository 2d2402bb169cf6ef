import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type HealthStore, openHealthStore } from "#health/store/health-store.ts";
import { runCommand } from "../harness/command-line.ts";

const folder = mkdtempSync(join(tmpdir(), "override-"));
const url = `sqlite:${join(folder, "gateway.db")}`;
const flash = "vendor_v4_flash";
let gateway: HealthStore;
beforeAll(async () => {
  gateway = await openHealthStore(url);
});
afterAll(async () => {
  await gateway.close();
  rmSync(folder, { recursive: true, force: true });
});

const models = (args: readonly string[], env: Record<string, string> = {}) =>
  runCommand(["models", ...args], { env: { DATABASE_URL: url, ...env } });
const storedOverrides = async () =>
  (await gateway.load()).overrides.map(({ model, disabled, resetMs }) => ({ model, disabled, reset: resetMs > 0 }));

test("disable, enable and reset reach the database that the gateway reads", async () => {
  const disabled = await models(["disable", flash], { USER: "somebody-else", SUDO_USER: "" });
  expect(disabled).toMatchObject({ code: 0, err: "" });
  expect(disabled.out).toContain(`${flash} is disabled`);
  expect(await storedOverrides()).toEqual([{ model: flash, disabled: true, reset: false }]);
  const operator = Bun.spawnSync(["id", "-un"]).stdout.toString().trim();
  expect((await gateway.load()).overrides[0]?.changedBy).toStartWith(`${operator}@`);
  const reset = await models(["reset", flash, "--json"]);
  expect(JSON.parse(reset.out)).toEqual({ ok: true, model: flash, action: "reset", at_ms: expect.any(Number) });
  expect(await storedOverrides()).toEqual([{ model: flash, disabled: true, reset: true }]);
  expect(await models(["enable", flash])).toMatchObject({ code: 0 });
  expect(await storedOverrides()).toEqual([{ model: flash, disabled: false, reset: true }]);
});

test("a key that is not in the registry is refused, with the most similar one, and exit code 2", async () => {
  const refused = await models(["disable", "vendor_v4_flsh"]);
  expect(refused).toMatchObject({ code: 2, out: "" });
  expect(refused.err).toContain(`did you mean ${flash}?`);
});
