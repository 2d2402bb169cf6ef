import { useRef, useState } from "react";
import type { DecisionFilter } from "#operator/query.ts";
import { useSession } from "../../api/queries.ts";
import { isTyping } from "../../components/keys.tsx";
import { Money } from "../../components/marks.tsx";
import { Empty, Export, Loaded, sampleRequest } from "../../components/parts.tsx";
import { count, counted } from "../../format.ts";
import { carried, filterFields, filterOf, go, href, Link, usePlace } from "../../router.tsx";
import { Filters } from "./filters.tsx";
import { DecisionPanel } from "./panel.tsx";
import { DecisionTable, rowId } from "./table.tsx";
import { allRows, type DecisionList, useDecisions } from "./use-decisions.ts";

/** Why did this request go there, or not go at all? The list, and the opened decision over it. */
export function Decisions({ opened }: { readonly opened: string | undefined }) {
  const place = usePlace();
  const [pointer, setPointer] = useState(false);
  const [focus, setFocus] = useState(false);
  const filter = filterOf(place);
  const list = useDecisions(filter, pointer || focus || opened !== undefined);
  const region = useRef<HTMLElement>(null);

  const close = (): void => {
    go(href("/decisions", place.search));
    const row = opened === undefined ? null : document.getElementById(rowId(opened));
    requestAnimationFrame(() => {
      // Whoever has gone on to a field meanwhile keeps typing there.
      if (!isTyping(document.activeElement)) row?.focus();
    });
  };
  return (
    <div className="stack tight">
      <Filters />
      <section
        ref={region}
        className="section stack"
        aria-label="List of decisions"
        onPointerEnter={({ pointerType }) => setPointer(pointerType === "mouse")}
        onPointerLeave={() => setPointer(false)}
        onFocus={() => setFocus(true)}
        onBlur={({ relatedTarget }) => setFocus(region.current?.contains(relatedTarget) === true)}
      >
        {/* What came while the list was read. The line keeps its height, so that no row moves under the pointer. */}
        <div className="news row">
          {list.waiting > 0 && (
            <button type="button" className="plain" onClick={list.showWaiting}>
              {list.waiting > 100 ? "more than 100 new" : `${count(list.waiting)} new`} ↑
            </button>
          )}
          {list.missed && <span data-tone="warn">Some decisions were missed; reading the list again.</span>}
        </div>
        <Loaded query={list.query} what="the decisions" height={620}>
          {() => (list.rows.length === 0 ? <Nothing /> : <Rows list={list} filter={filter} opened={opened} />)}
        </Loaded>
      </section>
      {opened !== undefined && <DecisionPanel key={opened} id={opened} onClose={close} />}
    </div>
  );
}

const exported = [
  ...(["recorded_ms", "decision_id", "request_id", "session", "goal", "label", "alias", "served_by", "tier"] as const),
  ...(["cause", "error_class", "outcome", "status", "attempts", "cost_nano_usd", "total_ms"] as const),
];

interface RowsProps {
  readonly list: DecisionList;
  readonly filter: DecisionFilter;
  readonly opened: string | undefined;
}

function Rows({ list: { rows, total, query }, filter, opened }: RowsProps) {
  const file = async () => [exported, ...(await allRows(filter)).map((row) => exported.map((name) => row[name]))];
  return (
    <>
      <DecisionTable rows={rows} opened={opened} />
      <footer className="row spread">
        <span className="muted">
          {total !== null && (
            <>
              <span data-total-requests={total.requests}>{counted(total.requests, "request")}</span>,{" "}
              <span data-total-cost={total.cost_nano_usd}>
                <Money nano={total.cost_nano_usd} />
              </span>
            </>
          )}
        </span>
        <span className="row">
          <span className="muted">{counted(rows.length, "row")}</span>
          <Export name="decisions" rows={file} />
          {query.hasNextPage && (
            <button type="button" disabled={query.isFetchingNextPage} onClick={() => void query.fetchNextPage()}>
              older ↓
            </button>
          )}
        </span>
      </footer>
    </>
  );
}

function Nothing() {
  const place = usePlace();
  const session = useSession().data;
  if (Object.keys(filterFields).some((field) => place.search.has(field))) {
    return (
      <Empty>
        No decision of this range matches. <Link href={href("/decisions", carried(place))}>Remove the filters</Link>
      </Empty>
    );
  }
  if (session === undefined) return null;
  const command = session.demo ? `${session.command} demo traffic` : sampleRequest();
  return <Empty command={command}>No request came in this range. Send one; it is here within a second.</Empty>;
}
