import {
  type CommandSpec,
  endOfDay,
  keysOfFile,
  onLedger,
  settingsInForce,
  shellOperator,
  usd,
  wholeNumber,
} from "#cli/options.ts";
import { type Result, textTable } from "#cli/output.ts";
import type { NanoUsd } from "#domain/money/money.ts";
import { addKey, listKeys, revokeKey } from "#operator/keys.ts";

const label: CommandSpec["arguments"] = [["<label>", "who uses it: letters, digits, or . _ @ -"]];

/** The tokens of callers: each may have a cap, a rate and an end. */
export const commands: readonly CommandSpec[] = [
  {
    name: "keys list",
    summary: "print callers' keys: today's spend against the cap, last use; without a command too",
    isDefault: true,
    run: list,
  },
  {
    name: "keys add",
    summary: "make a token for a caller and print it, once; every gateway on the database accepts it within a second",
    arguments: label,
    options: [
      ["--day-usd <amount>", "what all tokens of the label may spend in a UTC day, in US dollars", usd("down")],
      ["--rpm <count>", "requests a minute that each gateway process takes of it", wholeNumber(1, 9_999_999)],
      ["--expires <YYYY-MM-DD>", "the last UTC day on which it is accepted", endOfDay],
    ],
    example: "smart-gateway keys add ci --day-usd 5 --expires 2027-03-31",
    run: add,
  },
  {
    name: "keys revoke",
    summary: "withdraw all tokens of a label: every gateway on the database refuses them within a second",
    arguments: label,
    example: "smart-gateway keys revoke ci",
    run: revoke,
  },
];

const known = () => ({ ofFile: keysOfFile(), nowMs: Date.now() });

async function list(): Promise<Result> {
  const keptMs = 30 * 86_400_000;
  const keys = await onLedger((stores) => listKeys(stores, { ...known(), keptMs }));
  const columns = [
    ..."label state from spent_today_nano_usd held_nano_usd".split(" "),
    ..."day_hard_nano_usd rpm expires_ms last_used_ms".split(" "),
  ];
  const none = `There are no keys: every token of ${settingsInForce().authMinTokenLength} characters is accepted.`;
  return { value: { keys }, text: keys.length === 0 ? none : textTable(keys, columns) };
}

interface AddOptions {
  readonly dayUsd?: NanoUsd;
  readonly rpm?: number;
  readonly expires?: number;
}

async function add(label: string, { dayUsd: dayHard, rpm, expires: expiresMs }: AddOptions): Promise<Result> {
  const key = await onLedger((stores) => addKey(stores, { label, dayHard, rpm, expiresMs }, shellOperator(), known()));
  const first = key.first
    ? "\n\nIt is the first key: from now on gateways on this database refuse all other tokens."
    : "";
  const once = `This is the token of ${label}. It is not stored and cannot be shown again.`;
  return { value: key, text: `${key.token}\n\n${once} ${soon}${first}` };
}

const soon = "Every gateway on this database accepts it within a second; until then callers get 401.";

async function revoke(label: string): Promise<Result> {
  const value = await onLedger((stores) => revokeKey(stores, label, shellOperator(), known()));
  return { value, text: `${label} is revoked. Every gateway on this database refuses it within a second.` };
}
