import { expect, test } from "bun:test";
import fc from "fast-check";
import { spliceBody } from "#domain/received/splice-body.ts";
import { BodyMemory } from "#http/chat-body/memory/body-memory.ts";
import { policy } from "#pipeline/assess/fixtures.ts";
import { privacyEngine } from "#privacy/engine.ts";
import { ScanMemory, WorkLimit } from "#privacy/memory/scan-memory.ts";
import { CredentialNotReplaceable, type RedactedBody } from "#privacy/redaction.ts";
import { line, requestIn, token } from "./bodies.ts";

const other = `glpat-${"x7Gk2mQ9vB4nT1zR8wYc"}`;
const privateKey = `-----BEGIN RSA PRIVATE KEY-----\n${"MIIEpAIBAAKCAQEA7x9Qm2Lk\n".repeat(6)}-----END RSA PRIVATE KEY-----`;
const quoted = (text: string) => JSON.stringify(text);
const inText = (text: string) => `{"role":"user","content":${quoted(text)}}`;
const inCall = (json: string) =>
  `{"role":"assistant","content":null,"tool_calls":[{"id":"call_1","type":"function","function":{"name":"f","arguments":${quoted(json)}}}]}`;

/** Messages in which something is found, in all the ways in which it can be written. */
const withFindings = [
  inText(`Deploy with ${token}.`),
  inText(`${token} and ${other} and ${token} again`),
  inText(`“é” ${other}\n\\ \u{1f511} ${token}`),
  inText(`the key:\n${privateKey}\n`),
  inText("password: kT9!xw42Qz$v"),
  inText("kT9!xw42Qz$v is the password: kT9!xw42Qz$v"),
  inText(`[REDACTED:github_token:3] is not ${token}`),
  inText(`before \\n${token} in a log line`),
  // Written in ways that a JSON writer does not choose.
  `{ "role" : "user",\t"content" : "caf\\u00e9 \\/ ${token} \\u0041" }`,
  `{"content":"${token.slice(0, 9)}\\u${token.charCodeAt(9).toString(16).padStart(4, "0")}${token.slice(10)}","role":"user"}`,
  `{"role":"user","content":"key \\u002d\\u002d ${other}"}`,
  inCall(JSON.stringify({ path: "a.ts", text: `export ${token}` })),
  inCall(JSON.stringify({ command: `echo "${token}"\necho '${other}'` })),
  inCall(JSON.stringify({ text: privateKey })),
  inCall('{"card": 4111111111111111, "password": 918273645546372}'),
  inCall(`not JSON with ${token}`),
  // In parts, and across them.
  `{"role":"user","content":[{"type":"text","text":${quoted(`a ${token}`)}},{"type":"text","text":"b"}]}`,
  `{"role":"user","content":[{"type":"text","text":"${token.slice(0, 20)}"},{"type":"text","text":"${token.slice(20)}"}]}`,
  // Beside a place that holds the same, and is not replaced.
  `{"role":"tool","tool_call_id":"kT9!xw42Qz$v","content":"password: kT9!xw42Qz$v"}`,
];
/** Nothing can stand in its place. */
const refused = `{"role":"tool","tool_call_id":"${token}","content":"ok"}`;
const plain = fc
  .tuple(fc.nat(99), fc.integer({ min: 1, max: 90 }))
  .map(([seed, lines]) => inText(`${seed}\n${line.repeat(lines)}`));
const conversation = fc.array(
  fc.oneof(
    { weight: 200, arbitrary: plain },
    { weight: 100, arbitrary: fc.constantFrom(...withFindings) },
    { weight: 1, arbitrary: fc.constant(refused) },
  ),
  { minLength: 24, maxLength: 48 },
);
const bodyOf = (messages: readonly string[], before = "") =>
  `{${before}"model":"smart-router","messages":[${messages.join(",")}]}`;
const long = inText(line.repeat(240));

/** What a redaction has come to, with what the upstream would receive, and what an answer with each placeholder would become. */
function outcomeOf(redact: () => RedactedBody, send: (redacted: RedactedBody) => unknown): unknown {
  try {
    const redacted = redact();
    const { total, findings, unredactable, restore } = redacted;
    const answer = JSON.stringify(redacted.body).match(/\[REDACTED:\w+:\d+\]/g) ?? [];
    return { total, findings, unredactable, sent: send(redacted), restored: answer.map((each) => restore?.text(each)) };
  } catch (error) {
    if (error instanceof CredentialNotReplaceable) return { rule: error.rule, path: error.path };
    throw error;
  }
}

test("messages with known secrets are sent as if they were read again, at every turn", () => {
  const privacy = { ...policy.privacy, personal_data: true };
  const anew = (restore: "off" | "text") => privacyEngine({ ...privacy, restore, scan_memory_bytes: 0 });
  const byRestore = { off: anew("off"), text: anew("text") };
  let spliced = 0;
  fc.assert(
    fc.property(
      conversation,
      fc.constantFrom("off", "text"),
      fc.constantFrom(60_000, 8_000_000),
      (all, restore, bytes) => {
        const memory = new BodyMemory();
        const engine = privacyEngine({ ...privacy, restore, scan_memory_bytes: bytes });
        for (let count = all.length - 6; count <= all.length; count++) {
          // A further secret before them gives the others new numbers.
          const before = count % 2 === 0 ? `"metadata":{"note":"${other}"},` : "";
          const json = bodyOf([long, ...all.slice(0, count)], before);
          const { body, received } = requestIn(json, memory);
          if (received === undefined) throw new Error("unreachable: nothing in it is unusual");
          const whole = JSON.parse(json);
          const expected = outcomeOf(
            () => byRestore[restore].redactBody(whole),
            (redacted) => redacted.body,
          );
          for (const redact of [engine.redactBody, engine.redactKnownBody]) {
            const found = outcomeOf(
              () => redact(body, received) ?? engine.redactBody(body, received),
              (redacted) => {
                const sent = Buffer.concat(spliceBody(redacted.body, received)).toString();
                const parsed = JSON.parse(sent);
                expect(JSON.parse(JSON.stringify(redacted.body))).toEqual(parsed);
                if (sent.includes("caf\\u00e9 \\/ [REDACTED:")) spliced++;
                return parsed;
              },
            );
            expect(found).toEqual(expected);
          }
        }
      },
    ),
    { numRuns: 60 },
  );
  expect(spliced).toBeGreaterThan(20);
}, 60_000);

test("a known message keeps all of its bytes but those of its secrets", () => {
  const memory = new BodyMemory();
  const engine = privacyEngine(policy.privacy);
  const written = `{ "role" : "user",\t"content" : "caf\\u00e9 ${token} and ${other} \\/ ${token}" }`;
  for (let turn = 0; turn < 40; turn++) {
    const messages = [
      long,
      written,
      ...Array.from({ length: turn }, (_, index) => inText(`${index} ${line.repeat(9)}`)),
    ];
    const json = bodyOf(messages);
    const { body, received } = requestIn(json, memory);
    if (received === undefined) throw new Error("unreachable: nothing in it is unusual");
    const redacted = engine.redactBody(body, received);
    expect(redacted.findings).toEqual([
      { rule: "github_token", count: 2, messageIndex: 1 },
      { rule: "gitlab_token", count: 1, messageIndex: 1 },
    ]);
    const expected = json.replaceAll(token, "[REDACTED:github_token:1]").replaceAll(other, "[REDACTED:gitlab_token:2]");
    expect(Buffer.concat(spliceBody(redacted.body, received)).toString()).toBe(expected);
  }
});

test("places are not remembered once texts were left out", () => {
  const memory = new ScanMemory(() => [], 1_000_000, { hits: 0, misses: 0 });
  const message = Buffer.from(inText(token));
  const places = [{ start: 28, end: 68, rule: "github_token" }];
  const limit = new WorkLimit(100);
  limit.take(200);
  expect(memory.runs(limit).rememberPlaces(message, places)).toBeUndefined();
  const tag = memory.runs().rememberPlaces(message, places);
  if (tag === undefined) throw new Error("unreachable: nothing was left out");
  expect(memory.runs().placesIn(tag)).toEqual(places);
  expect(memory.runs(limit).placesIn(tag)).toBeUndefined();
  // The same bytes as a run of messages are not a clean run.
  expect(memory.runs().foundIn({ bytes: message, known: undefined })).toBeUndefined();
});
