import { afterAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync, statfsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { nanoUsd } from "#domain/money/money.ts";
import { openLedger } from "#ledger/open-ledger.ts";
import type { LedgerEvent } from "#ledger/store.ts";
import { reservationOf } from "#ledger/testing/ledger.contract.ts";
import { systemClock } from "#platform/system-clock.ts";
import { eventually } from "../harness/gateway.ts";
import { postgresMissing } from "../harness/postgres.ts";
import { postgresFixture } from "./postgres-fixture.ts";

// Where the user of the server may go, whatever TMPDIR says.
const disk = mkdtempSync("/tmp/smart-gateway-pg-disk-");
const run = (...command: readonly string[]) =>
  Bun.which(command[0] ?? "") !== null && Bun.spawnSync([...command]).success;
const mounted = process.platform === "linux" && run("mount", "-t", "tmpfs", "-o", "size=24m,mode=1777", "tmpfs", disk);
afterAll(() => {
  if (mounted) run("umount", "--lazy", disk);
  rmSync(disk, { recursive: true, force: true });
});

describe.skipIf(!mounted || postgresMissing() !== undefined)("the PostgreSQL ledger in a full tablespace", () => {
  const database = postgresFixture(async () => {});

  test("admits nothing and names the cause; with room again it goes on, and every hold is settled", async () => {
    const { admin } = database;
    // A tablespace must belong to the server's user.
    await admin.run(`COPY (SELECT 1) TO PROGRAM 'cat > /dev/null; mkdir ${disk}/space'`);
    await admin.run(`CREATE TABLESPACE small LOCATION '${disk}/space'`);
    await admin.run(`ALTER DATABASE ${new URL(database.url).pathname.slice(1)} SET default_tablespace = small`);
    const events: LedgerEvent[] = [];
    const log = (event: LedgerEvent) => void events.push(event);
    const ledger = await openLedger(database.url, { nodeId: "a", clock: systemClock, log });
    const held: string[] = [];
    const ask = async () => {
      const reservations = Array.from({ length: 50 }, () => reservationOf({ amount: nanoUsd(10) }));
      const replies = await Promise.all(reservations.map((reservation) => ledger.reserve(reservation)));
      for (const [at, { kind }] of replies.entries()) if (kind === "held") held.push(reservations[at]?.id ?? "");
      return replies[0]?.kind;
    };
    const kinds = () =>
      events.map(({ kind }) => kind).filter((kind) => kind.startsWith("store_") && kind !== "store_empty");
    expect(await ask()).toBe("held");
    const { bavail, bsize } = statfsSync(disk);
    writeFileSync(join(disk, "filler"), new Uint8Array(bavail * bsize));
    // Pages that the tables have already are filled first.
    await eventually(async () => (await ask()) === "unavailable");
    for (let n = 0; n < 2; n++) expect(await ask()).toBe("unavailable");
    expect(events).toContainEqual({ kind: "store_unavailable", message: expect.stringContaining("53100") });
    expect(kinds()).toEqual(["store_unavailable"]);

    rmSync(join(disk, "filler"));
    await eventually(async () => (await ask()) === "held");
    expect(kinds()).toEqual(["store_unavailable", "store_available"]);
    await ledger.resolve(held.map((id) => ({ id, kind: "settled", actual: nanoUsd(4), source: "usage" })));
    await eventually(async () => {
      const [open] = await database.query("SELECT count(*) AS n FROM reservation WHERE closed_ms IS NULL");
      return open?.["n"] === "0";
    });
    const [day] = await database.query("SELECT spent, held FROM account WHERE id LIKE 'day/%'");
    expect(day).toEqual({ spent: String(held.length * 4), held: "0" });
    expect(await database.findings()).toEqual([]);
    await ledger.close(2_000);
  }, 60_000);
});
