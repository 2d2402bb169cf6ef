import type { DecisionStage } from "#dashboard/api-schema.ts";
import { Sentence, words } from "./marks.tsx";
import { Section } from "./section.tsx";

/** How a decision came about; the same for one that was made and for the playground's. */

type Stage = Omit<DecisionStage, "stage"> & { readonly stage: string };

/** The five stages in their order. The one that decided is marked; those after it show what they would have decided. */
export function Stages({ stages }: { readonly stages: readonly Stage[] }) {
  const decided = stages.findIndex((stage) => stage.decided);
  return (
    <ol className="stages">
      {stages.map(({ stage, verdict, would, evidence }, index) => (
        <li
          key={stage}
          data-decided={index === decided || undefined}
          data-after={(decided >= 0 && index > decided) || undefined}
        >
          <span className="name">{stage}</span>
          <div>
            <p>
              {verdict.includes(" ") ? <Sentence text={verdict} /> : words(verdict)}
              {index === decided && <span className="decided"> ◀ decided</span>}
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
      ))}
    </ol>
  );
}

interface ScoreProps {
  readonly score: number | null;
  readonly contributions: readonly { readonly name: string; readonly value: number }[];
  readonly thresholds: { readonly flash_below: number; readonly pro_from: number } | null;
}

/** The score on its scale with the thresholds, and the points that made it. */
export function ScoreBar({ score, contributions, thresholds }: ScoreProps) {
  const most = Math.max(1, ...contributions.map(({ value }) => Math.abs(value)));
  const shown = [...contributions]
    .filter(({ value }) => value !== 0)
    .sort((a, b) => Math.abs(b.value) - Math.abs(a.value));
  return (
    <div className="stack-tight">
      {score !== null && thresholds !== null && <Scale score={score} thresholds={thresholds} />}
      <table className="contributions">
        <caption className="hidden">Points of each feature</caption>
        <tbody>
          {shown.map(({ name, value }) => (
            <tr key={name}>
              <th scope="row">{words(name)}</th>
              <td>
                <div className="bar thin" aria-hidden="true">
                  <i
                    className={value < 0 ? "fill-free" : "fill-pro"}
                    style={{ width: `${(Math.abs(value) / most) * 100}%` }}
                  />
                </div>
              </td>
              <td className="number">{points(value)}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {shown.length === 0 && <p className="muted">No feature gave points.</p>}
    </div>
  );
}

function Scale({
  score,
  thresholds,
}: {
  readonly score: number;
  readonly thresholds: NonNullable<ScoreProps["thresholds"]>;
}) {
  const { flash_below, pro_from } = thresholds;
  return (
    <div
      className="scale"
      role="img"
      aria-label={`score ${score.toFixed(1)} of 100; flash below ${flash_below}, pro from ${pro_from}`}
    >
      <div className="zones">
        <i className="fill-flash" style={{ width: `${flash_below}%` }} />
        <i className="gray" style={{ width: `${Math.max(0, pro_from - flash_below)}%` }} />
        <i className="fill-pro" style={{ width: `${100 - Math.max(flash_below, pro_from)}%` }} />
        <b style={{ left: `${score}%` }} />
      </div>
      <p className="row spread muted">
        <span>
          score <strong>{score.toFixed(1)}</strong>
        </span>
        <span>
          flash below {flash_below}, pro from {pro_from}
        </span>
      </p>
    </div>
  );
}

function points(value: number): string {
  return `${value < 0 ? "−" : "+"}${Math.abs(value).toFixed(1)}`;
}

interface WouldChangeProps {
  readonly title: string;
  readonly changes: readonly { readonly sentence: string }[];
}

/** The smallest changes of the request that would be decided otherwise. */
export function WouldChange({ title, changes }: WouldChangeProps) {
  if (changes.length === 0) return null;
  return (
    <Section title={title}>
      <ul className="changes">
        {changes.map(({ sentence }) => (
          <li key={sentence}>
            <Sentence text={sentence} />
          </li>
        ))}
      </ul>
    </Section>
  );
}
