import { openOutcomeStore } from "#learning/outcomes/store/open-outcome-store.ts";
import { outcomeStoreContract } from "#learning/outcomes/store/outcome-store.contract.ts";
import { describeOnPostgres } from "../harness/postgres-suite.ts";

describeOnPostgres("outcome records", (postgres) => {
  outcomeStoreContract("PostgreSQL", async () => {
    const store = await openOutcomeStore(postgres.url);
    await postgres.run("TRUNCATE routing_outcome");
    return store;
  });
});
