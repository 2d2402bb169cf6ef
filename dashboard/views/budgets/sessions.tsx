import type { AnswerOf } from "#dashboard/api-schema.ts";
import { useRead } from "../../api/queries.ts";
import { Empty, Loaded } from "../../components/loaded.tsx";
import { Money, Time } from "../../components/marks.tsx";
import { Section } from "../../components/section.tsx";
import { figures, Table } from "../../components/table.tsx";
import { count } from "../../format/numbers.ts";
import { Link } from "../../router/link.tsx";
import { usePlace } from "../../router/location.ts";
import { decisionsHref, rangeOf } from "../../router/state.ts";

/** What the sessions of the range have asked and cost. A session has no cap of its own: its goals have. */
export function Sessions() {
  const place = usePlace();
  const sessions = useRead("GET sessions", { query: rangeOf(place) });
  return (
    <Section title="Sessions" aside={<span className="muted">of the range, highest cost first</span>}>
      <Loaded query={sessions} what="the sessions" height={120}>
        {(data) =>
          data.sessions.length === 0 ? (
            <Empty>
              No request of this range names a session. It does so with the header <code>X-Session-Id</code>.
            </Empty>
          ) : (
            <>
              <SessionTable data={data} />
              {data.more && <p className="muted">More sessions have cost less.</p>}
            </>
          )
        }
      </Loaded>
    </Section>
  );
}

function SessionTable({ data }: { readonly data: AnswerOf<"GET sessions"> }) {
  const place = usePlace();
  const caption = "Sessions, highest cost first";
  return (
    <Table
      caption={caption}
      columns={[
        "session",
        figures("requests"),
        figures("refused"),
        figures("cost"),
        figures("tokens"),
        figures("last"),
      ]}
      className="folds"
    >
      {data.sessions.map((row) => (
        <tr key={row.session}>
          <th scope="row" className="clip" title={row.session}>
            {row.session}
          </th>
          <td className="number push" data-label="requests">
            <Link href={decisionsHref(row.filter, place, data.range)}>{count(row.requests)}</Link>
          </td>
          <td className="fold" aria-hidden="true" />
          <td className="number" data-label="refused">
            {row.refused.requests === 0 ? (
              <span className="muted">–</span>
            ) : (
              <Link href={decisionsHref(row.refused.filter, place, data.range)}>{count(row.refused.requests)}</Link>
            )}
          </td>
          <td className="number" data-label="cost">
            <Link href={decisionsHref(row.filter, place, data.range)}>
              <Money nano={row.cost_nano_usd} />
            </Link>
          </td>
          <td className="number" data-label="tokens">
            {count(row.prompt_tokens + row.completion_tokens)}
          </td>
          <td className="number" data-label="last">
            <Time ms={row.last_ms} />
          </td>
        </tr>
      ))}
    </Table>
  );
}
