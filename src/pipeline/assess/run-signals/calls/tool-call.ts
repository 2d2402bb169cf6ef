/** One tool call of the run: its name, and its arguments as the JSON text they came in. */
export interface ToolCall {
  readonly name: string;
  readonly args: string;
}

/** What a tool gave back: which call it answers, and the part of its text that is read. */
export interface ToolResult {
  readonly call: ToolCall | undefined;
  readonly text: string;
}
