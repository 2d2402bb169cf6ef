import type { HTMLAttributes, ReactNode } from "react";

/** A column: its heading, and what its cell shows of a row. */
interface Column<Row> {
  readonly name: string;
  readonly cell: (row: Row) => ReactNode;
  /** `figure`s stand on the right; a `heading` is what the row is about; only screen readers see titles of `unnamed` ones. */
  readonly kind?: "figure" | "heading" | "unnamed";
  /** Classes of heading and cells; `of`: of the cells alone. */
  readonly className?: string;
  readonly of?: string;
  /** On a phone: what is written before the cell, and whether a new line begins before it. */
  readonly label?: string;
  readonly fold?: boolean;
  readonly title?: (row: Row) => string | undefined;
  readonly tone?: (row: Row) => string | undefined;
}

/** A column as views write it: its heading, its cells, and what else it has; of most figures that is all. */
export type Written<Row> = readonly [
  name: string,
  cell: Column<Row>["cell"],
  more?: "figure" | Partial<Omit<Column<Row>, "name" | "cell">>,
];

interface Props<Row> {
  readonly caption: string;
  readonly columns: readonly Written<Row>[];
  readonly rows: readonly Row[];
  readonly rowKey: (row: Row) => string | number;
  readonly className?: string;
  readonly rowProps?: (row: Row) => HTMLAttributes<HTMLTableRowElement> & { readonly "data-marked"?: boolean };
}

/** A table that scrolls sideways where it is wider than the page. Only screen readers read its caption. */
export function Table<Row>({ caption, columns: written, rows, rowKey, className, rowProps }: Props<Row>) {
  const columns = written.map(([name, cell, more]): Column<Row> => {
    return { name, cell, ...(more === "figure" ? { kind: "figure" } : more) };
  });
  return (
    <div className="scroll">
      <table className={className}>
        <caption className="hidden">{caption}</caption>
        <thead>
          <tr>
            {columns.map(({ name, kind, className: column }) => (
              <th key={name + kind} scope="col" className={classes(kind === "figure" && "number", column)}>
                {kind === "unnamed" ? <span className="hidden">{name}</span> : name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={rowKey(row)} {...rowProps?.(row)}>
              {columns.map((column) => (
                <Cell key={column.name + column.kind} column={column} row={row} />
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Cell<Row>({ column, row }: { readonly column: Column<Row>; readonly row: Row }) {
  const { kind, name, label = kind === "figure" ? name : undefined } = column;
  const Tag = kind === "heading" ? "th" : "td";
  return (
    <>
      {column.fold === true && <td className="fold" aria-hidden="true" />}
      <Tag
        scope={kind === "heading" ? "row" : undefined}
        className={classes(kind === "figure" && "number", column.className, column.of)}
        data-label={label}
        data-tone={column.tone?.(row)}
        title={column.title?.(row)}
      >
        {column.cell(row)}
      </Tag>
    </>
  );
}

function classes(...names: readonly (string | false | undefined)[]): string | undefined {
  return names.filter(Boolean).join(" ") || undefined;
}
