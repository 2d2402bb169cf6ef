import { useRead } from "../../api/queries.ts";
import { Cost, Requests, Time } from "../../components/marks.tsx";
import { Empty, Loaded, Section } from "../../components/parts.tsx";
import { Table } from "../../components/table.tsx";
import { count } from "../../format.ts";
import { rangeOf, usePlace } from "../../router.tsx";

/** What the sessions of the range have asked and cost. A session has no cap of its own: its goals have. */
export function Sessions() {
  const query = useRead("GET sessions", { query: rangeOf(usePlace()) });
  const none = <span className="muted">–</span>;
  return (
    <Section title="Sessions" aside={<span className="muted">of the range, highest cost first</span>}>
      <Loaded query={query} what="the sessions" height={120}>
        {({ sessions, range, more }) => (
          <>
            {sessions.length === 0 ? (
              <Empty>
                No request of this range names a session. It does so with the header <code>X-Session-Id</code>.
              </Empty>
            ) : (
              <Table
                caption="Sessions, highest cost first"
                className="folds"
                rows={sessions}
                rowKey={({ session }) => session}
                columns={({ heading, figure }) => [
                  heading("session", ({ session }) => session, "clip", { title: ({ session }) => session }),
                  figure("requests", (row) => <Requests of={row} range={range} />, { of: "push" }),
                  figure(
                    "refused",
                    ({ refused }) => (refused.requests === 0 ? none : <Requests of={refused} range={range} />),
                    { fold: true },
                  ),
                  figure("cost", (row) => <Cost of={row} range={range} />),
                  figure("tokens", ({ prompt_tokens, completion_tokens }) => count(prompt_tokens + completion_tokens)),
                  figure("last", ({ last_ms }) => <Time ms={last_ms} />),
                ]}
              />
            )}
            {more && <p className="muted">More sessions have cost less.</p>}
          </>
        )}
      </Loaded>
    </Section>
  );
}
