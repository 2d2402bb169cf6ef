import type { ReactNode } from "react";
import { Scroll } from "./scroll.tsx";

/** A heading: its text, or the text with what is special about the column. */
export type Column =
  | string
  | {
      readonly name: string;
      /** Only screen readers read the heading. */
      readonly hidden?: boolean;
      /** Classes of the heading's cell: `number` for figures, which stand on the right. */
      readonly className?: string;
    };

interface Props {
  readonly caption: string;
  readonly columns: readonly Column[];
  readonly className?: string;
  /** The rows of the body. */
  readonly children: ReactNode;
}

/** A table that scrolls sideways where it is wider than the page. Only screen readers read its caption. */
export function Table({ caption, columns, className, children }: Props) {
  return (
    <Scroll label={caption}>
      <table className={className}>
        <caption className="hidden">{caption}</caption>
        <Headings columns={columns} />
        <tbody>{children}</tbody>
      </table>
    </Scroll>
  );
}

export function Headings({ columns }: { readonly columns: readonly Column[] }) {
  return (
    <thead>
      <tr>
        {columns.map((column) => {
          const { name, hidden = false, className } = typeof column === "string" ? { name: column } : column;
          return (
            <th key={`${name} ${className}`} scope="col" className={className}>
              {hidden ? <span className="hidden">{name}</span> : name}
            </th>
          );
        })}
      </tr>
    </thead>
  );
}

/** A column of figures. */
export function figures(name: string): Column {
  return { name, className: "number" };
}

/** A column whose heading only screen readers read. */
export function unseen(name: string): Column {
  return { name, hidden: true };
}
