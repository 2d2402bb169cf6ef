import { useEffect, useEffectEvent } from "react";
import { Dialog } from "./dialog.tsx";

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

export interface KeyActions {
  view(path: string): void;
  help(): void;
}

/** Whether what is typed goes into a field. */
export function isTyping(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName))
  );
}

/** Rows that `j` and `k` go through: every table row that can have the focus. */
function rows(): HTMLElement[] {
  return [...document.querySelectorAll<HTMLElement>("main tr[tabindex]")];
}

function moveRow(step: number): void {
  const all = rows();
  const at = all.findIndex((row) => row === document.activeElement || row.getAttribute("aria-selected") === "true");
  const to = all[Math.max(0, Math.min(all.length - 1, at === -1 && step < 0 ? 0 : at + step))];
  to?.focus();
  to?.scrollIntoView({ block: "nearest" });
}

export function useKeys(actions: KeyActions): void {
  const view = useEffectEvent(actions.view);
  const help = useEffectEvent(actions.help);
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

export function KeyList({ onClose }: { readonly onClose: () => void }) {
  return (
    <Dialog title="Keys" onClose={onClose}>
      <dl className="pairs">
        {views.map(({ key, name }) => (
          <Entry key={key} keys={["g", key]} does={name} />
        ))}
        <Entry keys={["/"]} does="Search or filter" />
        <Entry keys={["j"]} does="Next row" />
        <Entry keys={["k"]} does="Row before" />
        <Entry keys={["Enter"]} does="Open the row" />
        <Entry keys={["Esc"]} does="Close what is open" />
        <Entry keys={["?"]} does="This list" />
      </dl>
      <button type="button" onClick={onClose}>
        Close
      </button>
    </Dialog>
  );
}

function Entry({ keys, does }: { readonly keys: readonly string[]; readonly does: string }) {
  return (
    <>
      <dt>
        {keys.map((key, index) => (
          <span key={key}>
            {index > 0 && " then "}
            <kbd>{key}</kbd>
          </span>
        ))}
      </dt>
      <dd>{does}</dd>
    </>
  );
}
