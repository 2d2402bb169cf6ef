import { type ReactNode, useEffect, useRef, useState } from "react";

/** A column: its heading, and what its cell shows of a row. */
export interface Column<Row> {
  readonly name: string;
  readonly cell: (row: Row) => ReactNode;
  /** Figures stand on the right. */
  readonly figure?: boolean;
  /** Only screen readers read the heading. */
  readonly hidden?: boolean;
  /** The cell is the heading of its row. */
  readonly heads?: boolean;
  /** Classes of the heading and of the cells; `of` the cells alone. */
  readonly className?: string;
  readonly of?: string;
  /** On a phone: what is written before the cell, and whether a new line begins before it. */
  readonly label?: string;
  readonly fold?: boolean;
  readonly title?: (row: Row) => string | undefined;
  readonly tone?: (row: Row) => string | undefined;
}

type More<Row> = Partial<Omit<Column<Row>, "name" | "cell">>;
type Cell<Row> = Column<Row>["cell"];

/** The kinds of columns; `of`: classes of the cells. */
interface Kinds<Row> {
  text(name: string, cell: Cell<Row>, of?: string, more?: More<Row>): Column<Row>;
  /** With its name before it on a phone. */
  figure(name: string, cell: Cell<Row>, more?: More<Row>): Column<Row>;
  /** What the row is about. */
  heading(name: string, cell: Cell<Row>, of?: string, more?: More<Row>): Column<Row>;
  /** Only screen readers read the heading. */
  buttons(cell: Cell<Row>): Column<Row>;
}

const kinds: Kinds<unknown> = {
  text: (name, cell, of, more) => ({ name, cell, ...(of === undefined ? {} : { of }), ...more }),
  figure: (name, cell, more) => ({ name, cell, figure: true, label: name, ...more }),
  heading: (name, cell, of, more) => kinds.text(name, cell, of, { heads: true, ...more }),
  buttons: (cell) => kinds.text("change", cell, "number nowrap actions", { hidden: true }),
};

interface Props<Row> {
  readonly caption: string;
  readonly columns: (kinds: Kinds<Row>) => readonly Column<Row>[];
  readonly rows: readonly Row[];
  readonly rowKey: (row: Row) => string | number;
  readonly className?: string;
  /** Rows to be marked. */
  readonly marked?: (row: Row) => boolean;
}

/** A table that scrolls sideways where it is wider than the page. Only screen readers read its caption. */
export function Table<Row>({ caption, ...table }: Props<Row>) {
  return (
    <Scroll label={caption}>
      <PlainTable caption={caption} {...table} />
    </Scroll>
  );
}

export function PlainTable<Row>({ caption, columns: choose, rows, rowKey, className, marked }: Props<Row>) {
  const columns = choose(kinds as Kinds<Row>);
  return (
    <table className={className}>
      <caption className="hidden">{caption}</caption>
      <Headings columns={columns} />
      <tbody>
        {rows.map((row) => (
          <tr key={rowKey(row)} data-marked={marked?.(row) || undefined}>
            {columns.map((column) => (
              <TableCell key={`${column.name} ${column.className}`} column={column} row={row} />
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

export function Headings({ columns }: { readonly columns: readonly Omit<Column<never>, "cell">[] }) {
  return (
    <thead>
      <tr>
        {columns.map(({ name, figure, hidden, className }) => (
          <th key={`${name} ${className}`} scope="col" className={classes(figure && "number", className)}>
            {hidden === true ? <span className="hidden">{name}</span> : name}
          </th>
        ))}
      </tr>
    </thead>
  );
}

function TableCell<Row>({ column, row }: { readonly column: Column<Row>; readonly row: Row }) {
  const Tag = column.heads === true ? "th" : "td";
  return (
    <>
      {column.fold === true && <td className="fold" aria-hidden="true" />}
      <Tag
        scope={column.heads === true ? "row" : undefined}
        className={classes(column.figure && "number", column.className, column.of)}
        data-label={column.label}
        data-tone={column.tone?.(row)}
        title={column.title?.(row)}
      >
        {column.cell(row)}
      </Tag>
    </>
  );
}

function classes(...names: readonly (string | false | undefined)[]): string | undefined {
  return names.filter((name) => name !== undefined && name !== false).join(" ") || undefined;
}

/** A part that scrolls sideways where it is wider than the page; only then it is a stop for the keyboard. */
function Scroll({ label, children }: { readonly label: string; readonly children: ReactNode }) {
  const element = useRef<HTMLElement>(null);
  const [overflows, setOverflows] = useState(false);
  useEffect(() => {
    const part = element.current;
    if (part === null) return;
    const observer = new ResizeObserver(() => setOverflows(part.scrollWidth > part.clientWidth));
    observer.observe(part);
    for (const child of part.children) observer.observe(child);
    return () => observer.disconnect();
  }, []);
  return (
    <section
      ref={element}
      className="scroll"
      aria-label={overflows ? `${label}, table` : undefined}
      tabIndex={overflows ? 0 : undefined}
    >
      {children}
    </section>
  );
}
