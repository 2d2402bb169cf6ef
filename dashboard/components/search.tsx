interface Props {
  /** What is searched, for screen readers: `Search goals`. */
  readonly label: string;
  readonly value: string;
  readonly onChange: (value: string) => void;
}

/** Narrows what a view shows. The key `/` goes to it, Escape leaves it. */
export function Search({ label, value, onChange }: Props) {
  return (
    <input
      data-search
      type="search"
      aria-label={label}
      placeholder="search"
      value={value}
      onChange={({ target }) => onChange(target.value)}
      onKeyDown={(event) => event.key === "Escape" && event.currentTarget.blur()}
    />
  );
}
