import type { AnswerOf } from "#dashboard/api.ts";
import type { DecisionStage } from "#records/decision-record.ts";
import { words } from "../format.ts";
import { Sentence, ShareBar } from "./marks.tsx";
import { Section } from "./parts.tsx";

type DecisionDetail = AnswerOf<"GET decisions/{id}">;

/** How a decision came about; the same for one that was made and for the playground's. */
type Explained = Pick<DecisionDetail, "sentence" | "stages" | "contributions" | "thresholds" | "would_change">;

/** The five stages in their order. The one that decided is marked; those after it show what they would have decided. */
export function Pipeline({ stages }: Pick<Explained, "stages">) {
  if (stages.length === 0) return null;
  const decided = stages.findIndex((stage) => stage.decided);
  return (
    <Section title="Pipeline">
      <ol className="stages">
        {stages.map((stage, index) => (
          <Stage key={stage.stage} {...stage} decided={index === decided} isAfter={decided >= 0 && index > decided} />
        ))}
      </ol>
    </Section>
  );
}

function Stage({ stage, verdict, would, evidence, decided, isAfter }: DecisionStage & { readonly isAfter: boolean }) {
  return (
    <li data-decided={decided || undefined} data-after={isAfter || undefined}>
      <span className="name">{stage}</span>
      <div>
        <p>
          {verdict.includes(" ") ? <Sentence text={verdict} /> : words(verdict)}
          {decided && <span className="decided"> ◀ decided</span>}
          {would !== null && (
            <span className="muted"> would have said {would.includes(" ") ? would : words(would)}</span>
          )}
        </p>
        <p className="evidence">
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

interface ScoreProps extends Pick<Explained, "contributions" | "thresholds"> {
  readonly score: number | null;
}

/** The score on its scale with the thresholds, and the points that made it. */
export function Score({ score, contributions, thresholds }: ScoreProps) {
  const most = Math.max(1, ...contributions.map(({ value }) => Math.abs(value)));
  const shown = contributions
    .filter(({ value }) => value !== 0)
    .toSorted((a, b) => Math.abs(b.value) - Math.abs(a.value));
  return (
    <Section title="Score">
      <div className="stack tight">
        {score !== null && thresholds !== null && <Scale score={score} {...thresholds} />}
        <table className="contributions">
          <caption className="hidden">Points of each feature</caption>
          <tbody>
            {shown.map(({ name, value }) => (
              <tr key={name}>
                <th scope="row">{words(name)}</th>
                <td>
                  <ShareBar share={Math.abs(value) / most} fill={value < 0 ? "--free-fill" : "--pro-fill"} thin />
                </td>
                <td className="number">
                  {value < 0 ? "−" : "+"}
                  {Math.abs(value).toFixed(1)}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
        {shown.length === 0 && <p className="muted">No feature gave points.</p>}
      </div>
    </Section>
  );
}

function Scale({ score, flash_below, pro_from }: { score: number; flash_below: number; pro_from: number }) {
  const thresholds = `flash below ${flash_below}, pro from ${pro_from}`;
  return (
    <div className="scale" role="img" aria-label={`score ${score.toFixed(1)} of 100; ${thresholds}`}>
      <div className="zones">
        <i style={{ width: `${flash_below}%`, background: "var(--flash-fill)" }} />
        <i className="gray" style={{ width: `${Math.max(0, pro_from - flash_below)}%` }} />
        <i style={{ width: `${100 - Math.max(flash_below, pro_from)}%`, background: "var(--pro-fill)" }} />
        <b style={{ left: `${score}%` }} />
      </div>
      <p className="row spread muted">
        <span>
          score <strong>{score.toFixed(1)}</strong>
        </span>
        <span>{thresholds}</span>
      </p>
    </div>
  );
}

interface WouldChangeProps {
  readonly title: string;
  readonly changes: Explained["would_change"];
}

/** The smallest changes of the request that would be decided otherwise. */
export function WouldChange({ title, changes }: WouldChangeProps) {
  if (changes.length === 0) return null;
  return (
    <Section title={title}>
      <ul className="stack tight changes">
        {changes.map(({ sentence }) => (
          <li key={sentence}>
            <Sentence text={sentence} />
          </li>
        ))}
      </ul>
    </Section>
  );
}
