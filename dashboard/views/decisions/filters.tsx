import { type FormEvent, useState } from "react";
import { useRead } from "../../api/queries.ts";
import { goalName } from "../../format.ts";
import { type FilterField, filterFields, go, type Place, rangeOf, usePlace, withSearch } from "../../router.tsx";

const fields = Object.keys(filterFields) as FilterField[];

const known: Partial<Record<FilterField, readonly string[]>> = {
  tier: ["free", "flash", "pro", "emergency"],
  outcome: ["answered", "refused", "failed", "broken_stream", "caller_gone"],
  refused_by: ["gateway", "upstream"],
  alias: ["smart-router", "smart-router-flash", "smart-router-pro", "smart-router-free"],
  cost_state: ["known", "estimated", "unknown"],
  action: ["ROUTE", "SCOUT", "STOP_FOR_HUMAN", "DENY"],
  status: ["2xx", "4xx", "5xx", "402", "403", "429", "502", "503"],
};

/** The filters of the list, as chips. They are in the address; a chip's × takes it out. */
export function Filters() {
  const place = usePlace();
  const set = fields.flatMap((field) => {
    const value = place.search.get(field);
    return value === null ? [] : [{ field, value }];
  });
  return (
    <div className="chips">
      {set.map(({ field, value }) => (
        <span className="chip" key={field}>
          <span>
            {filterFields[field]} is <b title={value}>{field === "goal" ? goalName(value) : value}</b>
          </span>
          <button
            type="button"
            aria-label={`Remove the filter ${filterFields[field]} is ${value}`}
            onClick={() => go(withSearch(place, { [field]: undefined }))}
          >
            ×
          </button>
        </span>
      ))}
      <AddFilter place={place} />
    </div>
  );
}

function AddFilter({ place }: { readonly place: Place }) {
  const [field, setField] = useState<FilterField>("cause");
  const values = useValues(field, place);
  const add = (event: FormEvent<HTMLFormElement>): void => {
    event.preventDefault();
    const form = event.currentTarget;
    const value = String(new FormData(form).get("value") ?? "").trim();
    if (value === "") return;
    form.reset();
    go(withSearch(place, { [field]: value }));
  };
  return (
    <form className="chips" onSubmit={add}>
      <select
        aria-label="Filter by"
        value={field}
        onChange={({ target }) => setField(fields.find((name) => name === target.value) ?? "cause")}
      >
        {fields.map((name) => (
          <option key={name} value={name}>
            {filterFields[name]}
          </option>
        ))}
      </select>
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
  const closed = known[field];
  if (closed !== undefined || summary === undefined) return closed ?? [];
  const of: Partial<Record<FilterField, readonly (string | null)[]>> = {
    cause: summary.by_cause.map(({ cause }) => cause),
    model: summary.by_model.map(({ model }) => model),
    goal: summary.by_goal.map(({ goal }) => goal),
  };
  return (of[field] ?? []).filter((value) => value !== null);
}
