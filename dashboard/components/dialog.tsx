import { type FormEvent, type ReactNode, useId, useLayoutEffect, useRef, useState } from "react";

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

interface ConfirmProps extends Props {
  /** What the button does, as a verb and its object: `Release $0.0041`. */
  readonly action: string;
  readonly dangerous?: boolean;
  /** Does it; the dialog closes when it has been done, and shows why when it failed. `why` is what was written there. */
  readonly onConfirm: (why: string) => Promise<unknown>;
}

/** Says what will be done, with figures, and asks once. */
export function Confirm({ action, dangerous = false, onConfirm, children, ...dialog }: ConfirmProps) {
  const [failed, setFailed] = useState<string>();
  const [busy, setBusy] = useState(false);
  const submit = (event: FormEvent<HTMLFormElement>): void => {
    event.preventDefault();
    setBusy(true);
    setFailed(undefined);
    onConfirm(String(new FormData(event.currentTarget).get("why") ?? "").trim())
      .then(dialog.onClose)
      .catch((error: unknown) => setFailed(error instanceof Error ? error.message : String(error)))
      .finally(() => setBusy(false));
  };
  return (
    <Dialog {...dialog}>
      <form onSubmit={submit}>
        {children}
        {failed !== undefined && (
          <p className="failed" role="alert">
            {failed}
          </p>
        )}
        <div className="row">
          <button type="submit" className={dangerous ? "danger" : "primary"} disabled={busy}>
            {action}
          </button>
          <button type="button" onClick={dialog.onClose}>
            Cancel
          </button>
        </div>
      </form>
    </Dialog>
  );
}

interface AmountProps {
  readonly label: string;
  readonly text: string;
  readonly isValid: boolean;
  readonly required?: boolean;
  readonly onText: (text: string) => void;
}

/** A field for an amount of US dollars. */
export function AmountField({ label, text, isValid, required = false, onText }: AmountProps) {
  return (
    <label className="stack tight">
      {label}
      <input
        inputMode="decimal"
        required={required}
        value={text}
        aria-invalid={!isValid}
        onChange={({ target }) => onText(target.value)}
      />
    </label>
  );
}

/** Why something is changed, for the audit log. */
export function WhyField({ required }: { readonly required: boolean }) {
  return (
    <label className="stack tight">
      Why, for the audit log{required ? "" : " (optional)"}
      <input name="why" required={required} maxLength={200} />
    </label>
  );
}
