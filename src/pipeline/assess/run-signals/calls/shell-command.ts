/** What a shell command does, as far as its text tells. One line may do several things. */
export interface CommandEffect {
  /** Writes, moves or removes files. */
  readonly changes: boolean;
  /** Takes changes back: the edit before it was given up. */
  readonly reverts: boolean;
  /** Runs something whose exit status says whether the work is right: a test, a build, a script. */
  readonly runs: boolean;
}

const readingPrograms: ReadonlySet<string> = new Set(
  (
    "cat grep egrep fgrep rg ag ack head tail ls dir find fd nl wc tree pwd cd which whereis type file stat awk gawk diff cmp echo " +
    "printf sort uniq cut tr less more du df date whoami id env printenv export set true false test [ sed jq yq xxd od " +
    "hexdump basename dirname realpath readlink sleep history man help uname hostname ps alias source . column tac rev"
  ).split(" "),
);
const changingPrograms: ReadonlySet<string> = new Set(
  "patch mv cp rm tee touch mkdir rmdir ln chmod chown truncate install rsync unzip tar".split(" "),
);
const readingGit: ReadonlySet<string> = new Set(
  "log diff show status grep blame branch rev-parse ls-files remote config describe tag shortlog reflog cat-file".split(
    " ",
  ),
);
const revertingGit: ReadonlySet<string> = new Set(["checkout", "restore", "reset", "stash", "revert"]);
/** Words in front of the program that say nothing of what it does. */
const prefixes: ReadonlySet<string> = new Set(["sudo", "time", "timeout", "nohup", "exec", "command", "env", "then"]);

const heredoc = /<<-?\s*(["']?)([A-Za-z_]\w*)\1/;
const quotedText = /"(?:[^"\\]|\\[\s\S])*"|'[^']*'/g;
/** A redirection into a file; `2>&1`, `>&2` and `> /dev/null` are none. */
const intoFile = /(?:^|[^0-9&>=<-])>{1,2}\s*(?!\/dev\/null|&|\s)[^\s;|&)]/;
/** An inline script that writes files. */
const scriptWrites = /\.write\(|write_text\(|writeFile|open\([^)\n]{1,200},\s*["'][wa]/;

/** Reads at most the first few thousand characters: what stands behind is the text of a file. */
export function effectOfCommand(command: string): CommandEffect {
  let changes = false;
  let reverts = false;
  let runs = false;
  const shown = command.slice(0, 6_000);
  if (scriptWrites.test(shown)) changes = true;
  const bare = withoutHeredocs(shown).replace(quotedText, '""');
  if (intoFile.test(bare)) changes = true;
  for (const part of bare.split(/&&|\|\||[;\n|]/)) {
    const words = part.trim().split(/\s+/);
    let at = 0;
    while (at < words.length && isPrefix(words[at] ?? "", words[at - 1])) at++;
    const program = (words[at] ?? "").replace(/^[({]+/, "").replace(/^.*\//, "");
    if (program === "" || program.startsWith("#")) continue;
    if (program === "git") {
      const verb = words.slice(at + 1).find((word) => !word.startsWith("-")) ?? "";
      if (readingGit.has(verb)) continue;
      changes = true;
      if (revertingGit.has(verb) && !/\s(?:-b|list|show)\b/.test(part)) reverts = true;
    } else if (changingPrograms.has(program) || /^(?:sed|perl)$/.test(program)) {
      if (program === "sed" || program === "perl") {
        if (/\s-\w*i/.test(part)) changes = true;
        else if (program === "perl") runs = true;
      } else changes = true;
    } else if (/^(?:pip|pip3|npm|uv)$/.test(program) && /\s(?:list|show|freeze|ls|view)\b/.test(part)) {
    } else if (!readingPrograms.has(program) && /^[\w.[+-]/.test(program)) runs = true;
  }
  return { changes, reverts, runs };
}

function isPrefix(word: string, before: string | undefined): boolean {
  return (
    prefixes.has(word) ||
    /^[A-Za-z_]\w*=/.test(word) ||
    (before !== undefined && (before === "timeout" || before.startsWith("-")) && /^[\d.]+[smh]?$/.test(word)) ||
    (before !== undefined && prefixes.has(before) && word.startsWith("-"))
  );
}

/** The command without the bodies of its here-documents. */
function withoutHeredocs(command: string): string {
  if (!command.includes("<<")) return command;
  const lines: string[] = [];
  let until: string | undefined;
  for (const line of command.split("\n")) {
    if (until !== undefined) {
      if (line.trim() === until) until = undefined;
      continue;
    }
    lines.push(line.replace(heredoc, ""));
    until = heredoc.exec(line)?.[2];
  }
  return lines.join("\n");
}
