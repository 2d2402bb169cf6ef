import { eventsOf, problemIn } from "../../api/client.ts";

/** A chat request of the playground, and the part of its answer that has arrived. */

export interface Chat {
  readonly text: string;
  readonly alias: string;
  readonly sensitive: boolean;
  readonly goal: string;
  readonly token: string;
}

export interface ChatState {
  readonly kind: "running" | "whole" | "failed" | "stopped";
  readonly content: string;
  readonly reasoning: string;
  readonly problem: string | null;
  readonly model: string | null;
  readonly decision: string | null;
}

const start: ChatState = { kind: "running", content: "", reasoning: "", problem: null, model: null, decision: null };

export async function sendChat(
  { text, alias, sensitive, goal, token }: Chat,
  tell: (state: ChatState) => void,
  signal: AbortSignal,
): Promise<void> {
  let state = start;
  const update = (change: Partial<ChatState>): void => {
    state = { ...state, ...change };
    tell(state);
  };
  update({});
  try {
    const messages = [{ role: "user", content: text }];
    const response = await fetch("/v1/chat/completions", {
      method: "POST",
      signal,
      headers: {
        "content-type": "application/json",
        authorization: `Bearer ${token}`,
        ...(goal === "" ? {} : { "x-goal-id": goal }),
      },
      body: JSON.stringify({ model: alias, stream: true, messages, metadata: { sensitive } }),
    });
    const { headers } = response;
    update({ model: headers.get("x-smart-gateway-model"), decision: headers.get("x-smart-gateway-decision-id") });
    if (!response.ok) {
      update({ kind: "failed", problem: await problemIn(response) });
      return;
    }
    for await (const data of eventsOf(response)) {
      if (data === "[DONE]") continue;
      const { choices, error } = JSON.parse(data) as Chunk; // the gateway passes on no event that is not a chunk
      const { content, reasoning, reasoning_content } = choices?.[0]?.delta ?? {};
      update({
        content: state.content + (content ?? ""),
        reasoning: state.reasoning + (reasoning ?? reasoning_content ?? ""),
        problem: error === undefined ? state.problem : (error.message ?? "The stream broke off."),
      });
    }
    update({ kind: state.problem === null ? "whole" : "failed" });
  } catch (error) {
    if (signal.aborted) update({ kind: "stopped" });
    else update({ kind: "failed", problem: error instanceof Error ? error.message : String(error) });
  }
}

interface Chunk {
  readonly error?: { readonly message?: string };
  readonly choices?: readonly {
    readonly delta?: {
      readonly content?: string | null;
      readonly reasoning?: string;
      readonly reasoning_content?: string;
    };
  }[];
}
