import { shared } from "../shared.ts";

/** Light, dark or the system's theme; the choice is stored in this browser only. */
export const themes = ["system", "light", "dark"] as const;
export type Theme = (typeof themes)[number];

const key = "smart-gateway-theme";
const system = globalThis.matchMedia?.("(prefers-color-scheme: dark)");

/** The chosen theme, and whether dark is shown: what is drawn on a canvas must be drawn again when that changes. */
const theme = shared({ chosen: "system" as Theme, isDark: false });
export const useTheme = theme.use;

function apply(chosen: Theme): void {
  if (chosen === "system") delete document.documentElement.dataset["theme"];
  else document.documentElement.dataset["theme"] = chosen;
  theme.set({ chosen, isDark: chosen === "dark" || (chosen === "system" && system?.matches === true) });
}

export function startTheme(): void {
  system?.addEventListener("change", () => apply(theme.get().chosen));
  try {
    apply(themes.find((one) => one === localStorage.getItem(key)) ?? "system");
  } catch {
    apply("system"); // storage is switched off
  }
}

export function setTheme(name: string): void {
  const chosen = themes.find((one) => one === name) ?? "system";
  apply(chosen);
  try {
    localStorage.setItem(key, chosen);
  } catch {
    // Not remembered; it holds until the page is loaded again.
  }
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
