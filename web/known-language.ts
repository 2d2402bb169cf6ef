/**
 * A browser whose system has no language set (containers, kiosks) calls it `en-US@posix`, which `Intl` refuses with an error
 * and which the chart library asks it for while it is loaded. Must be imported before that one.
 */
try {
  Intl.getCanonicalLocales(navigator.language);
} catch {
  Object.defineProperty(navigator, "language", { value: "en-US", configurable: true });
}
