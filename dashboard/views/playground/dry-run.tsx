import type { RouteAnswer } from "#dashboard/api-schema.ts";
import { ScoreBar, Stages, WouldChange } from "../../components/explanation.tsx";
import { Money, Sentence, Tier } from "../../components/marks.tsx";
import { Section } from "../../components/section.tsx";

/** The decision that the gateway would make, with the same explanation as a recorded one. */
export function DryRun({ answer }: { readonly answer: RouteAnswer }) {
  return (
    <>
      <Section
        title="It would go"
        aside={
          <span>
            <Tier tier={answer.tier}>{answer.tier ?? "nowhere"}</Tier>
          </span>
        }
      >
        <p className="sentence">
          <Sentence text={answer.sentence} />
        </p>
        {answer.cost !== null && (
          <p className="muted">
            Estimated <Money nano={answer.cost.estimate_nano_usd} /> on <code>{answer.cost.model}</code>;{" "}
            <Money nano={answer.cost.hold_nano_usd} /> would be held. On <code>{answer.cost.other_model}</code>:{" "}
            <Money nano={answer.cost.other_estimate_nano_usd} />.
          </p>
        )}
      </Section>
      <div className="columns">
        {answer.stages.length > 0 && (
          <Section title="Pipeline">
            <Stages stages={answer.stages} />
          </Section>
        )}
        <div className="stack-wide">
          <Section title="Score">
            <ScoreBar
              score={answer.decision.score}
              contributions={answer.contributions}
              thresholds={answer.thresholds}
            />
          </Section>
          <WouldChange title="What would change it" changes={answer.would_change} />
        </div>
      </div>
    </>
  );
}
