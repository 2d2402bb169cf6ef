import { actingPrograms, shownOf, withoutQuotedText } from "./shell-command.ts";

/** The option behind which an interpreter is given a script: `python -c`, `node -e`, `perl -ne`; or that it comes from standard input. */
const scriptOption: readonly (readonly [program: RegExp, option: RegExp])[] = [
  [/^python[\d.]*$|^pypy3?$/, /^-\w*c$|^-$/],
  [/^(?:node|bun)$/, /^(?:-\w*[ep]|--eval|--print|-)$/],
  [/^(?:ruby|perl)$/, /^-\w*e$|^-$/],
  [/^php$/, /^-r$/],
  [/^deno$/, /^eval$/],
];
/** A script that reads a file or its standard input. */
const reads =
  /\bopen\(|\bread_(?:text|bytes|csv|json)\b|\breadFile|\breadlines\b|\bFile\.(?:read|open|foreach)|\bIO\.read|\bstdin\b|\bARGF\b|<>|\bfileinput\b|\bfile_get_contents\b|\bBun\.file\b|\breadTextFile|\brequire\(\s*["'][^"'\s]+\.json["']|\b(?:perl|ruby)\s+-\w*[np]\w*e\b/i;
/** A script that runs something else, whose failures count. */
const runsOthers =
  /\b(?:subprocess|os\.system|popen|exec|execfile|exec(?:File)?Sync|spawn(?:Sync)?|child_process|runpy|pytest|unittest|doctest|system)\b|`[^`]+`/i;

/** Whether a command does nothing but show, by a script in the command line, what stands in a file or comes from another program. */
export function showsByScript(command: string): boolean {
  const shown = shownOf(command);
  if (!reads.test(shown) || runsOthers.test(shown)) return false;
  const acting = actingPrograms(withoutQuotedText(shown));
  return acting.length > 0 && acting.every(({ program, args }) => isGivenScript(program, args, shown.includes("<<")));
}

function isGivenScript(program: string, args: readonly string[], hereDocument: boolean): boolean {
  const option = scriptOption.find(([name]) => name.test(program))?.[1];
  if (option === undefined) return false;
  return (
    args.some((arg) => option.test(arg)) || (hereDocument && args.every((arg) => arg === "" || arg.startsWith("-")))
  );
}

/** How interpreters name a script in the command line, where they say that it has failed. */
const failureOfScript = new RegExp(
  [
    String.raw`^ {2}File "<(?:string|stdin)>", line \d`, // Python
    String.raw`(?:^|\bat |\()\[(?:eval|stdin)\d?\]:\d|\$deno\$eval`, // Node, Bun, Deno
    String.raw`^-e?:\d+:(?:in\b| )`, // Ruby
    String.raw`^(?!Use of uninitialized)[^\n]{0,300} at -e? line \d+[.,]`, // Perl
    String.raw`^(?:PHP )?(?:Fatal|Parse) error:[^\n]{0,300}\bin Command line code\b`, // PHP
    String.raw`^(?:\S{0,40}sh: )?(?:line \d+: )?\S{1,60}: (?:command )?not found$|^'?\S{1,60}'? is not recognized as\b`,
  ].join("|"),
  "m",
);

/** Whether a script in the command line has failed itself, by what its interpreter says. */
export function scriptFailed(output: string): boolean {
  return failureOfScript.test(output);
}
