import type { AnswerOf } from "#dashboard/api.ts";
import { Pipeline, Score, WouldChange } from "../../components/explanation.tsx";
import { Money, Sentence, Tier } from "../../components/marks.tsx";
import { Section } from "../../components/parts.tsx";

type RouteAnswer = AnswerOf<"POST route">;

/** The decision that the gateway would make, with the same explanation as a recorded one. */
export function DryRun({ answer }: { readonly answer: RouteAnswer }) {
  const { tier, cost } = answer;
  const aside = (
    <span>
      <Tier tier={tier}>{tier ?? "nowhere"}</Tier>
    </span>
  );
  return (
    <>
      <Section title="It would go" aside={aside}>
        <p className="sentence">
          <Sentence text={answer.sentence} />
        </p>
        {cost !== null && (
          <p className="muted">
            Estimated <Money nano={cost.estimate_nano_usd} /> on <code>{cost.model}</code>;{" "}
            <Money nano={cost.hold_nano_usd} /> would be held. On <code>{cost.other_model}</code>:{" "}
            <Money nano={cost.other_estimate_nano_usd} />.
          </p>
        )}
      </Section>
      <div className="columns">
        <Pipeline stages={answer.stages} />
        <div className="stack wide-gap">
          <Score score={answer.decision.score} contributions={answer.contributions} thresholds={answer.thresholds} />
          <WouldChange title="What would change it" changes={answer.would_change} />
        </div>
      </div>
    </>
  );
}
