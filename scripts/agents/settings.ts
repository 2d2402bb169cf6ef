/**
 * The settings of docs/guides/agents.md, read from the page itself so that what is documented is what is run. A fenced block
 * belongs to an agent by its info string, of which a reader sees only the language:
 *
 *     ```yaml agent=continue file=~/.continue/config.yaml
 *     ```sh agent=continue
 *
 * A block with a file is written to that file, relative to the repository or in the home folder; a block without one is a
 * shell command, and the commands of one agent are run in the page's order.
 */
export interface AgentSettings {
  readonly files: readonly { readonly path: string; readonly text: string }[];
  readonly commands: readonly string[];
}

/** The address in the page, which is replaced by the gateway's own. */
export const documentedAddress = "http://127.0.0.1:8080";

/** A block for this file is the policy of the gateway for this agent. */
export const policyFile = "gateway:policy.yaml";

const fence = /^```(\w+) agent=(\S+)(?: file=(\S+))?\n([\s\S]*?)^```$/gm;

/** The settings by the agent's name. Throws if two blocks of one agent name the same file. */
export function settingsIn(page: string): Map<string, AgentSettings> {
  const found = new Map<string, AgentSettings>();
  for (const [, , name = "", path, text = ""] of page.matchAll(fence)) {
    const { files, commands } = found.get(name) ?? { files: [], commands: [] };
    if (files.some((file) => file.path === path)) throw new Error(`${name}: two blocks for ${path}`);
    found.set(
      name,
      path === undefined ? { files, commands: [...commands, text] } : { files: [...files, { path, text }], commands },
    );
  }
  return found;
}
