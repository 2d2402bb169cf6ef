import { useState } from "react";
import type { AnswerOf } from "#dashboard/api.ts";
import type { PolicyKey } from "#operator/policy.ts";
import { useRead } from "../../api/queries.ts";
import { Sentence, Time } from "../../components/marks.tsx";
import { Loaded, Search, Section } from "../../components/parts.tsx";
import { Table } from "../../components/table.tsx";
import { counted } from "../../format.ts";
import { Problems, Try, written } from "./try.tsx";

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

function Source({ data }: { readonly data: AnswerOf<"GET policy"> }) {
  const changed = data.keys.filter((key) => key.changed).length;
  return (
    <div className="stack">
      <p>
        {data.file === null ? "The defaults are in force" : <code>{data.file}</code>}:{" "}
        {counted(changed, "value differs", "values differ")} from the defaults. Loaded <Time ms={data.loaded_at_ms} />.{" "}
        <span className="muted">
          Configuration hash <code>{data.config_hash}</code>, policy hash of decisions made now{" "}
          <code>{data.policy_hash ?? "none"}</code>
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

/** Sections with changed values are open, and these are marked. */
function Keys({ keys }: { readonly keys: readonly PolicyKey[] }) {
  const [search, setSearch] = useState("");
  const shown = keys.filter(({ path, about }) => `${path} ${about}`.toLowerCase().includes(search.toLowerCase()));
  const groups = Map.groupBy(shown, ({ path }) => path.split(".")[0] ?? path);
  return (
    <Section title="In force" aside={<Search label="Search the policy" value={search} onChange={setSearch} />}>
      {shown.length === 0 && <p className="muted">No key matches the search.</p>}
      {[...groups].map(([group, members]) => (
        <details key={group} open={search !== "" || members.some(({ changed }) => changed)}>
          <summary>
            <code>{group}</code> {counted(members.length, "key")}, {members.filter(({ changed }) => changed).length}{" "}
            changed
          </summary>
          <Table
            caption={`Keys of ${group}`}
            className="folds policy"
            rows={members}
            rowKey={({ path }) => path}
            rowProps={({ changed }) => (changed ? { "data-marked": true } : {})}
            columns={[
              ["key", ({ path }) => path, { kind: "heading", of: "mono" }],
              ["value", (key) => <Value of={key} />, { of: "mono value" }],
              ["from", ({ from, line }) => (line === null ? from : `${from}, line ${line}`), { of: "nowrap" }],
              ["meaning", ({ about }) => <Sentence text={about} />, { of: "muted break" }],
            ]}
          />
        </details>
      ))}
    </Section>
  );
}

function Value({ of }: { readonly of: PolicyKey }) {
  return (
    <>
      {written(of.value)}
      {of.changed && <span className="muted block">default {written(of.default)}</span>}
    </>
  );
}
