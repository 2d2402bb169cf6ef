/** What a shell command does, as far as its text tells. One line may do several things. */
export interface CommandEffect {
  /** Writes, moves or removes files. */
  readonly changes: boolean;
  /** Takes changes back: the edit before it was given up. */
  readonly reverts: boolean;
  /** Runs something whose exit status says whether the work is right: a test, a build, a script. */
  readonly runs: boolean;
}

const setOf = (words: string): ReadonlySet<string> => new Set(words.split(" "));

const readingPrograms = setOf(
  "cat grep egrep fgrep rg ag ack head tail ls dir find fd nl wc tree pwd cd which whereis type file stat awk gawk diff cmp echo " +
    "printf sort uniq cut tr less more du df date whoami id env printenv export set true false test [ [[ sed jq yq xxd od " +
    "hexdump basename dirname realpath readlink sleep history man help uname hostname ps alias source . column tac rev " +
    "zcat zgrep bat eza strings lsof netstat ss pgrep free uptime seq wait read break continue journalctl " +
    // Windows, and aliases of PowerShell
    "findstr where ver tasklist systeminfo gc gci gcm sls select ft fl set-location out-string out-host out-null foreach-object " +
    // Words of the shell that run nothing themselves
    "for done fi case esac function return exit " +
    // What SWE-agent adds to the shell
    "open goto scroll_up scroll_down search_dir search_file find_file submit",
);
/** What PowerShell calls a command that only shows something. */
const readingCmdlet =
  /^(?:get|select|measure|test|format|where|sort|group|compare|convertfrom|convertto|resolve|join|split|write|show|find|push|pop)-[a-z]+$/;
const changingPrograms = setOf(
  "patch mv cp rm tee touch mkdir rmdir ln chmod chown truncate install rsync unzip tar copy move del erase ren rename md rd xcopy robocopy edit insert create",
);
const changingCmdlet =
  /^(?:set|add|clear|remove|copy|move|rename|new|out|expand|compress)-(?:content|item\w*|file|archive)$/;
/** Programs of many verbs, some of which only show something. */
const readingVerbs: ReadonlyMap<string, ReadonlySet<string>> = new Map(
  Object.entries({
    git: "log diff show status grep blame branch rev-parse ls-files ls-tree rev-list remote config describe tag shortlog reflog cat-file",
    docker: "logs ps images inspect version info top stats",
    podman: "logs ps images inspect version info top stats",
    kubectl: "get describe logs top explain version events",
    gh: "view list status diff checks",
    helm: "list get status history",
    terraform: "show output state",
    systemctl: "status list-units",
    cargo: "tree metadata",
    go: "list env version doc",
    ...Object.fromEntries(
      "npm pnpm yarn pip pip3 uv poetry conda brew apt"
        .split(" ")
        .map((each) => [each, "list show freeze ls view outdated why info tree"]),
    ),
  }).map(([program, verbs]) => [program, setOf(verbs)]),
);
/** Verbs of these programs that run something, whatever its name. */
const runningVerbs = setOf("run exec test start build install add");
/** Words in front of the program that say nothing of what it does. */
const prefixes = setOf("sudo time timeout nohup exec command env nice xargs if then else elif while until do !");

const heredoc = /<<-?\s*(["']?)([A-Za-z_]\w*)\1/;
const quotedText = /"(?:[^"\\]|\\[\s\S])*"|'[^']*'/g;
/** A redirection into a file; `2>&1`, `>&2` and `> /dev/null` are none. */
const intoFile = /(?:^|[^0-9&>=<-])>{1,2}\s*(?!\/dev\/null|&|\s)[^\s;|&)]/;
/** An inline script that writes files. */
const scriptWrites = /\.write\(|write_text\(|writeFile|open\([^)\n]{1,200},\s*["'][wa]/;

/** A command for another shell, in quotes: `bash -lc '…'`, `powershell -Command "…"`, `cmd /c "…"`. */
const forShell =
  /^\s*(?:\S*[\\/])?(?:(?:ba|z|da|k)?sh(?:\.exe)?\s+(?:-\w+\s+)*?-\w*c|(?:powershell|pwsh)(?:\.exe)?\s+(?:-\w+\s+(?:\w+\s+)?)*?-c(?:ommand)?|cmd(?:\.exe)?\s+\/c)\s+(["']?)([\s\S]*)\1\s*$/i;

/** Reads at most the first few thousand characters: what stands behind is the text of a file. */
export function effectOfCommand(command: string): CommandEffect {
  let changes = false;
  let reverts = false;
  let runs = false;
  const shown = shownOf(command);
  if (scriptWrites.test(shown)) changes = true;
  const bare = withoutQuotedText(shown);
  if (intoFile.test(bare)) changes = true;
  for (const { part, program, args } of actingPrograms(bare)) {
    if (program === "git") {
      changes = true;
      if (givesUp(gitVerb(args))) reverts = true;
    } else if (program === "str_replace_editor") {
      if (args[0] !== "view") changes = true;
    } else if (program === "sed" || program === "perl") {
      if (/\s-\w*i/.test(part)) changes = true;
      else if (program === "perl") runs = true;
    } else if (changingPrograms.has(program) || changingCmdlet.test(program)) changes = true;
    else if (/^[\w.[+-]/.test(program)) runs = true;
  }
  // Put away to look at the state before, and taken back again.
  if (reverts && /\bgit stash (?:pop|apply)\b/.test(bare)) reverts = false;
  return { changes, reverts, runs };
}

/** The part of a command that is read, without a shell around it. */
export function shownOf(command: string): string {
  const shown = command.slice(0, 6_000);
  return forShell.exec(shown)?.[2] ?? shown;
}

/** A command without what stands in quotes and in here-documents. */
export function withoutQuotedText(shown: string): string {
  return withoutHeredocs(shown).replace(quotedText, '""');
}

interface ActingProgram {
  /** Its part of the line. */
  readonly part: string;
  readonly program: string;
  readonly args: readonly string[];
}

/** The programs of a command without quoted text that do more than to show something. */
export function actingPrograms(bare: string): readonly ActingProgram[] {
  return bare.split(/&&|\|\||[;\n|]/).flatMap((part) => {
    const words = part.trim().split(/\s+/);
    let at = 0;
    while (at < words.length && isPrefix(words[at] ?? "", words[at - 1])) at++;
    const program = programIn(words[at] ?? "");
    const args = words.slice(at + 1);
    return program === "" || program.startsWith("#") || shows(program, args) ? [] : [{ part, program, args }];
  });
}

/** The name of a program without its folder and what Windows adds; PowerShell does not mind capitals. */
function programIn(word: string): string {
  return word
    .replace(/^[({]+/, "")
    .replace(/^.*[/\\]/, "")
    .replace(/\)+$/, "")
    .replace(/\.exe$/i, "")
    .toLowerCase();
}

/** Whether a program with these arguments only shows something. */
function shows(program: string, args: readonly string[]): boolean {
  const verbs = readingVerbs.get(program);
  if (verbs === undefined) {
    const edits = program === "sed" && args.some((arg) => /^-\w*i/.test(arg));
    return (readingPrograms.has(program) && !edits) || readingCmdlet.test(program);
  }
  // Options and their values stand between, and words such as `compose`.
  if (program === "git") args = gitVerb(args);
  const named = args.filter((arg) => !arg.startsWith("-")).slice(0, 4);
  if (program === "git")
    return named[0] === "stash" ? /^(?:list|show)$/.test(named[1] ?? "") : verbs.has(named[0] ?? "");
  if (program !== "gh" && runningVerbs.has(named[0] ?? "")) return false;
  return named.some((word) => verbs.has(word));
}

/** The arguments of git from its verb on. */
function gitVerb(args: readonly string[]): readonly string[] {
  const at = args.findIndex(
    (arg, index) =>
      !arg.startsWith("-") && !/^(?:-[cC]|--(?:git-dir|work-tree|namespace))$/.test(args[index - 1] ?? ""),
  );
  return at < 0 ? [] : args.slice(at);
}

/** Whether a git command takes changes of files back; other branches, the index and what was stashed are left aside. */
function givesUp(args: readonly string[]): boolean {
  const [verb = "", ...rest] = args;
  const says = (option: string) => rest.includes(option);
  switch (verb) {
    case "checkout":
      return (
        !says("-b") &&
        !says("-B") &&
        rest.some((word) => word === "--" || word === "." || /\w\.[A-Za-z]\w{0,5}$/.test(word))
      );
    case "restore":
      return !says("--staged") || says("--worktree");
    case "reset":
      return says("--hard") || says("--merge") || says("--keep");
    case "stash":
      return !/^(?:pop|apply|drop|clear|list|show|branch)$/.test(rest[0] ?? "");
    default:
      return verb === "revert";
  }
}

function isPrefix(word: string, before: string | undefined): boolean {
  return (
    prefixes.has(word) ||
    /^[A-Za-z_]\w*=/.test(word) ||
    (before !== undefined &&
      (before === "timeout" || before.startsWith("-")) &&
      /^(?:[\d.]+[smh]?|\{\})$/.test(word)) ||
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
