import { PostgresConnection } from "#db/postgres.ts";

/**
 * Stops the clock of a test's own database, for all its sessions from now on, and answers a function that sets it. The gateway
 * asks PostgreSQL for the time by `now()`; in this database that name is found in the schema `public` before the
 * server's own function. Nothing of the gateway knows of it.
 */
export async function stoppedClock(url: string): Promise<(epochMs: number) => Promise<void>> {
  const run = async (sql: string) => {
    const connection = new PostgresConnection(url, 10_000);
    await connection.run(sql);
    await connection.close();
  };
  const name = new URL(url).pathname.slice(1);
  await run(
    `CREATE TABLE public.stopped_clock (epoch_ms bigint NOT NULL);
     INSERT INTO public.stopped_clock VALUES (0);
     CREATE FUNCTION public.now() RETURNS timestamptz LANGUAGE sql STABLE
       AS $$ SELECT to_timestamp(epoch_ms / 1000.0) FROM public.stopped_clock $$;
     ALTER DATABASE "${name}" SET search_path = public, pg_catalog`,
  );
  return (epochMs) => run(`UPDATE public.stopped_clock SET epoch_ms = ${epochMs}`);
}
