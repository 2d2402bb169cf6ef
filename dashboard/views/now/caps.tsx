import type { CapUse } from "#dashboard/api-schema.ts";
import { CapBar, filterOfAccount } from "../../components/cap-bar.tsx";
import { Money, Time } from "../../components/marks.tsx";
import { Section } from "../../components/section.tsx";
import { goalName } from "../../format/goal.ts";
import { money } from "../../format/money.ts";
import { share } from "../../format/numbers.ts";
import { utcDayEnd, utcDayLabel } from "../../format/time.ts";
import { Link } from "../../router/link.tsx";
import { usePlace } from "../../router/location.ts";
import { decisionsHref } from "../../router/state.ts";
import type { Summary } from "./summary.ts";

/** Spend against each cap, with the pace and when it will run out. */
export function Caps({ summary }: { readonly summary: Summary }) {
  const { day, goals, pace } = summary.caps;
  return (
    <Section title="Caps" aside={<span className="muted">spent and held of the hard cap</span>}>
      <ul className="caps">
        <CapLine use={day} note={`${utcDayLabel(summary.at_ms)}, ${utcDayEnd(summary.at_ms)}`} />
        {goals.map((goal) => (
          <CapLine key={goal.account} use={goal} note="" />
        ))}
      </ul>
      <p>
        Pace: <Money nano={pace.nano_usd_per_hour} /> an hour;{" "}
        {pace.runs_out_at_ms === null ? (
          <>
            the day will end at <Money nano={pace.forecast_nano_usd} />.
          </>
        ) : (
          <strong data-tone="warn">
            the day's cap is reached at <Time ms={pace.runs_out_at_ms} />.
          </strong>
        )}
      </p>
    </Section>
  );
}

function CapLine({ use, note }: { readonly use: CapUse; readonly note: string }) {
  const place = usePlace();
  const used = use.spent_nano_usd + use.held_nano_usd;
  const name = use.kind === "day" ? "day" : goalName(use.name);
  return (
    <li>
      <span className="row spread">
        <span className="clip" title={use.name}>
          <Link href={decisionsHref(filterOfAccount(use), place)}>{name}</Link>
        </span>
        <span className="nowrap">
          {money(used)} / {money(use.hard_nano_usd)}
          {use.hard_nano_usd !== null && <span className="muted"> {share(used, use.hard_nano_usd)}</span>}
        </span>
      </span>
      <CapBar use={use} />
      {note !== "" && <span className="muted">{note}</span>}
    </li>
  );
}
