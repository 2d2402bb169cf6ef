import { withoutAttachedFences, withoutBracketBlocks, withoutPatch, withoutTagBlocks } from "./blocks.ts";
import { questionIn, requestSectionIn, withoutFrame } from "./templates.ts";

/**
 * What the user typed, without the envelope that an agent or a framework put around it; empty when nothing in the text is
 * the user's. Linear in the text. Envelopes are recognised by their form, and by name where the form does not suffice.
 */
export function askIn(text: string): string {
  let ask = withoutBracketBlocks(withoutTagBlocks(text));
  ask = questionIn(ask) ?? requestSectionIn(ask) ?? ask;
  ask = withoutFrame(ask);
  const bare = withoutPatch(withoutAttachedFences(ask)).trim();
  return bare === "" && !isPatch(ask) ? ask.trim() : bare;
}

function isPatch(text: string): boolean {
  return text.trimStart().startsWith("diff --git ");
}

/** What a user writes only to make the agent continue. */
const continuePrompt =
  /^(?:(?:yes|yep|yeah|ok|okay|sure|fine|please|continue|proceed|go|on|ahead|do|it|that|this|next|keep|going|retry|try|again|weiter|ja|mach|oui|continuez?|vas-y|sí|si|sigue|continúa|sim|continua|да|продолжай|дальше|继续|好的?|是的?)[\s,.!。，！]*){1,5}$/i;

/** Whether an ask only says to continue what was asked before. */
export function isContinuePrompt(ask: string): boolean {
  return ask.length <= 40 && continuePrompt.test(ask);
}
