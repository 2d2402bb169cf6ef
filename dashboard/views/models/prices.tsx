import type { AnswerOf, ModelView } from "#dashboard/api-schema.ts";
import { useRead } from "../../api/queries.ts";
import { Command } from "../../components/loaded.tsx";
import { Money, Tier, Time, words } from "../../components/marks.tsx";
import { Section } from "../../components/section.tsx";
import { figures, Table } from "../../components/table.tsx";
import { count, counted } from "../../format/numbers.ts";

const sources: Readonly<Record<ModelView["price_source"]["kind"], string>> = {
  shipped: "as shipped",
  registry_file: "your registry file",
  price_book: "the aggregator's list",
};

/** Prices of a million tokens, where they come from, and where the aggregator's list differs. */
export function Prices({ data }: { readonly data: AnswerOf<"GET models"> }) {
  const own = useRead("GET session", {}, 30_000).data?.command ?? "smart-gateway";
  const drifting = data.models.filter(({ drift }) => drift.length > 0);
  return (
    <Section
      title="Prices"
      aside={
        <span className="muted">
          a million tokens;{" "}
          {data.price_book_read_ms === null ? (
            "the aggregator's list was not read"
          ) : (
            <>
              list read <Time ms={data.price_book_read_ms} />
            </>
          )}
        </span>
      }
    >
      {drifting.length > 0 && (
        <div className="notice stack-tight">
          {drifting.flatMap(({ key, drift }) =>
            drift.map(({ reason, detail, at_ms }) => (
              <p key={`${key} ${reason} ${detail}`}>
                <code>{key}</code>: {words(reason)}. {detail} <Time ms={at_ms} />
              </p>
            )),
          )}
          <Command text={`${own} models sync`} />
        </div>
      )}
      <Table
        caption="Prices of a million tokens"
        columns={[
          "model",
          "upstream id",
          figures("input"),
          figures("cached"),
          figures("output"),
          figures("context"),
          "from",
        ]}
        className="folds"
      >
        {data.models.map(({ key, tier, upstream_id, price, price_source, context_tokens }) => (
          <tr key={key}>
            <th scope="row">
              <Tier tier={tier}>{key}</Tier>
            </th>
            <td className="mono">{upstream_id}</td>
            <td className="fold" aria-hidden="true" />
            <td className="number" data-label="input">
              <Money nano={price.input_nano_usd_per_mtok} />
            </td>
            <td className="number" data-label="cached">
              <Money nano={price.cached_input_nano_usd_per_mtok} />
            </td>
            <td className="number" data-label="output">
              <Money nano={price.output_nano_usd_per_mtok} />
            </td>
            <td className="number" data-label="context">
              {count(context_tokens)}
            </td>
            <td className="nowrap">
              {sources[price_source.kind]}
              {price.bands > 0 && <span className="muted">, {counted(price.bands, "more band")}</span>}
            </td>
          </tr>
        ))}
      </Table>
    </Section>
  );
}
