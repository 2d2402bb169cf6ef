import { answerCalls } from "../thread-calls.ts";

export interface ScriptedRequest {
  readonly call: "echo" | "throw" | "exit";
  readonly text: string;
}

answerCalls(({ call, text }: ScriptedRequest) => {
  if (call === "throw") throw new Error(text);
  if (call === "exit") process.exit(0);
  return text;
});
