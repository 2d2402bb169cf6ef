import { eventsOf, problemIn } from "../../api/client.ts";

/** A chat request of the playground, and the part of its answer that has arrived. */

export interface Chat {
  readonly text: string;
  readonly alias: string;
  readonly sensitive: boolean;
  readonly goal: string;
  readonly token: string;
}

const start = {
  kind: "running" as "running" | "whole" | "failed" | "stopped",
  content: "",
  reasoning: "",
  problem: null as string | null,
  model: null as string | null,
  decision: null as string | null,
};
export type ChatState = Readonly<typeof start>;

export async function sendChat(chat: Chat, tell: (state: ChatState) => void, signal: AbortSignal): Promise<void> {
  let state: ChatState = start;
  const update = (change: Partial<ChatState>): void => {
    state = { ...state, ...change };
    tell(state);
  };
  update({});
  try {
    const { text, alias, sensitive, goal, token } = chat;
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
    if (!response.ok) return update({ kind: "failed", problem: await problemIn(response) });
    for await (const data of eventsOf(response)) {
      if (data === "[DONE]") continue;
      const { choices, error } = JSON.parse(data); // the gateway passes on no event that is not a chunk
      const { content, reasoning, reasoning_content } = choices?.[0]?.delta ?? {};
      update({
        content: state.content + (content ?? ""),
        reasoning: state.reasoning + (reasoning ?? reasoning_content ?? ""),
        problem: error === undefined ? state.problem : (error.message ?? "The stream broke off."),
      });
    }
    update({ kind: state.problem === null ? "whole" : "failed" });
  } catch (error) {
    update(signal.aborted ? { kind: "stopped" } : { kind: "failed", problem: String(error) });
  }
}
