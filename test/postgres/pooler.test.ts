import { expect, test } from "bun:test";
import { PostgresConnection } from "#db/postgres.ts";
import { audit } from "#ledger/admin/audit.ts";
import { fails } from "#simulator/behaviours.ts";
import { authorization, eventually, postChat, start } from "../harness/gateway.ts";
import { describeOnPostgres } from "../harness/postgres-suite.ts";
import { transactionPooler } from "../harness/transaction-pooler.ts";

describeOnPostgres("a pooler in transaction mode", (postgres) => {
  test("a pooler in transaction mode gives a caller what another has set in its session", async () => {
    const pooler = await transactionPooler(postgres.server.port);
    const url = postgres.url.replace(`:${postgres.server.port}/`, `:${pooler.port}/`);
    const callers = [1, 2, 3].map(() => new PostgresConnection(url, 5_000));
    const names = new Set<unknown>();
    for (const [at, caller] of callers.entries()) await caller.run(`SET application_name = 'caller-${at}'`);
    for (let query = 0; query < 60; query++)
      names.add((await callers[0]?.run("SHOW application_name"))?.[0]?.[0]?.["application_name"]);
    expect(names.size).toBeGreaterThan(1);
    for (const caller of callers) await caller.close();
    await pooler.close();
  });

  test("behind it the money, the records and the audit of two gateways are right", async () => {
    const url = await postgres.server.createDatabase();
    const pooler = await transactionPooler(postgres.server.port);
    const env = { DATABASE_URL: url.replace(`:${postgres.server.port}/`, `:${pooler.port}/`) };
    const gateways = [
      await start({ env: { ...env, NODE_ID: "one" } }),
      await start({ env: { ...env, NODE_ID: "two" } }),
    ];
    const ids: (string | null)[] = [];
    const callers = Array.from({ length: 8 }, async (_, caller) => {
      for (let call = 0; call < 15; call++) {
        const gateway = gateways[(caller + call) % 2];
        if (gateway === undefined) throw new Error("there are two");
        if (call % 5 === 4) gateway.upstream.next(fails(400));
        const body = { stream: call % 2 === 0, metadata: { session_id: `s${caller}`, goal_id: "g" } };
        const response = await postChat(gateway.url, body);
        await response.text();
        // On a machine so busy that the store does not answer within a second: nothing is spent, and nothing recorded.
        if (response.status === 503) continue;
        expect([200, 500]).toContain(response.status);
        ids.push(response.headers.get("x-smart-gateway-decision-id"));
      }
    });
    await Promise.all(callers);

    const billed = gateways.reduce((sum, { upstream }) => sum + upstream.billedNanoUsd(), 0);
    for (const gateway of gateways) expect(await gateway.ledger()).toEqual({ spent: billed, held: 0 });
    for (const gateway of gateways)
      await eventually(async () => {
        const answers = await Promise.all(
          ids.map((id) => gateway.get(`/v1/route/decisions/${id}`, authorization).then(({ status }) => status)),
        );
        return answers.every((status) => status === 200);
      });
    expect((await audit((sql) => postgres.run(sql, url), Date.now())).findings).toEqual([]);

    // Statements are sent in the simple protocol, and sessions were mixed.
    expect([...pooler.messageTypes].filter((type) => type !== "X")).toEqual(["Q"]);
    expect(pooler.moved).toBeGreaterThan(50);
    for (const gateway of gateways) await gateway.stop();
    await pooler.close();
  }, 60_000);
});
