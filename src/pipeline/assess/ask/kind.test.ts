import { describe, expect, test } from "bun:test";
import { levels, type TaskKind } from "#domain/routing.ts";
import { assessed } from "#pipeline/assess/fixtures.ts";
import { judgedAsks, judgedSets } from "../../../../bench/routing/guarded-asks.ts";
import { type Row, routingDev } from "../../../../bench/routing/prompt-data.ts";

const task = (ask: string) => assessed({ ask }).task;
const guarded: readonly TaskKind[] = ["SECURITY", "AUTH", "PAYMENT", "DESTRUCTIVE_MIGRATION"];

describe("the kind of an ask", () => {
  test.each<[TaskKind, string]>([
    ["CODING", "Implement a binary search tree in Go"],
    ["CODING", "Écris une fonction qui trie une liste"],
    ["CODING", "写一个函数，反转字符串"],
    ["DEBUG", "Why does this crash with a TypeError after the upgrade?"],
    ["DEBUG", "Traceback (most recent call last):\n  File \"a.py\", line 3, in <module>\n    f()\nKeyError: 'x'"],
    ["ARCHITECTURE", "Design an event-driven order system for three warehouses"],
    ["SECURITY", "Fix the XSS vulnerability in the comment form"],
    ["AUTH", "Add OAuth login with Google"],
    ["PAYMENT", "Add Stripe checkout to the shop"],
    ["DESTRUCTIVE_MIGRATION", "Drop the table legacy_users and purge its backups"],
    ["TEST", "Write unit tests for the parser"],
    ["TEST", "为支付模块写单元测试"],
    // One part of a larger list is not the subject of the work; before the list, twice or alone it is.
    ["CODING", "Build a web service with paging, authentication, caching and logs"],
    ["CODING", "Erstelle eine API mit Suche, Cache, Anmeldung und Export"],
    ["AUTH", "Build a login for the web service with paging, caching and logs"],
    ["AUTH", "Build a web service with OAuth login, paging, and logs"],
    ["AUTH", "Protect the web service with authentication, limits, and logs"],
    // A verb inside a name is not a demand.
    [
      "DEBUG",
      `auth_update_user fails since the upgrade. ${"The client has no attribute session any more. ".repeat(8)}`,
    ],
    ["SECURITY", "Add input validation to the upload endpoint"],
    ["DEBUG", "regression in input validation of the metrics module"],
    ["AUTH", "Look at every file and rotate the refresh tokens of the login in production"],
    ["AUTH", "Review auth.ts and make the session expire after logout"],
    ["PAYMENT", "Have a look at the checkout and fix the double charge"],
    ["OTHER", "Look at how refunds are calculated and add a test"],
    ["OTHER", "Review the session handling and tell me what to change"],
    ["OTHER", "Look at the file and rotate the image"],
    ["SUMMARIZE", "Summarize the meeting notes below"],
    ["CLASSIFY", "Classify these tickets by product"],
    ["PUBLIC_REVIEW", "Review this open source pull request"],
    ["RESEARCH", "Compare Kafka and Pulsar for our load"],
    ["OTHER", "Tell me a joke"],
    ["OTHER", "Fix the grammar in this sentence"],
    ["OTHER", "Plan a three day trip to Rome"],
    ["OTHER", "What is OAuth?"],
    ["DEBUG", "Tests pass locally but fail in CI, what is going on?"],
    ["TEST", "Cover the error paths of the uploader with tests"],
    ["SECURITY", "Check our dependencies for known CVEs and patch them"],
    ["AUTH", "Users get logged out after five minutes, extend the session lifetime"],
    ["PAYMENT", "Retry failed card payments after three days"],
    ["DESTRUCTIVE_MIGRATION", "Delete all users inactive since 2019 from the production database"],
    ["DESTRUCTIVE_MIGRATION", "Migrate the primary keys from int to uuid in place on the live database"],
    ["SUMMARIZE", "Explain this long email in two sentences"],
    ["CODING", "Remove duplicate rows from a list in Python"],
    ["SECURITY", "Design a zero-trust security architecture with mutual TLS"],
    ["DEBUG", "Our job queue occasionally hands the same item to two consumers"],
    ["CODING", "Implement dependency injection in the service container"],
    ["CODING", "Drop unique_together from the Meta class and use UniqueConstraint"],
    ["CODING", "Drop support for Python 3.7"],
    ["CODING", "Remove all the old comments from the server module"],
    ["CODING", "関数を書いてください。リストを逆順にする"],
    ["DEBUG", "The payment gateway returns 3DS failures intermittently. Where do I start?"],
    ["SUMMARIZE", "이 회의록을 요약해 줘"],
    ["TEST", "パーサーの単体テストを書いてください"],
    ["DEBUG", "왜 이 함수가 가끔 실패하는지 원인을 찾아 줘"],
  ])("%s: %s", (kind, ask) => {
    expect(task(ask).kind).toBe(kind);
  });

  test.each([
    "Summarize this auth doc",
    "Explain how OAuth works",
    "Write tests for the payment module",
    "What is SQL injection?",
    "Fix the colour of the login button",
    "Translate the checkout page's title",
    "Put each of these payment complaints into a category",
    "Add a check that the two roots have opposite sign",
    "I signed up for the newsletter yesterday; add a note to that page",
    "Fix the function signature of parse()",
    "Delete the unused import in users.py",
    "Count the tokens in each chunk and split at max tokens",
    "Чем отличается аутентификация от авторизации?",
    "인증과 인가의 차이를 설명해줘",
    "OAuth क्या है, समझाओ",
    "The sidebar flickers.\n\n- [x] This is not a security vulnerability",
  ])("the action takes precedence over the subject: %s", (ask) => {
    expect(guarded).not.toContain(task(ask).kind);
    expect(levels.indexOf(task(ask).risk_level)).toBeLessThan(levels.indexOf("HIGH"));
  });
});

describe("guarded asks in twelve languages", () => {
  const cases = judgedAsks.flatMap(({ language, kind, prompt }) =>
    language === undefined || kind === undefined ? [] : [[language, kind, prompt] as const],
  );
  test.each(cases)("%s: %s: %s", (_, kind, ask) => {
    const { kind: found, risk_level } = task(ask);
    expect(found).toBe(kind);
    expect(levels.indexOf(risk_level)).toBeGreaterThanOrEqual(levels.indexOf("HIGH"));
  });
});

describe("risk", () => {
  test("changing something guarded is high, destroying it in production is critical", () => {
    expect(task("Add OAuth login with Google").risk_level).toBe("HIGH");
    expect(task("Add Stripe checkout to the shop").risk_level).toBe("HIGH");
    expect(task("Drop the table legacy_users from the production database").risk_level).toBe("CRITICAL");
  });
});

test("the placeholder of a redacted credential is not a guarded term", () => {
  expect(task("why? [REDACTED:github_token:1]").kind).not.toBe("SECURITY");
  expect(task("Rename this variable. Key: [REDACTED:api_key:2] ok?").risk_level).toBe(
    task("Rename this variable. Key: abc ok?").risk_level,
  );
});

describe("asks written to judge the rules", () => {
  const isGuarded = (ask: string) => guarded.includes(task(ask).kind) && levels.indexOf(task(ask).risk_level) >= 2;
  const takenFor = (asks: readonly string[]) => asks.filter((ask) => isGuarded(ask)).length;

  const least: Readonly<Record<string, readonly [recall: number, precision: number]>> = {
    first: [0.95, 0.98],
    "second, development": [0.95, 0.95],
    "third, development": [0.9, 0.95],
    "fourth, development": [0.9, 0.95],
    "second, held out until the end": [0.9, 0.9],
  };
  test.each(judgedSets())("$name: recall and precision of guarded asks", ({ name, guarded: asked, ordinary }) => {
    const [recall, precision] = least[name] ?? [1, 1];
    const [right, wrong] = [takenFor(asked), takenFor(ordinary)];
    expect(right / asked.length).toBeGreaterThanOrEqual(recall);
    expect(right / (right + wrong)).toBeGreaterThanOrEqual(precision);
  });
});

describe("concepts that make an ask guarded only in combination", () => {
  test.each([
    ["SECURITY", "Our logs contain passwords in plain text", "Our logs contain timestamps in plain text"],
    ["SECURITY", "Les mots de passe apparaissent dans les logs", "Les dates apparaissent dans les logs"],
    ["SECURITY", "Rotate the keys that were committed", "Sort the keys that were added"],
    ["AUTH", "The reset link never expires", "The reset button never moves"],
    ["AUTH", "Viewers can delete projects of other users", "Viewers can sort projects by name"],
    ["AUTH", "Каждый пользователь видит чужие файлы", "Каждый пользователь видит новые файлы"],
    ["PAYMENT", "Subscribers pay twice after a timeout", "Workers start twice after a timeout"],
    ["PAYMENT", "고객에게 두 번 청구됐어요", "고객에게 두 번 표시됐어요"],
    ["DESTRUCTIVE_MIGRATION", "Wipe the customers of the old shop from prod", "Wipe the dust of the old screen"],
    ["DESTRUCTIVE_MIGRATION", "Limpia la base de datos de producción", "Limpia el código de la función"],
  ] as const)("%s: %s; not: %s", (kind, together, apart) => {
    expect(task(together).kind).toBe(kind);
    expect(guarded).not.toContain(task(apart).kind);
  });

  test.each([
    ["a list of words", "vault, lock, key, password, rotate, bank, hat"],
    ["a riddle with numbers", "Ann pays 5 coins twice a day for 3 days and gets 2 back. How much has she paid?"],
    ["a function's name", "charge() returns NaN when the mass is zero"],
    ["a page about it", "Align the total of the invoice to the right"],
    ["a document about it", "Write a runbook for rotating the API keys"],
  ])("but not in %s", (_, ask) => {
    expect(guarded).not.toContain(task(ask).kind);
  });
});

const data = routingDev();
if (data === undefined) test.skip("labelled kinds: no routing development data at ../shared/routing-dev", () => {});
else {
  describe("on labelled asks", () => {
    const labelled = (source: string) => (data.get(source) ?? []).filter((row) => row.kind !== undefined);
    const share = (rows: readonly Row[], right: (row: Row) => boolean) => rows.filter(right).length / rows.length;

    test("nine kinds of ten are correct", () => {
      for (const source of ["kinds-authored", "uncommonroute-tiers"]) {
        expect(share(labelled(source), (row) => task(row.prompt).kind === row.kind)).toBeGreaterThan(0.9);
      }
    });

    test("at most one in a thousand prompts without a guarded label is taken for guarded", () => {
      const others = [...data.values()].flat().filter((row) => !guarded.some((kind) => kind === row.kind));
      const isHigh = ({ prompt }: Row) => {
        const { kind, risk_level } = task(prompt);
        return guarded.includes(kind) && levels.indexOf(risk_level) >= 2;
      };
      expect(share(others, isHigh)).toBeLessThanOrEqual(0.001);
    });

    test("questions without risk are almost never taken for guarded work", () => {
      const harmless = [
        "llmrouter-natural-qa",
        "llmrouter-gsm8k",
        "llmrouter-arc-challenge",
        "llmrouter-mbpp",
        "zeroeval-math-l5",
      ];
      for (const source of harmless) {
        expect(share(data.get(source) ?? [], (row) => guarded.includes(task(row.prompt).kind))).toBeLessThan(0.02);
      }
    });
  });
}

test("a long report that money moved wrongly is about payments, though its steps are numbered", () => {
  const report = `Bug: [SHOP-4711] customers pay twice when the page is reloaded

**Steps to reproduce**
1. Put something into the cart
2. Pay with a card
3. Reload while the spinner turns
4. Look at the statement of the card a day later, when the bank shows both

**Expected** one debit on the statement of the customer
**Actual** two debits, and a mail for each of them`;
  expect(assessed({ ask: report }).task.kind).toBe("PAYMENT");
});
