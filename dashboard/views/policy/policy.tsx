import { useState } from "react";
import type { AnswerOf } from "#dashboard/api.ts";
import type { PolicyKey } from "#dashboard/endpoints/policy.ts";
import { useRead } from "../../api/queries.ts";
import { Sentence, Time } from "../../components/marks.tsx";
import { Loaded, Search, Section } from "../../components/parts.tsx";
import { Table } from "../../components/table.tsx";
import { counted } from "../../format.ts";
import { Problems, Try, written } from "./try.tsx";

type Answer = AnswerOf<"GET policy">;

/** What are the rules, and what if I change them? */
export function PolicyView() {
  const policy = useRead("GET policy", {}, 15_000);
  return (
    <Loaded query={policy} what="the policy" height={640}>
      {(data) => (
        <div className="view stack">
          <Source data={data} />
          <Keys keys={data.keys} />
          <Try initial={data.text} />
        </div>
      )}
    </Loaded>
  );
}

function Source({ data }: { readonly data: Answer }) {
  const changed = data.keys.filter((key) => key.changed).length;
  return (
    <div className="stack">
      <p>
        {data.file === null ? (
          "The defaults are in force."
        ) : (
          <>
            From <code>{data.file}</code>. {counted(changed, "value differs", "values differ")} from the defaults.
          </>
        )}{" "}
        Loaded <Time ms={data.loaded_at_ms} />,{" "}
        <span className="muted">
          configuration hash <code>{data.config_hash}</code>
          {data.policy_hash !== null && (
            <>
              , policy hash of decisions made now <code>{data.policy_hash}</code>
            </>
          )}
        </span>
      </p>
      {data.problems.length > 0 && (
        <Problems problems={data.problems}>
          The file as it is now is refused; the policy before it stays in force.
        </Problems>
      )}
    </div>
  );
}

function Keys({ keys }: { readonly keys: readonly PolicyKey[] }) {
  const [search, setSearch] = useState("");
  const [changedOnly, setChangedOnly] = useState(false);
  const wanted = search.toLowerCase();
  const shown = keys.filter(
    ({ path, about, changed }) =>
      (!changedOnly || changed) && (path.toLowerCase().includes(wanted) || about.toLowerCase().includes(wanted)),
  );
  const groups = Map.groupBy(shown, ({ path }) => path.split(".")[0] ?? path);
  return (
    <Section
      title="In force"
      aside={
        <span className="row">
          <label className="row">
            <input type="checkbox" checked={changedOnly} onChange={({ target }) => setChangedOnly(target.checked)} />
            changed only
          </label>
          <Search label="Search the policy" value={search} onChange={setSearch} />
        </span>
      }
    >
      {shown.length === 0 && (
        <p className="muted">{changedOnly ? "Every value is the default." : "No key matches the search."}</p>
      )}
      {[...groups].map(([group, members]) => (
        <details key={group} open={wanted !== "" || changedOnly || members.some(({ changed }) => changed)}>
          <summary>
            <code>{group}</code>{" "}
            <span className="muted">
              {counted(members.length, "key")}
              {members.some(({ changed }) => changed) && `, ${members.filter(({ changed }) => changed).length} changed`}
            </span>
          </summary>
          <KeyTable keys={members} group={group} />
        </details>
      ))}
    </Section>
  );
}

function KeyTable({ keys, group }: { readonly keys: readonly PolicyKey[]; readonly group: string }) {
  return (
    <Table
      caption={`Keys of ${group}`}
      className="folds policy"
      rows={keys}
      rowKey={({ path }) => path}
      rowProps={({ changed }) => (changed ? { "data-marked": true } : {})}
      columns={[
        { name: "key", kind: "heading", of: "mono", cell: ({ path }) => path },
        {
          name: "value",
          of: "mono value",
          cell: ({ value, changed, default: fallback }) => (
            <>
              {written(value)}
              {changed && <span className="muted block">default {written(fallback)}</span>}
            </>
          ),
        },
        { name: "from", of: "nowrap", cell: ({ from, line }) => (line === null ? from : `${from}, line ${line}`) },
        { name: "meaning", of: "muted break", cell: ({ about }) => <Sentence text={about} /> },
      ]}
    />
  );
}
