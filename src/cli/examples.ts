import type { Example } from "./help.ts";

/** What each command's help ends with, by the words that are typed; every command without subcommands has some. */
export const examples: { readonly [path: string]: readonly Example[] } = {
  serve: [
    ["smart-gateway serve", "demo mode: answers come from a simulator"],
    ["UPSTREAM_API_KEY=… PORT=9000 smart-gateway serve", "with your aggregator's key, on port 9000"],
  ],
  init: [
    ["smart-gateway init", "asks for key, caps and policy, and writes .env, policy.yaml and models.yaml here"],
    ["smart-gateway init gateway --yes --per-day-usd 10", "asks nothing; a hard cap of 10 USD a day"],
  ],
  doctor: [
    ["smart-gateway doctor", "everything, also the upstream and your key; costs nothing"],
    ["smart-gateway doctor --offline --json", "without asking another machine, for scripts"],
  ],
  route: [
    ["smart-gateway route 'rename a variable'", "where these words would go, and why"],
    ["smart-gateway route --file body.json --json", "the decision about a chat body"],
    ["smart-gateway route 'fix the login' --risk-level HIGH --kind AUTH", "with task fields stated"],
  ],
  "demo traffic": [
    [
      "smart-gateway demo traffic",
      "ninety requests of every kind to the demo that runs here; watch them at /dashboard",
    ],
    ["smart-gateway demo traffic --requests 1000 --per-second 50", "faster, and more of them"],
  ],
  explain: [
    ["smart-gateway explain 0198f5a0-6c5e-7c11-9d2e-0c5a7d1f2b3c", "the sentence, the stages, the nearest changes"],
    ["smart-gateway explain my-request-1 --json | jq .explanation.would_change", "only what would have changed it"],
  ],
  "decisions tail": [
    ["smart-gateway decisions tail", "all decisions, as they are made"],
    ["smart-gateway decisions tail --outcome refused --refused-by gateway", "only what the gateway has refused"],
    [
      "smart-gateway decisions tail --goal s1/refactor --json | jq .cost_nano_usd",
      "one goal's cost, request by request",
    ],
  ],
  "decisions show": [["smart-gateway decisions show my-request-1 --json", "the whole record"]],
  "decisions export": [
    ["smart-gateway decisions export --since 30d > decisions.jsonl", "everything of the last 30 days"],
    ["smart-gateway decisions export --format csv --since 2026-11-01 > november.csv", "for a spreadsheet"],
  ],
  "policy backtest": [
    ["smart-gateway policy backtest new.yaml", "the last 30 days under new.yaml"],
    [
      "smart-gateway policy backtest new.yaml --since 7d --json | jq .after.cost_nano_usd",
      "what a week would have cost",
    ],
  ],
  "policy check": [["smart-gateway policy check policy.yaml", "all its problems; exit code 2 if there is one"]],
  "policy show": [
    ["smart-gateway policy show", "what is in force"],
    ["smart-gateway policy show policy.yaml --changed", "only what differs from the defaults"],
  ],
  "policy diff": [
    ["smart-gateway policy diff new.yaml", "what new.yaml would change of the policy in force"],
    ["smart-gateway policy diff old.yaml new.yaml --json", "between two files, for scripts"],
  ],
  "policy schema": [["smart-gateway policy schema > policy.schema.json", "for an editor that completes and checks"]],
  "models list": [
    ["smart-gateway models", "models, roles, prices, and where each price comes from"],
    ["smart-gateway models list models.yaml --json", "a file that is not in force yet"],
  ],
  "models sync": [
    ["smart-gateway models sync", "what differs, higher prices first, and which hosts stay within your prices"],
    ["smart-gateway models sync models.yaml --write", "take the listed prices over into models.yaml"],
  ],
  "models disable": [["smart-gateway models disable vendor_v4_pro", "no more traffic for it, on every node"]],
  "models enable": [["smart-gateway models enable vendor_v4_pro", "back into service"]],
  "models reset": [["smart-gateway models reset vendor_v4_pro", "clear its failures; the next request probes it"]],
  "budgets show": [
    ["smart-gateway budgets", "days and goals: spent, held, left"],
    ["smart-gateway budgets show --limit 5 --json", "the newest days and largest goals, for scripts"],
  ],
  "budgets audit": [
    ["smart-gateway budgets audit", "proves that every account balances; exit code 1 when one does not"],
  ],
  "budgets set": [
    ["smart-gateway budgets set --day today --hard-usd 7.50", "today's hard cap"],
    ["smart-gateway budgets set --session team --goal release --clear", "a goal back to the policy's cap"],
  ],
  "budgets holds": [
    ["smart-gateway budgets holds", "money that is held now, and by what"],
    ["smart-gateway budgets holds --charged", "also what was charged because the cost is unknown"],
  ],
  "budgets settle": [["smart-gateway budgets settle ID --usd 0.0187 --why 'invoice'", "what the call has really cost"]],
  "budgets release": [
    ["smart-gateway budgets release ID", "the call was not billed"],
    ["smart-gateway budgets release --unresolved", "no call of unknown outcome was billed"],
  ],
  "budgets reconcile": [
    ["smart-gateway budgets reconcile", "today: asks the aggregator now, which costs nothing"],
    ["smart-gateway budgets reconcile --day 2026-03-01", "that day, as gateways last read it before midnight (UTC)"],
  ],
  statusline: [
    ["smart-gateway statusline", "today's spend, and the model that answered last"],
    ["smart-gateway statusline --session team --goal release", "that goal's"],
    [
      '"statusLine": {"type": "command", "command": "smart-gateway statusline"}',
      "in the settings of Claude Code, which passes its session on standard input",
    ],
  ],
  "privacy scan": [
    ["smart-gateway privacy scan notes.txt", "the findings, and the redacted text"],
    ["git diff | smart-gateway privacy scan - --json", "for scripts"],
  ],
  backup: [["smart-gateway backup /backups/gateway.db", "a consistent copy, also while gateways run"]],
  completion: [
    ['eval "$(smart-gateway completion bash)"', "in ~/.bashrc"],
    ["smart-gateway completion zsh > ~/.zfunc/_smart-gateway", "into a folder of $fpath"],
    ["smart-gateway completion fish > ~/.config/fish/completions/smart-gateway.fish", "for fish"],
  ],
};
