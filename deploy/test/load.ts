import { openLedgerAdmin } from "#ledger/admin/ledger-admin.ts";

/** What the audit of a database says. */
export async function audited(url: string) {
  const admin = await openLedgerAdmin(url);
  const report = await admin.audit();
  await admin.close();
  return report;
}

/** Sends one call after the other over each of `count` connections until it is told to stop. */
export function callers(count: number, url: () => string, stream: boolean, patienceMs = 60_000) {
  const results: string[] = [];
  let stopped = false;
  const body = JSON.stringify({
    model: "smart-router-flash",
    stream,
    max_tokens: 40,
    messages: [{ role: "user", content: "Count from one to ten." }],
  });
  const headers = { authorization: "Bearer cluster-test-token", "content-type": "application/json" };
  const one = async () => {
    while (!stopped) {
      try {
        const response = await fetch(`${url()}/v1/chat/completions`, {
          method: "POST",
          headers,
          body,
          signal: AbortSignal.timeout(patienceMs),
        });
        const text = await response.text();
        const isWhole = !stream || (text.endsWith("data: [DONE]\n\n") && !text.includes('"error"'));
        results.push(response.ok && isWhole ? "answered" : `${response.status} ${text.slice(-200)}`);
        // Refusals take no time; asked without a pause, they would take the processor from what is tested.
        if (!response.ok) await Bun.sleep(10);
      } catch (error) {
        results.push(`cut: ${String(error)}`);
      }
    }
  };
  const running = Promise.all(Array.from({ length: count }, one));
  const stop = async () => {
    stopped = true;
    await running;
    return {
      answered: results.filter((each) => each === "answered").length,
      others: results.filter((each) => each !== "answered"),
    };
  };
  return { stop, count: () => results.length };
}
