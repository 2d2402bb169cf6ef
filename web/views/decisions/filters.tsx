import { type FormEvent, useState } from "react";
import { useRead } from "../../api/queries.ts";
import { Select } from "../../components/frame.tsx";
import { goalName } from "../../format.ts";
import { type FilterField, filterFields, go, type Place, rangeOf, usePlace, withSearch } from "../../router.tsx";

const known: Partial<Record<FilterField, readonly string[]>> = {
  tier: ["free", "flash", "pro", "emergency"],
  outcome: ["answered", "refused", "failed", "broken_stream", "caller_gone"],
  refused_by: ["gateway", "upstream"],
  alias: ["smart-router", "smart-router-flash", "smart-router-pro", "smart-router-free"],
  cost_state: ["known", "estimated", "unknown"],
  action: ["ROUTE", "SCOUT", "STOP_FOR_HUMAN", "DENY"],
  redaction: ["any"],
};

/** The filters of the list, as chips. They are in the address; a chip's × takes it out. */
export function Filters() {
  const place = usePlace();
  return (
    <div className="chips row">
      {Object.entries(filterFields).map(([field, name]) => {
        const value = place.search.get(field);
        if (value === null) return null;
        return (
          <span className="chip" key={field}>
            <span>
              {name} is <b title={value}>{field === "goal" ? goalName(value) : value}</b>
            </span>
            <button
              type="button"
              aria-label={`Remove the filter ${name} is ${value}`}
              onClick={() => go(withSearch(place, { [field]: undefined }))}
            >
              ×
            </button>
          </span>
        );
      })}
      <AddFilter place={place} />
    </div>
  );
}

function AddFilter({ place }: { readonly place: Place }) {
  const [field, setField] = useState<FilterField>("cause");
  const values = useValues(field, place);
  const add = (event: FormEvent<HTMLFormElement>): void => {
    event.preventDefault();
    const value = String(new FormData(event.currentTarget).get("value") ?? "").trim();
    event.currentTarget.reset();
    if (value !== "") go(withSearch(place, { [field]: value }));
  };
  return (
    <form className="row" onSubmit={add}>
      <Select
        label="Filter by"
        value={field}
        options={Object.entries(filterFields)}
        onPick={(name) => setField(name as FilterField)} // one of the options
      />
      <input
        name="value"
        data-search
        list="filter-values"
        aria-label={`Value of ${filterFields[field]}`}
        placeholder="is …"
        autoComplete="off"
        size={18}
        onKeyDown={(event) => event.key === "Escape" && event.currentTarget.blur()}
      />
      <datalist id="filter-values">
        {values.map((value) => (
          <option key={value} value={value} />
        ))}
      </datalist>
      <button type="submit">Add</button>
    </form>
  );
}

/** What the field can be: its closed set, or what the range has. */
function useValues(field: FilterField, place: Place): readonly string[] {
  const summary = useRead("GET summary", { query: rangeOf(place) }).data;
  const of: Partial<Record<FilterField, readonly (string | null)[]>> = {
    ...known,
    cause: summary?.by_cause.map(({ cause }) => cause) ?? [],
    model: summary?.by_model.map(({ model }) => model) ?? [],
    goal: summary?.by_goal.map(({ goal }) => goal) ?? [],
    label: summary?.by_label.map(({ label }) => label) ?? [],
  };
  return (of[field] ?? []).filter((value) => value !== null);
}
