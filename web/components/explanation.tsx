import type { AnswerOf } from "#dashboard/api.ts";
import type { DecisionStage } from "#records/decision-record.ts";
import { words } from "../format.ts";
import { Sentence, ShareBar } from "./marks.tsx";
import { Pairs, Section } from "./parts.tsx";
import { Table } from "./table.tsx";

/** How a decision came about; the same for one that was made and for the playground's. */
type Detail = AnswerOf<"GET decisions/{id}">;
type Explained = Pick<Detail, "stages" | "contributions" | "thresholds" | "would_change"> &
  Partial<Pick<Detail, "given" | "found">>;

interface Props {
  readonly of: Explained;
  readonly score: number | null;
  /** Title of what would be decided otherwise. */
  readonly changes: string;
}

/** What a person can act on first: what was stated, what would have changed it; then how it was decided. */
export function Explanation({ of, score, changes }: Props) {
  const decided = of.stages.findIndex((stage) => stage.decided);
  return (
    <>
      {of.found && <p className="notice">{of.found}</p>}
      {of.given && <Pairs pairs={of.given.map(({ name, value }) => [words(name), value])} />}
      {of.would_change.length > 0 && (
        <Section title={changes}>
          <ul className="stack tight changes">
            {of.would_change.map(({ sentence }) => (
              <li key={sentence}>
                <Sentence text={sentence} />
              </li>
            ))}
          </ul>
        </Section>
      )}
      {of.stages.length > 0 && (
        <Section title="Pipeline">
          <ol className="stages">
            {of.stages.map((stage, at) => (
              <Stage key={stage.stage} {...stage} decided={at === decided} isAfter={decided >= 0 && at > decided} />
            ))}
          </ol>
          {of.contributions.length > 0 && (
            <details>
              <summary>Score</summary>
              <Score score={score} of={of} />
            </details>
          )}
        </Section>
      )}
    </>
  );
}

/** The one that decided is marked; those after it show what they would have decided. */
function Stage({ stage, verdict, would, evidence, decided, isAfter }: DecisionStage & { readonly isAfter: boolean }) {
  return (
    <li data-decided={decided || undefined} className={isAfter ? "muted" : undefined}>
      <span className="name muted">{stage}</span>
      <div>
        <p>
          {verdict.includes(" ") ? <Sentence text={verdict} /> : words(verdict)}
          {decided && <span className="decided"> ◀ decided</span>}
          {would !== null && (
            <span className="muted"> would have said {would.includes(" ") ? would : words(would)}</span>
          )}
        </p>
        <p className="evidence muted">
          {/* The points of the features are in the table of the score. */}
          {evidence
            .filter((text) => !text.startsWith("points_"))
            .map((text) => (
              <code key={text}>{text}</code>
            ))}
        </p>
      </div>
    </li>
  );
}

/** The score on its scale with the thresholds, and the points that made it. */
function Score({ score, of: { contributions, thresholds } }: Pick<Props, "of" | "score">) {
  const most = Math.max(1, ...contributions.map(({ value }) => Math.abs(value)));
  const shown = contributions
    .filter(({ value }) => value !== 0)
    .toSorted((a, b) => Math.abs(b.value) - Math.abs(a.value));
  return (
    <div className="stack tight">
      {score !== null && thresholds !== null && (
        <label className="row">
          score {score.toFixed(1)}
          <meter min={0} max={100} low={thresholds.flash_below} high={thresholds.pro_from} value={score} />
          flash below {thresholds.flash_below}, pro from {thresholds.pro_from}
        </label>
      )}
      <Table
        caption="Points of each feature"
        rows={shown}
        rowKey={({ name }) => name}
        columns={[
          ["feature", ({ name }) => words(name), { kind: "heading" }],
          [
            "share",
            ({ value }) => <ShareBar share={Math.abs(value) / most} fill={value < 0 ? "--free-fill" : "--pro-fill"} />,
          ],
          ["points", ({ value }) => `${value < 0 ? "−" : "+"}${Math.abs(value).toFixed(1)}`, "figure"],
        ]}
      />
      {shown.length === 0 && <p className="muted">No feature gave points.</p>}
    </div>
  );
}
