import { type ReactNode, useEffect, useRef, useState } from "react";

interface Props {
  readonly label: string;
  readonly children: ReactNode;
}

/** A part that scrolls sideways where it is wider than the page; only then it is a stop for the keyboard. */
export function Scroll({ label, children }: Props) {
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
