import { useEffect, useState } from "react";

/** Copies a text, and says so for a moment. */
export function Copy({ text, what }: { readonly text: string; readonly what: string }) {
  const [copied, setCopied] = useState<"no" | "yes" | "failed">("no");
  useEffect(() => {
    if (copied === "no") return;
    const back = setTimeout(() => setCopied("no"), 1_500);
    return () => clearTimeout(back);
  }, [copied]);
  const copy = (): void => {
    void write(text).then((done) => setCopied(done ? "yes" : "failed"));
  };
  const label = { no: "Copy", yes: "Copied", failed: "Not copied" }[copied];
  return (
    <button type="button" className="plain" onClick={copy}>
      <span aria-live="polite">{label}</span>
      <span className="hidden"> {what}</span>
    </button>
  );
}

/** The clipboard's interface exists on loopback and behind TLS only; elsewhere the older command copies a selection. */
async function write(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const field = document.createElement("textarea");
    field.value = text;
    field.className = "hidden";
    document.body.append(field);
    field.select();
    const done = document.execCommand("copy");
    field.remove();
    return done;
  }
}
