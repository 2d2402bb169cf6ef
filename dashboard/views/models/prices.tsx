import type { AnswerOf } from "#dashboard/api.ts";
import type { ModelView } from "#dashboard/endpoints/models.ts";
import { useSession } from "../../api/queries.ts";
import { Money, Tier, Time } from "../../components/marks.tsx";
import { Command, Section } from "../../components/parts.tsx";
import { Table } from "../../components/table.tsx";
import { count, counted, words } from "../../format.ts";

const sources = {
  shipped: "as shipped",
  registry_file: "your registry file",
  price_book: "the aggregator's list",
} as const;

/** Prices of a million tokens, where they come from, and where the aggregator's list differs. */
export function Prices({ data }: { readonly data: AnswerOf<"GET models"> }) {
  const own = useSession().data?.command ?? "smart-gateway";
  const drifts = data.models.flatMap(({ key, drift }) => drift.map((one) => ({ key, ...one })));
  const readMs = data.price_book_read_ms;
  const aside = (
    <span className="muted">
      a million tokens; {readMs === null ? "the aggregator's list was not read" : "list read "}
      {readMs !== null && <Time ms={readMs} />}
    </span>
  );
  return (
    <Section title="Prices" aside={aside}>
      {drifts.length > 0 && (
        <div className="notice stack tight">
          {drifts.map(({ key, reason, detail, at_ms }) => (
            <p key={`${key} ${reason} ${detail}`}>
              <code>{key}</code>: {words(reason)}. {detail} <Time ms={at_ms} />
            </p>
          ))}
          <Command text={`${own} models sync`} />
        </div>
      )}
      <Table
        caption="Prices of a million tokens"
        className="folds"
        rows={data.models}
        rowKey={({ key }) => key}
        columns={({ heading, text, figure }) => [
          heading("model", ({ tier, key }) => <Tier tier={tier}>{key}</Tier>),
          text("upstream id", ({ upstream_id }) => upstream_id, "mono"),
          figure("input", ({ price }) => <Money nano={price.input_nano_usd_per_mtok} />, { fold: true }),
          figure("cached", ({ price }) => <Money nano={price.cached_input_nano_usd_per_mtok} />),
          figure("output", ({ price }) => <Money nano={price.output_nano_usd_per_mtok} />),
          figure("context", ({ context_tokens }) => count(context_tokens)),
          text("from", (model) => <Source model={model} />, "nowrap"),
        ]}
      />
    </Section>
  );
}

function Source({ model: { price_source, price } }: { readonly model: ModelView }) {
  const { bands } = price;
  return (
    <>
      {sources[price_source]}
      {bands > 0 && <span className="muted">, {counted(bands, "more band")}</span>}
    </>
  );
}
