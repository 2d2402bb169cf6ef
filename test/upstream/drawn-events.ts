import fc from "fast-check";

/** One event of a stream as it is sent. */
export const event = (delta: object, more: object = {}, choice: object = {}) =>
  `data: ${JSON.stringify({ id: "gen-1", object: "chat.completion.chunk", created: 1, model: "vendor/model", choices: [{ index: 0, delta, finish_reason: null, ...choice }], ...more })}\n\n`;

/** Events of a stream in which most are alike. */
export function anyEvent(
  content: fc.Arbitrary<string> = fc.string({ unit: "binary", maxLength: 6 }),
): fc.Arbitrary<string> {
  return fc.oneof(
    { weight: 8, arbitrary: content.map((text) => event({ content: text })) },
    { weight: 4, arbitrary: content.map((text) => event({ role: "assistant", content: text })) },
    { weight: 3, arbitrary: content.map((text) => event({ content: text }, { model: "vendor/model-20250101" })) },
    { weight: 3, arbitrary: content.map((text) => event({ content: text }, { model: "other/model" })) },
    content.map((text) => event({ content: text }, { id: null })),
    content.map((text) => event({ content: text, reasoning: "hm " })),
    content.map((text) => event({ content: "", reasoning: text })),
    content.map((text) => event({ reasoning_content: text, reasoning_details: [{ type: "reasoning.text", text }] })),
    content.map((text) => event({ content: text }, {}, { index: 1 })),
    content.map((text) => event({ content: text }, { usage: { prompt_tokens: 1, completion_tokens: 2 } })),
    fc.constantFrom(
      event({}, {}, { finish_reason: "stop" }),
      event({ content: "end" }, {}, { finish_reason: "stop" }),
      event({ tool_calls: [{ index: 0, function: { arguments: "{" } }] }),
      event({ content: "x" }, { error: { message: "no", code: 502 } }),
      ": comment\n\n",
      "data: {\n\n",
    ),
  );
}
