import { useEffect, useEffectEvent } from "react";
import { Dialog } from "./dialog.tsx";
import { Pairs } from "./parts.tsx";

/** Keyboard shortcuts. Single letters are shortcuts only while the focus is in no field. */

export const views = [
  { key: "n", path: "/", name: "Now" },
  { key: "d", path: "/decisions", name: "Decisions" },
  { key: "b", path: "/budgets", name: "Budgets" },
  { key: "m", path: "/models", name: "Models" },
  { key: "p", path: "/playground", name: "Playground" },
  { key: "o", path: "/policy", name: "Policy" },
] as const;

const sequenceMs = 1_500;

/** Whether what is typed goes into a field. */
export function isTyping(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName);
}

/** `j` and `k` go through every table row that can have the focus. */
function moveRow(step: number): void {
  const all = [...document.querySelectorAll<HTMLElement>("main tr[tabindex]")];
  const at = all.findIndex((row) => row === document.activeElement || row.getAttribute("aria-selected") === "true");
  const to = all[Math.max(0, Math.min(all.length - 1, at === -1 && step < 0 ? 0 : at + step))];
  to?.focus();
  to?.scrollIntoView({ block: "nearest" });
}

export function useKeys(onView: (path: string) => void, onHelp: () => void): void {
  const view = useEffectEvent(onView);
  const help = useEffectEvent(onHelp);
  useEffect(() => {
    let goAtMs = 0;
    const onKey = (event: KeyboardEvent): void => {
      if (event.metaKey || event.ctrlKey || event.altKey || event.defaultPrevented) return;
      if (isTyping(event.target) || document.querySelector("dialog[open]") !== null) return;
      const followsG = event.timeStamp - goAtMs < sequenceMs;
      goAtMs = 0;
      const found = followsG ? views.find(({ key }) => key === event.key) : undefined;
      if (found !== undefined) view(found.path);
      else if (event.key === "g") goAtMs = event.timeStamp;
      else if (event.key === "j") moveRow(1);
      else if (event.key === "k") moveRow(-1);
      else if (event.key === "/") document.querySelector<HTMLElement>("[data-search]")?.focus();
      else if (event.key === "?") help();
      else return;
      event.preventDefault();
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, []);
}

const keys = [
  ...views.map(({ key, name }) => [`g then ${key}`, name]),
  ["/", "Search or filter"],
  ["j", "Next row"],
  ["k", "Row before"],
  ["Enter", "Open the row"],
  ["Esc", "Close what is open"],
  ["?", "This list"],
] as const;

export function KeyList({ onClose }: { readonly onClose: () => void }) {
  return (
    <Dialog title="Keys" onClose={onClose}>
      <Pairs pairs={keys.map(([key, does]) => [<kbd key={key}>{key}</kbd>, does])} />
      <button type="button" onClick={onClose}>
        Close
      </button>
    </Dialog>
  );
}
