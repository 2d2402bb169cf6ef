import { oneByteText, replacements } from "#platform/text-search/one-byte-text.ts";
import { onlyPlaceOf } from "#platform/text-search/place-of.ts";
import {
  withoutAttachedFences,
  withoutBracketBlocks,
  withoutDelimitedSections,
  withoutLeadingFields,
  withoutPatch,
  withoutTagBlocks,
} from "./blocks.ts";
import {
  beforeContext,
  behindGivenText,
  labelledTaskIn,
  messageInJson,
  questionIn,
  requestSectionIn,
  withoutFrame,
} from "./templates.ts";

/**
 * What the user typed, without the envelope that an agent or a framework put around it; empty when nothing in the text is
 * the user's. Linear in the text. Envelopes are recognised by their form, and by name where the form does not suffice.
 */
export function askIn(text: string): string {
  // None of the patterns names a character beyond Latin-1.
  const read = oneByteText(text);
  if (read === undefined) return readAsk(text).ask;
  const { ask, isOnePiece } = readAsk(read.text);
  if (!read.isChanged || !replacements.some((character) => ask.includes(character))) return ask;
  const from = isOnePiece ? onlyPlaceOf(read.text, ask) : -1;
  return from < 0 ? readAsk(text).ask : text.slice(from, from + ask.length);
}

interface ReadAsk {
  readonly ask: string;
  /** Whether it stands in the text as it is; what is put together of pieces may stand elsewhere in it too. */
  readonly isOnePiece: boolean;
}

function readAsk(text: string): ReadAsk {
  const message = messageInJson(text);
  const said = message?.by === "user" ? message.text : text;
  let ask = withoutDelimitedSections(withoutBracketBlocks(withoutTagBlocks(said)));
  let isOnePiece = ask === text;
  ask = withoutLeadingFields(ask);
  // Most asks hold no label at all, and looking for a colon costs nothing beside the patterns.
  const labels = ask.includes(":");
  ask =
    behindGivenText(ask) ??
    (labels ? questionIn(ask) : undefined) ??
    requestSectionIn(ask) ??
    (labels ? (labelledTaskIn(ask) ?? beforeContext(ask)) : undefined) ??
    ask;
  ask = withoutFrame(ask);
  const bare = withoutPatch(withoutAttachedFences(ask));
  const own = bare.trim();
  if (own === "" && !isPatch(ask)) return { ask: ask.trim(), isOnePiece };
  isOnePiece &&= bare === ask;
  return { ask: own, isOnePiece };
}

function isPatch(text: string): boolean {
  return text.trimStart().startsWith("diff --git ");
}

/** Words of which a message that only makes the agent go on consists: consent, and what was proposed before. */
const continuingWords = new Set(
  (
    "yes yep yeah ok okay sure fine please continue proceed go on ahead do it that this next keep going retry try again resume start " +
    "begin finish implement execute apply run make happen so looks look good great perfect excellent sounds lgtm approved agreed agree " +
    "correct right exactly i all both the your a an plan changes change step steps option one two three 1 2 3 first second third them " +
    "now and then with from where you we left off stopped were let's lets as is proposed suggested described iterate to " +
    "weiter ja mach machen bitte gerne genau passt gut klingt leg los so setz um den plan umsetzen fortfahren jetzt " +
    "oui continue continuez vas-y allez-y d'accord parfait fais-le vas y allez le ça sí si sigue continúa adelante dale vale perfecto hazlo " +
    "sim continua continue prossiga pode seguir faça isso perfeito sì procedi continua va bene fallo perfetto ga door prima doe het " +
    "kontynuuj tak dalej zrób to dobrze да давай делай это продолжай продолжайте дальше хорошо отлично начинай devam et evet tamam yap"
  ).split(" "),
);
const continuingPhrase =
  /^(?:(?:继续|接着|好的?|可以|是的?|对|没问题|开始吧?|做吧|请|按这个|按计划|做|吧|続けて|続行|はい|お願いします|進めて|ください|その通り|계속|네|좋아요?|그래|진행|해|주세요|해줘|해주세요)[\s,.!。，！、]*){1,6}$/;
const maxContinueLength = 80;
const maxContinueWords = 12;

/** Whether an ask only says to continue what was asked before. */
export function isContinuePrompt(ask: string): boolean {
  if (ask.length > maxContinueLength) return false;
  if (continuingPhrase.test(ask)) return true;
  const words = ask.toLowerCase().match(/[\p{L}\p{N}][\p{L}\p{N}'’-]*/gu) ?? [];
  if (words.length === 0 || words.length > maxContinueWords || ask.includes("?")) return false;
  return words.every((word) => continuingWords.has(word.replace("’", "'")));
}
