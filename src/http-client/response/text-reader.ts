/** Result of one read of a body's text. */
export type TextReadResult = { readonly done: true } | { readonly done: false; readonly value: string };

/** A body as text, read in pieces. Reads must not overlap; the connection is paused while nobody reads. */
export interface TextReader {
  read(): Promise<TextReadResult>;
  /** The whole body has been read: the next read would return `done` at once. */
  readonly ended: boolean;
}
