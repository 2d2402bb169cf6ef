import { useSyncExternalStore } from "react";

const dark = globalThis.matchMedia?.("(prefers-color-scheme: dark)");

function watch(notify: () => void): () => void {
  dark.addEventListener("change", notify);
  return () => dark.removeEventListener("change", notify);
}

/** Whether the system's theme is dark: what is drawn on a canvas must be drawn again when that changes. */
export function useIsDark(): boolean {
  return useSyncExternalStore(watch, () => dark.matches);
}

/** The colour that a custom property such as `--flash` has now, as a canvas takes it. */
export function colour(name: string): string {
  const probe = document.createElement("i");
  probe.style.color = `var(${name})`;
  document.body.append(probe);
  const found = getComputedStyle(probe).color;
  probe.remove();
  return found;
}
