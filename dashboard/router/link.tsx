import type { AnchorHTMLAttributes, MouseEvent } from "react";
import { go } from "./location.ts";

type Attributes = AnchorHTMLAttributes<HTMLAnchorElement> & { readonly href: string };

/** A link within the page. With a modifier key or another button it is the browser's: a new tab, a download. */
export function Link({ onClick, href, ...attributes }: Attributes) {
  const follow = (event: MouseEvent<HTMLAnchorElement>): void => {
    onClick?.(event);
    if (event.defaultPrevented || event.button !== 0) return;
    if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    go(href);
  };
  return <a {...attributes} href={href} onClick={follow} />;
}
