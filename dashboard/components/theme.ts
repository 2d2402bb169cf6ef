import { useSyncExternalStore } from "react";

/** Light, dark or the system's theme; stored in this browser only. */
export type Theme = "system" | "light" | "dark";

const key = "smart-gateway-theme";
const changed = "dashboard:theme";
const systemIsDark = (): MediaQueryList => matchMedia("(prefers-color-scheme: dark)");

export function storedTheme(): Theme {
  try {
    return themeOf(localStorage.getItem(key));
  } catch {
    return "system"; // storage is switched off
  }
}

export function themeOf(text: string | null): Theme {
  return text === "light" || text === "dark" ? text : "system";
}

export function applyTheme(theme: Theme): void {
  if (theme === "system") delete document.documentElement.dataset["theme"];
  else document.documentElement.dataset["theme"] = theme;
}

export function setTheme(theme: Theme): void {
  applyTheme(theme);
  try {
    if (theme === "system") localStorage.removeItem(key);
    else localStorage.setItem(key, theme);
  } catch {
    // Not remembered; it holds until the page is loaded again.
  }
  dispatchEvent(new Event(changed));
}

function subscribe(notify: () => void): () => void {
  const media = systemIsDark();
  media.addEventListener("change", notify);
  addEventListener(changed, notify);
  return () => {
    media.removeEventListener("change", notify);
    removeEventListener(changed, notify);
  };
}

function shown(): "light" | "dark" {
  const theme = storedTheme();
  if (theme !== "system") return theme;
  return systemIsDark().matches ? "dark" : "light";
}

/** The theme that is shown; what is drawn on a canvas must be drawn again when it changes. */
export function useShownTheme(): "light" | "dark" {
  return useSyncExternalStore(subscribe, shown);
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
