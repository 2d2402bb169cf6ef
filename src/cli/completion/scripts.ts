/** The scripts call the program for completions, so they need not change with it. `:files` means: complete paths. */

export const shells = ["bash", "zsh", "fish"] as const;
export type Shell = (typeof shells)[number];

export function isShell(text: string): text is Shell {
  return shells.some((shell) => shell === text);
}

const bash = `# Completion of smart-gateway for bash: eval "$(smart-gateway completion bash)"
_smart_gateway() {
  local IFS=$'\\n'
  COMPREPLY=($(smart-gateway __complete bash "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
  if [ "\${COMPREPLY[0]-}" = ":files" ]; then
    COMPREPLY=()
    compopt -o default 2>/dev/null
  fi
}
complete -F _smart_gateway smart-gateway
`;

const zsh = `#compdef smart-gateway
# Completion of smart-gateway for zsh: a file _smart-gateway in a folder of $fpath, or eval "$(smart-gateway completion zsh)"
_smart_gateway() {
  local -a lines
  lines=("\${(@f)$(smart-gateway __complete zsh "\${(@)words[2,CURRENT]}" 2>/dev/null)}")
  if [[ "$lines[1]" == ":files" ]]; then
    _files
  elif [[ -n "$lines[1]" ]]; then
    _describe 'smart-gateway' lines
  fi
}
if [[ "$funcstack[1]" == "_smart-gateway" ]]; then
  _smart_gateway "$@"
else
  compdef _smart_gateway smart-gateway
fi
`;

const fish = `# Completion of smart-gateway for fish: ~/.config/fish/completions/smart-gateway.fish
function __smart_gateway_complete
  set -l words (commandline -opc)
  set -l lines (smart-gateway __complete fish $words[2..-1] (commandline -ct) 2>/dev/null)
  if test "$lines[1]" = ":files"
    __fish_complete_path (commandline -ct)
  else
    printf '%s\\n' $lines
  end
end
complete -c smart-gateway -f -a '(__smart_gateway_complete)'
`;

const scripts: { readonly [S in Shell]: string } = { bash, zsh, fish };

export function scriptOf(shell: Shell): string {
  return scripts[shell];
}
