/** Result of one read of a body's text. */
export type TextReadResult = { readonly done: true } | { readonly done: false; readonly value: string };

/** A body as text, read in pieces. Reads must not overlap; the connection is paused while nobody reads. */
export interface TextReader {
  read(): Promise<TextReadResult>;
  /**
   * The same read without a promise, where a reader offers it: calls one method of the receiver, once, as soon as there is
   * something to say, which may be before `pull` returns; again for as long as `onText` asks for more. The receiver must not throw.
   */
  pull?(receiver: TextReceiver): void;
  /** All of the body, where it has been received whole and none of it was read; undefined where some is to come. */
  takeWhole?(): string | undefined;
  /** The whole body has been read: the next read would return `done` at once. */
  readonly ended: boolean;
}

/** Gets the result of one read. */
export interface TextReceiver {
  /** True: it goes on waiting, as if it had pulled again. Then it must not have pulled meanwhile. */
  onText(text: string): boolean;
  onEnd(): void;
  onError(error: unknown): void;
}
