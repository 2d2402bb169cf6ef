import { type ChatMessage, isSystemRole } from "#domain/chat.ts";
import { memoizeByMessage } from "#domain/known-message.ts";
import type { TaskKind } from "#domain/routing.ts";
import { isCompactionRequest } from "./ask.ts";
import type { Conversation } from "./conversation.ts";
import { harnessTurnIn } from "./harness-turn.ts";
import { textOf, windowOf } from "./text-window.ts";

/** Calls that an agent or a chat program makes for itself, not for its user's work. */
export type HousekeepingKind =
  | "title"
  | "commit_message"
  | "summary"
  | "labels"
  | "command_check"
  | "completion"
  | "rewrite";

/** The kind of task that a housekeeping call is. */
export const taskKindOf: { readonly [K in HousekeepingKind]: TaskKind } = {
  title: "SUMMARIZE",
  commit_message: "SUMMARIZE",
  summary: "SUMMARIZE",
  labels: "CLASSIFY",
  command_check: "CLASSIFY",
  completion: "CODING",
  rewrite: "OTHER",
};

const anyOf = (...patterns: readonly string[]) => new RegExp(patterns.join("|"), "i");
/** A verb that orders something small to be written, and what stands between it and its object. */
const makes = String.raw`\b(?:generat|creat|writ|suggest|giv|provid|produc|propos|mak|craft|pick|choos|find|select|return|repl|respond|answer|output|print|extract|identif|compos|com(?:e|ing) up|act as|name|title)\w{0,4}\b[^.\n]{0,70}\b`;
const talk =
  "(?:conversation|chat|thread|session|discussion|dialogu?e|history|transcript|messages?|tab|topic|task|user|request|content|exchange|text)";
/** The same in further languages. */
const talkElsewhere =
  "Unterhaltung|Gespräch|Konversation|discussion|échange|conversación|charla|conversa|gesprek|rozmow|czat|диалог|бесед|разговор|переписк|чат|sohbet|konuşma|会话|对话|聊天|讨论|對話|会話|チャット|대화|채팅";

/** What a program orders of each kind, in its own words. */
const instructions: readonly (readonly [HousekeepingKind, RegExp])[] = [
  [
    "title",
    anyOf(
      String.raw`${makes}(?:titles?|headlines?|headings?|slugs?|(?:branch|file) ?names?|filename)\b[^\n]{0,90}\b${talk}`,
      String.raw`${makes}(?:names?|labels?|emoji)\b[^.\n]{0,60}\b(?:conversation|chat|thread|session|tab|user (?:writes|types|says)|the name (?:only|alone))\b`,
      String.raw`\b(?:title|name|headline)[ -]gener|\btitl(?:ing|es?) (?:assistant|expert|writer)|\b(?:only|just) (?:with )?(?:the|a) (?:\w+ )?(?:title|headline|file ?name|branch name|slug)|\b(?:title|headline|file ?name|slug) (?:only|alone)|\b(?:conversation|chat|thread|session) (?:titles?|names?)\b|\bpithy \w+ names\b`,
      String.raw`\bsummari[sz]e\b[^.\n]{0,80}\b(?:title|headline|short sentence)\b`,
      `(?:titel|titre|título|titolo|tytuł|заголов|назван|başlı|标题|標題|主题|タイトル|件名|제목)[\\s\\S]{0,200}(?:${talkElsewhere})`,
      `(?:${talkElsewhere})[\\s\\S]{0,200}(?:titel|titre|título|titolo|tytuł|заголов|назван|başlı|标题|標題|主题|タイトル|件名|제목)|titelgenerator|分支名`,
    ),
  ],
  [
    "commit_message",
    anyOf(
      String.raw`${makes}(?:commit messages?|messages? (?:for|of) (?:a|the|this) commit|(?:(?:titles?|descriptions?|texts?|walkthrough) (?:of|for) (?:a |the |this )?)?(?:pull requests?|PR)\b(?! reviewer)|changelog entr\w+|release notes?)\b`,
      String.raw`\b(?:commits?)\b[^.\n]{0,40}\binto (?:a|one|an?) [^.\n]{0,20}\b(?:changelog|release note)|\bdescription for the PR\b`,
      "(?:生成|编写|撰写|写)[^。\\n]{0,20}提交(?:信息|消息|说明)|コミットメッセージを|커밋 메시지를|commit-nachricht|(?:message|mensaje|mensagem|messaggio) d[ei] commit|коммит",
    ),
  ],
  [
    "summary",
    anyOf(
      String.raw`\bsummar(?:i[sz]\w+|y (?:of|about)|ies of)\b[^.\n]{0,70}\b(?:conversations?|chat|dialogu?e|discussion|session|history|transcript|messages|(?:tool )?output)\b|\b(?:conversations?|context|history)\b[^.\n]{0,40}\b(?:summar\w+)\b`,
      String.raw`${makes}(?:summary labels?|session recaps?|recap|summary of)\b|\bsummari[sz](?:er|ation (?:agent|assistant|engine|model))\b|\bstate summary\b|^\s*(?:you )?summari[sz]e (?:the|any|each|every|whatever) (?:text|message|article|document|content|page|passage|e-?mail|input|lines)\b|^\s*The following is an? (?:conversation|chat)\b[^.\n]{0,20}\bbetween (?:a|an|the) (?:user|human)\b[\s\S]{0,300}\bsummari[sz]e\b`,
      `(?:zusammenfass|fasse|résum|resum|riassum|samenvat|podsumuj|кратк|резюм|总结|概括|摘要|压缩|要約|まとめ|요약)[\\s\\S]{0,100}(?:${talkElsewhere})|(?:${talkElsewhere})[\\s\\S]{0,100}(?:zusammen|总结|概括|摘要|要約|요약)`,
    ),
  ],
  [
    "labels",
    anyOf(
      String.raw`${makes}(?:(?<!> |xml )tags|follow-?ups?\b[^.\n]{0,30}\b(?:questions|messages)|search quer(?:y|ies)|quer(?:y|ies) for|keywords|emoji|next (?:role|speaker|agent)|file ?paths|facts|preferences|memories|triplets|entities|proper nouns|information from|worker to act next|(?:correct |relevant )?(?:tool\(?s|files)\b[^.\n]{0,60}\b(?:based on|relevant))\b`,
      String.raw`\b(?:classif(?:y|ier|ication)|categori[sz]e|router|label)\b[^.\n]{0,50}\b(?:prompts?|requests?|messages?|query|intents?|input|text|content|e-?mail|ticket|engine|model|assistant|system)\b|\bwho should (?:logically )?speak next\b|\bisNewTopic\b|\bnew (?:conversation )?topic\b|\bsentiment of (?:this|the)\b`,
      String.raw`\bYou are an? [^.\n]{0,30}\b(?:grader|moderator|guardrail|memory manager)\b|\brelevance of\b|\bsituate this chunk\b|\bselecting memories\b|^\s*you (?:are )?(?:analy[sz]|extract|compar)(?:e|ing)?\b[^.\n]{0,70}\b(?:searching memory|memory (?:statements?|system)|existing memories)\b|\bunsafe content\b|\b(?:rephrase|rewrite|reformulate)\b[^.\n]{0,60}\b(?:retrieval|search|standalone|(?:last|latest|follow-?up) (?:question|query|message))\b`,
    ),
  ],
  [
    "command_check",
    /\bcommand[ _-]prefix|\bprefix of (?:the|a|each) (?:\w+ )?command|\b(?:determine|classify|decide|check)\b[^.\n]{0,60}\bcommand\b/i,
  ],
  [
    "completion",
    /<\|?(?:fim_\w+|cursor|hole)\|?>|\{\{ ?(?:FILL_HERE|HOLE|CURSOR)|\bfill[ -]in[ -](?:the[ -])?(?:middle|blank|hole)\b|\b(?:HOLE FILLER|autocomplet\w+|code completion) ?(?:engine|assistant|model)?\b/i,
  ],
  [
    "rewrite",
    anyOf(
      String.raw`^\s*(?:(?:you|your|please|act as)\b[^.\n]{0,60})?\b(?:clean(?:s|ing)? up|correct(?:s|ing)?|fix(?:es|ing)?|polish|proofread|punctuate)\b[^.\n]{0,60}\b(?:dictat\w*|transcri\w*|speech|spelling|grammar|punctuation|typos)\b|^\s*(?:you are an? [^.\n]{0,40}\btranslat|(?:please )?translate (?:the|all|any|what|every|from|into|to)\b)|\b(?:enhanced|improved|rewritten|refined|optimi[sz]ed) (?:\w+ ){0,5}prompt\b|\b(?:task|job|role|goal) is to (?:enhance|improve|enrich|rewrite|refine|optimi[sz]e) (?:[\w']+ ){0,3}prompts?\b`,
      String.raw`^\s*(?:du bist [^.\n]{0,30}über|übersetze|korrigiere|traduis|corrige|traduce|traduza|corrija|traduci|correggi|переведи|исправь)[^.\n]{0,40}(?:text|zeichens|rechtschr|sprach|orthogra|ortogra|orfogra|gramm|testo|bonjour|текст|орфогр)|翻译[^。\n]{0,12}(?:文本|内容|为|成)|翻訳して|错别字`,
    ),
  ],
];
/** Programs ask for the bare result; people who ask for a title in a chat do not. */
const bareResult = anyOf(
  String.raw`\b(?:only|just|nothing else|nothing but|concise(?:ly)?|briefly|without (?:any|quotes|preamble|punctuation|explan\w+)|no (?:explanations?|quotes|preamble|markdown|additional|punctuation)|never (?:explain|respond|answer)|(?:do not|don't|dont|must not) (?:include|add|output|use|preface|answer|write|return|say|respond|explain|invent))\b|\bomitting\b|\banything (?:except|but|else)\b`,
  String.raw`\b\d{1,5}[- ](?:to[- ]\d{1,3}[- ])?(?:words?|characters?|chars|tokens|sentences?)\b|\b(?:one|a single|two|three|four|five|ten)[- ](?:words?|characters?|sentences?)\b|\b(?:JSON|YAML)\b|\bstructured output\b|\b(?:title|summary|name|label|category|question|output):\s*$|\b(?:respond|reply|answer) with [A-Z]{4,}\b|^\s*The following is an? (?:conversation|chat)\b|\byou are (?:an? [^.\n]{0,30}\b)?\w+(?: message)?s?[- ]generat`,
  "nur|höchstens|ohne Anführ|uniquement|seulement|sans guillemets|sólo|solo|únicamente|sin comillas|apenas|somente|sem aspas|soltanto|alleen|tylko|sadece|только|без кавычек|не более|[只仅]|直接返回|不要|字以内|个字|のみ|だけ|以内|만 ",
);
/** A system prompt that has one thing chosen from a few, whatever the messages are about. */
const chooses =
  /^\s*(?:you (?:decide|determine|detect|classify|choose|route|judge|rate|assign)|decide|determine|detect|classify|choose|select|judge|rate|route|assign|rank|tag|label)\b[\s\S]*\b(?:reply|respond|answer|return|output|say)\b[^.\n]{0,40}(?:\b\w+['"`]? or ['"`]?\w+\b|\bone word\b|\bonly\b|\bonly the\b)/i;
/** A message whose order is to make a part of a program. */
const makesCode =
  /^\s*(?:please )?(?:write|implement|add|create|build|fix|make|refactor|extend)\b[^.\n]{0,40}\b(?:function|method|class|script|component|endpoint|module|program|tests?|regex|feature|hook|plugin|button|column|classifier|page|service)\b/i;
/** Both ends of the gap that a completion fills: nobody but an editor writes them. */
const gap =
  /<[|｜]?(?:fim[_▁](?:prefix|begin)|PRE|editable_region_start|code_to_edit)[|｜]?>[\s\S]*<[|｜]?(?:fim[_▁](?:suffix|hole)|SUF|editable_region_end|\/code_to_edit)[|｜]?>|\[SUFFIX\][\s\S]*\[PREFIX\]/;
/** Rules in a list, as a program writes them behind what it asks for. */
const listOfRules = /(?:^|\n)(?:[-*•]|\d\.) [^\n]+\n(?:[-*•]|\d\.) |\bpreamble\b|\bpunctuation\b/;

/** Longest system prompt of a call that does one small thing, and of one that can hardly say anything else. */
const maxInstructionLength = 8_000;
const shortInstruction = 200;
/** Characters of the newest message that are read. */
const newestHead = 1_200;
const newestTail = 600;
const systemHead = 3_000;
/** A program says what it wants first or last; between stands what it is about. */
const orderHead = 500;
const orderTail = 300;
/** A bound on the answer that leaves room for one small thing only. */
const smallAnswerTokens = 512;

/**
 * What kind of housekeeping a call is; undefined when it is somebody's work. It offers no tools, and its instructions, in a
 * system prompt of its own or in its one message, ask for one small thing and for nothing else.
 */
export function housekeepingOf(
  conversation: Conversation,
  messages: readonly ChatMessage[],
  requestedOutputTokens: number | null,
): HousekeepingKind | undefined {
  if (conversation.tools.count > 0) return undefined;
  const system = systemInstruction(conversation.system ?? { role: "system" });
  if (system.length > maxInstructionLength) return undefined;
  const newest = windowOf(textOf(conversation.newest?.["content"]), newestHead, newestTail);
  const smallAnswer = requestedOutputTokens !== null && requestedOutputTokens <= smallAnswerTokens;
  const isBare = (text: string) => smallAnswer || bareResult.test(text);
  const isShort = system.length > 0 && system.length < shortInstruction;
  if (system.kind !== undefined && (isShort || smallAnswer || system.isBare || isBare(newest))) return system.kind;
  // The program's own words behind the conversation.
  const closing = closingOf(messages);
  const byClosing = closing !== "" && isBare(closing) ? kindSaidIn(closing) : undefined;
  if (byClosing !== undefined) return byClosing;
  if ((newest.includes("<") || newest.startsWith("[SUFFIX]")) && gap.test(newest)) return "completion";
  // Without a system prompt that says so, the message itself must, and be the whole conversation, or stand at the end of an agent's
  // run whose tools the call leaves out.
  const isLong = messages.filter(({ role }) => !isSystemRole(role)).length > 1;
  if (isLong && isCompactionRequest(newest)) return undefined;
  if (isLong && !messages.some(({ role }) => role === "tool") && !listOfRules.test(newest)) return undefined;
  const order = windowOf(newest, orderHead, orderTail);
  // A short system prompt may say no more than how short the answer is to be.
  if (!mayOrder.test(order) || (!isBare(order) && !(isShort && system.isBare))) return undefined;
  return makesCode.test(order) ? undefined : kindOrderedIn(order);
}

/** What a system prompt orders of every message. */
const systemInstruction = memoizeByMessage(({ content }) => {
  const text = textOf(content);
  const head = text.length > maxInstructionLength ? "" : text.slice(0, systemHead);
  const kind = kindSaidIn(head) ?? (text.length < 1_500 && chooses.test(head) ? "labels" : undefined);
  // Of a long prompt without an order nobody asks how bare the answer is to be.
  const isBare = (kind !== undefined || text.length < shortInstruction) && bareResult.test(head);
  return { length: text.length, kind, isBare };
});

/** The last message if it is a system prompt behind the conversation; the result of a tool is no instruction, whatever it says. */
function closingOf(messages: readonly ChatMessage[]): string {
  const last = messages.at(-1);
  if (messages.length < 2 || !isSystemRole(last?.role)) return "";
  const text = textOf(last?.["content"]);
  return harnessTurnIn(text) === undefined ? windowOf(text, newestHead, newestTail) : "";
}

/** Beginnings of words of which each order holds one: most texts hold none, which takes a tenth of the time to find out. */
const mayOrder = new RegExp(
  String.raw`\b(?:tit[leoru]|head|slug|names?\b|file|branch|label|emoj|comm|pull|prs?\b|change|release|relev|summ|reca|follow|zusa|fass|resu|rias|same|pods|tags|quer|sear|keyw|next|` +
    "path|fact|pref|memo|trip|enti|noun|info|work|tool|clas|cate|rout|isne|new|sent|grad|mode|guar|situ|unsa|reph|rewr|refo|extr|anal|comp|fim_|curs|hole|fill|auto|" +
    String.raw`clea|corr|fix|poli|proo|punc|tran|prom|korr|trad)|[^\x00-\x7f]`,
  "i",
);

function kindSaidIn(text: string): HousekeepingKind | undefined {
  return mayOrder.test(text) ? kindOrderedIn(text) : undefined;
}

/** The same for a text in which an order may stand. */
function kindOrderedIn(text: string): HousekeepingKind | undefined {
  return instructions.find(([, says]) => says.test(text))?.[0];
}
