import { expect, test } from "bun:test";
import { healthStoreContract } from "#health/store/health-store.contract.ts";
import { type HealthStore, openHealthStore } from "#health/store/health-store.ts";
import { describeOnPostgres } from "../harness/postgres-suite.ts";

describeOnPostgres("the health store", (postgres) => {
  /** The contract needs an empty store each time; truncating is cheaper than a new database. */
  async function emptyStore(): Promise<HealthStore> {
    const store = await openHealthStore(postgres.url);
    await postgres.run("TRUNCATE model_health, model_override");
    return store;
  }
  healthStoreContract("PostgreSQL", emptyStore);

  test("is unavailable while the server is, and recovers with it", async () => {
    const store = await emptyStore();
    await store.override({ model: "flash", action: "disable", atMs: 5, by: "ada" });
    await postgres.server.stop("fast");
    await expect(store.load()).rejects.toThrow();
    await postgres.server.start();
    let overrides = 0;
    for (let attempt = 0; attempt < 5 && overrides === 0; attempt++) {
      overrides = await store.load().then(
        (stored) => stored.overrides.length,
        () => 0,
      );
    }
    expect(overrides).toBe(1);
    await store.close();
  });
});
