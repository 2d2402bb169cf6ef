import type { Asks } from "./asks.ts";
import { assistant, guardedAsk as G, plainAsk as P, type Request, system, used, user } from "./build.ts";
import type { Output } from "./outputs.ts";

const ask = { is: "ask", ask: P, guarded: false } as const;
const guarded = { is: "ask", ask: G, guarded: true } as const;
const turn = { is: "turn", ask: P, guarded: false } as const;
const guardedTurn = { is: "turn", ask: G, guarded: true } as const;
const own = { is: "housekeeping" } as const;
const ran = (command: string) => ({ command });
const tool = (name: string) => ({ name });

/** A third set, in forms far from those of the first two, written after the rules had been changed for these. */
export const requests: readonly Request[] = [
  {
    from: "yaml-like frame",
    ...guarded,
    messages: [
      system("You are an ops agent."),
      user(`role: engineer\ncwd: /w\nuser_request: |\n  ${G}\nrules:\n  - be brief`),
    ],
  },
  {
    from: "sections with equals",
    ...ask,
    messages: [
      user(
        `=== SYSTEM INFO ===\nos: linux\nservices: login, payments\n\n=== USER REQUEST ===\n${P}\n\n=== RESPONSE FORMAT ===\nJSON`,
      ),
    ],
  },
  {
    from: "slack bridge",
    ...ask,
    messages: [system("You answer in Slack."), user(`<@U123> asked in #dev:\n> ${P}`)],
    tools: ["bash"],
  },
  {
    from: "github bot",
    ...guarded,
    messages: [user(`Repository: acme/shop\nIssue #12 by @ada\nTitle: Tokens live too long\n\nBody:\n${G}`)],
    tools: ["bash"],
  },
  {
    from: "step result in the user's role",
    ...turn,
    failed: true,
    messages: [
      user(P),
      assistant("```bash\nnpm test\n```"),
      user("Step 1 finished with exit code 1.\nOutput:\n2 failing"),
    ],
  },
  {
    from: "tool error in user role",
    ...turn,
    failed: true,
    messages: [
      user(P),
      assistant('<invoke name="bash"><parameter name="command">make</parameter></invoke>'),
      user("<function_results>\n<error>make: *** No rule to make target 'x'. Stop.</error>\n</function_results>"),
    ],
  },
  {
    from: "budget note",
    ...guardedTurn,
    messages: [
      user(G),
      ...used("bash", { command: "ls" }, "src"),
      user("You have 3 turns left. Finish your work and submit your answer."),
    ],
    tools: ["bash"],
  },
  {
    from: "no submission",
    ...guardedTurn,
    messages: [
      user(G),
      assistant("I looked."),
      user("You have not submitted a solution yet. Keep working until the task is complete."),
    ],
    tools: ["bash"],
  },
  {
    from: "lint feedback by the harness",
    ...turn,
    messages: [
      user(P),
      ...used("edit_file", { path: "a.ts" }, "ok"),
      user("<lint_errors>\na.ts:3:1 error 'x' is not defined\n</lint_errors>\nPlease fix the lint errors above."),
    ],
    tools: ["edit_file"],
  },
  {
    from: "steering message while it works",
    is: "ask",
    ask: "Use the second table, not the first",
    guarded: false,
    messages: [user(P), ...used("bash", { command: "ls" }, "src"), user("Use the second table, not the first")],
    tools: ["bash"],
  },
  {
    from: "handoff between agents",
    ...guarded,
    messages: [system("You are the security engineer."), user(`[Handoff from planner]\n${G}`)],
    tools: ["bash"],
  },
];

export const housekeeping: readonly Request[] = [
  {
    from: "thread name",
    ...own,
    messages: [
      system("You name threads. Given the opening message, output a name of two to four words in lower case."),
      user(G),
    ],
  },
  {
    from: "pr title",
    ...own,
    messages: [
      system("Generate a pull request title from the branch's commits. Output only the title."),
      user("revoke tokens\nfix tests"),
    ],
  },
  {
    from: "recap for resume",
    ...own,
    messages: [
      system("Write a one-paragraph recap of the session so that the user remembers where they left off. No lists."),
      user(`user: ${G}\nassistant: done`),
    ],
  },
  {
    from: "topics",
    ...own,
    messages: [system("Extract up to three topics from the message as a JSON array of lowercase strings."), user(G)],
  },
  {
    from: "priority",
    ...own,
    messages: [system("Assign a priority from P0 to P4 to the ticket. Reply with the priority only."), user(G)],
  },
  {
    from: "translate ui",
    ...own,
    messages: [
      system("Translate the following UI string to German. Keep placeholders. Return only the translation."),
      user("Log out of all sessions"),
    ],
  },
  {
    from: "proofread",
    ...own,
    messages: [
      system("Correct spelling and grammar of the text. Do not change its meaning. Return only the corrected text."),
      user(G),
    ],
  },
  {
    from: "needs search",
    ...own,
    messages: [system("Decide if answering the user's message requires a web search. Output true or false."), user(G)],
  },
  {
    from: "not: a system prompt of a domain assistant",
    is: "ask",
    guarded: true,
    messages: [system("You are a senior backend engineer. Answer briefly and only in English."), user(G)],
  },
  {
    from: "not: SQL only",
    is: "ask",
    messages: [
      system("You translate questions into PostgreSQL. Return only the SQL."),
      user("Which customers ordered in each of the last twelve months and what did each spend on average per quarter?"),
    ],
  },
  {
    from: "not: quiz answer",
    is: "ask",
    messages: [
      system("Answer the multiple choice question. Reply with the letter only."),
      user("A ball is thrown upwards at 20 m/s. When does it land?\nA. 2 s\nB. 4 s\nC. 6 s"),
    ],
  },
];

export const asks: Asks = {
  en: {
    guarded: [
      "Support can read every customer's messages, they should only see their own tickets",
      "Our webhook endpoint accepts anything, check who sends it",
      "Roll back the migration that dropped the emails column in prod",
    ],
    ordinary: ["Add a cancel button to the export dialog", "Sort tokens in the autocomplete by length"],
  },
  es: { guarded: ["Los reembolsos se procesan dos veces"], ordinary: ["Haz el botón de pago más grande"] },
  ja: { guarded: ["管理者以外でもユーザー一覧を閲覧できてしまうので直して"], ordinary: ["パスワード欄の幅を広げて"] },
  ko: {
    guarded: ["로그에 주민등록번호가 그대로 찍히고 있어요. 가려 주세요"],
    ordinary: ["결제 버튼을 오른쪽으로 옮겨 주세요"],
  },
  zh: { guarded: ["离职员工的账号还能登录后台"], ordinary: ["把令牌数显示在右下角"] },
  ru: { guarded: ["Уволенные сотрудники всё ещё могут войти в систему"], ordinary: ["Сделай поле пароля шире"] },
  vi: { guarded: ["Người dùng thường gọi được API của quản trị viên"], ordinary: ["Làm ô mật khẩu rộng hơn"] },
  tr: { guarded: ["Parola sıfırlama bağlantısı hiç dolmuyor"], ordinary: ["Şifre kutusunu genişlet"] },
};

export const outputs: readonly Output[] = [
  [
    "go vet",
    ran("go vet ./..."),
    "# shop/pay\n./pay.go:9:2: unreachable code\nvet: ./pay.go:3:8: undeclared name: json",
    true,
  ],
  [
    "tsc, watch-like",
    ran("npx tsc --noEmit"),
    "src/a.ts:3:1 - error TS2304: Cannot find name 'json'.\n\nFound 1 error in src/a.ts:3",
    true,
  ],
  [
    "vitest, passed",
    ran("npx vitest run"),
    " ✓ src/error.test.ts (3 tests) 4ms\n\n Test Files  1 passed (1)\n      Tests  3 passed (3)",
    false,
  ],
  ["jest, one failed", ran("npx jest"), "Tests:       1 failed, 3 passed, 4 total\nSnapshots:   0 total", true],
  [
    "pylint",
    ran("pylint src"),
    "src/export.py:3:0: E0602: Undefined variable 'json' (undefined-variable)\n\nYour code has been rated at 8.33/10",
    true,
  ],
  ["flake8", ran("flake8 src"), "src/export.py:1:1: F401 'json' imported but unused", true],
  ["flake8 clean", ran("flake8 src"), "", false],
  ["gradle up to date", ran("./gradlew build"), "BUILD SUCCESSFUL in 1s\n4 actionable tasks: 4 up-to-date", false],
  [
    "helm, failed",
    ran("helm upgrade shop ./chart"),
    "Error: UPGRADE FAILED: another operation (install/upgrade/rollback) is in progress",
    true,
  ],
  [
    "aws cli",
    ran("aws s3 cp a s3://b"),
    "upload failed: ./a to s3://b/a An error occurred (AccessDenied) when calling the PutObject operation: Access Denied",
    true,
  ],
  [
    "ansible ok",
    ran("ansible-playbook site.yml"),
    "PLAY RECAP ****\nhost1 : ok=3 changed=1 unreachable=0 failed=0 skipped=0",
    false,
  ],
  [
    "ansible failed",
    ran("ansible-playbook site.yml"),
    "PLAY RECAP ****\nhost1 : ok=2 changed=0 unreachable=0 failed=1 skipped=0",
    true,
  ],
  ["MCP structured", tool("mcp__jira__create"), '{"error":{"code":400,"message":"summary is required"}}', true],
];
