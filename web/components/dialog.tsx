import { type FormEvent, type ReactNode, useId, useLayoutEffect, useRef, useState } from "react";
import { formatUsd, parseUsd } from "#domain/money/money.ts";

interface Props {
  readonly title: string;
  readonly onClose: () => void;
  readonly children: ReactNode;
}

/**
 * A modal dialog on the browser's own `dialog` element: it keeps the focus inside, makes the rest inert, closes on Escape
 * and gives the focus back to where it was.
 */
export function Dialog({ title, onClose, children }: Props) {
  const element = useRef<HTMLDialogElement>(null);
  const id = useId();
  // Closed while it is still in the page: a dialog that is only removed takes the focus with it.
  useLayoutEffect(() => {
    const dialog = element.current;
    dialog?.showModal();
    return () => dialog?.close();
  }, []);
  return (
    <dialog ref={element} aria-labelledby={id} onCancel={onClose} onClose={onClose}>
      <div className="stack">
        <h2 id={id}>{title}</h2>
        {children}
      </div>
    </dialog>
  );
}

interface Given {
  /** US dollars as the API takes them; "" where the field was left empty. */
  readonly usd: string;
  readonly why: string;
}

interface ConfirmProps extends Omit<Props, "children"> {
  /** What the button does: `Release $0.0041`. `nano`: the typed amount; null: none, undefined: no amount. */
  readonly action: (nano: number | null | undefined) => string;
  readonly dangerous?: boolean;
  /** Label of a field for an amount, and what is in it at first; without it there is none. */
  readonly amount?: { readonly label: string; readonly first: number | null; readonly required: boolean };
  /** Whether it must be said why, for the audit log; without it there is no such field. */
  readonly why?: "required" | "optional";
  /** Does it; the dialog closes when it has been done, and shows why when it failed. */
  readonly onConfirm: (given: Given) => Promise<unknown>;
  readonly children: (nano: number | null | undefined) => ReactNode;
}

/** Says what will be done, with figures, and asks once. */
export function Confirm({ action, dangerous, amount, why, onConfirm, children, ...dialog }: ConfirmProps) {
  const [text, setText] = useState(amount?.first == null ? "" : formatUsd(amount.first));
  const [failed, setFailed] = useState<string>();
  const [busy, setBusy] = useState(false);
  const nano = text.trim() === "" ? null : parseUsd(text.replace(/^\s*\$|,/g, ""), "down");
  const submit = (event: FormEvent<HTMLFormElement>): void => {
    event.preventDefault();
    if (nano === undefined) {
      setFailed("Write an amount in US dollars, such as 7.50.");
      return;
    }
    setBusy(true);
    setFailed(undefined);
    const reason = String(new FormData(event.currentTarget).get("why") ?? "").trim();
    onConfirm({ usd: nano === null ? "" : formatUsd(nano), why: reason })
      .then(dialog.onClose)
      .catch((error: unknown) => setFailed(error instanceof Error ? error.message : String(error)))
      .finally(() => setBusy(false));
  };
  return (
    <Dialog {...dialog}>
      <form className="stack" onSubmit={submit}>
        {amount !== undefined && (
          <label className="stack tight">
            {amount.label}
            <input
              inputMode="decimal"
              required={amount.required}
              value={text}
              aria-invalid={nano === undefined}
              onChange={({ target }) => setText(target.value)}
            />
          </label>
        )}
        {children(nano)}
        {why !== undefined && (
          <label className="stack tight">
            Why, for the audit log{why === "optional" && " (optional)"}
            <input name="why" required={why === "required"} maxLength={200} />
          </label>
        )}
        {failed !== undefined && (
          <p className="failed" role="alert">
            {failed}
          </p>
        )}
        <div className="row">
          <button type="submit" className={dangerous === true ? "danger" : "primary"} disabled={busy}>
            {action(nano)}
          </button>
          <button type="button" onClick={dialog.onClose}>
            Cancel
          </button>
        </div>
      </form>
    </Dialog>
  );
}
