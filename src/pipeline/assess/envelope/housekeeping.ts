import type { TaskKind } from "#domain/routing.ts";
import { remembered } from "#platform/keyed-memory/remembered.ts";
import { beyondLatin, fragmentSearch } from "#platform/text-search/fragment-search.ts";
import type { Conversation } from "./conversation-types.ts";

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

interface Instruction {
  readonly kind: HousekeepingKind;
  /** Four characters of each word in Latin letters that `word` finds: a text without any of these needs no search for words. */
  readonly fragments: string;
  /** Found in every text that says it: one cheap search for all of these rules out nearly every other text. */
  readonly word: RegExp;
  readonly says: RegExp;
}

function anyOf(...patterns: readonly string[]): RegExp {
  return new RegExp(patterns.join("|"), "i");
}

/** The instruction of each, in the words that programs use for it. */
const instructions: readonly Instruction[] = [
  {
    kind: "title",
    fragments: "name|titl|eadl|eadi|slug|rt s|labe|emoj",
    word: /name|titl|headline|heading|slug|short sentence|label|emoji/i,
    says: anyOf(
      String.raw`\b(?:title|name|headline)[ -](?:generator|generation)\b|\btitling assistant\b|\btitles? (?:assistant|expert|writer)s?\b|\byou (?:name|title|label) (?:threads|conversations|chats|sessions|tabs)\b`,
      String.raw`\b(?:generate|create|write|suggest|give|provide|produce|propose|make|craft(?:ing)?|come up with|pick|choose|find|return|reply with)\b[^.\n]{0,60}\b(?:(?:titles?|names?|headlines?|slugs?)\b[^.\n]{0,60}\b(?:conversation|chat|thread|session|task|discussion|dialogu?e|topic)|(?:titles?|headlines?)\b[^.\n]{0,60}\b(?:message|request|following content)|(?:labels?|emoji)\b[^.\n]{0,40}\b(?:conversation|chat|thread|tab|user (?:writes|types|says)))`,
      // What is to be answered and nothing else.
      String.raw`\b(?:reply|respond|answer|return|output|print)\b[^.\n]{0,30}\b(?:(?:only|just) (?:with )?(?:the|a) (?:\w+ )?(?:title|heading|headline|file ?name|branch name|slug)|(?:title|heading|headline|file ?name|branch name|slug) (?:only|alone|and nothing))\b|^(?:only|just) (?:reply|respond|answer|return|output|print)\b[^.\n]{0,20}\b(?:title|heading|headline|file ?name|branch name|slug)\b`,
      String.raw`\b(?:conversation|chat|thread|session|branch) (?:titles?|names?)\b|\b(?:conversation|chat|thread|session)\b[^.\n]{0,20}\ba (?:short )?(?:name|title)\b`,
      String.raw`\bsummari[sz]e\b[^.\n]{0,80}\b(?:in|into|as)\b[^.\n]{0,30}\b(?:title|headline|single short sentence)\b`,
    ),
  },
  {
    kind: "commit_message",
    fragments: "mmit|ll r|pr t|pr d|pr c|ngel|se n",
    word: /commit|pull request|pr (?:title|desc|content)|changelog|release note/i,
    says: anyOf(
      String.raw`\b(?:(?:generat|writ|creat|compos|produc|craft)\w{1,4}|come up with)\b[^.\n]{0,80}\b(?:commit messages?|pull request (?:titles?|descriptions?)|PR (?:titles?|descriptions?))\b`,
      String.raw`\b(?:description|title|walkthrough)\b[^.\n]{0,20}\b(?:for|of) (?:the|a|this) (?:PR|pull request|merge request|diff)\b|\bauthor of a commit message\b`,
      String.raw`\b(?:generate|writes?|compose|produce)\b[^.\n]{0,40}\b(?:message for (?:a|the|this) commit|(?:descriptions?|titles?|texts?) (?:of|for) (?:a |the |this )?(?:pull|merge) requests?|commits? message)\b|\bcommits?\b[^.\n]{0,40}\binto (?:a|one|an?) [^.\n]{0,20}\b(?:changelog entry|release note)\b`,
    ),
  },
  {
    kind: "summary",
    fragments: "umma|ecap",
    word: /summar|recap/i,
    says: anyOf(
      String.raw`\bsummar(?:i[sz]e|i[sz]ing|y (?:of|about)|ies of)\b[^.\n]{0,60}\b(?:conversations?|chat|dialogu?e|discussion|session|history|transcript|tool output)\b|\bconversations?\b[^.\n]{0,40}\bcreate a [^.\n]{0,20}\bsummary\b|\bstate summary for an?\b|\brecap of (?:the|this) (?:session|conversation|chat)\b|\b(?:generate|write)\b[^.\n]{0,20}\b(?:session recaps?|summary labels?)\b`,
      String.raw`\bsummari[sz]e messages into\b|^\s*The following is an? (?:conversation|chat)\b[^.\n]{0,20}\bbetween (?:a|an|the) (?:user|human)\b[\s\S]{0,300}\bsummari[sz]e\b`,
      String.raw`\bYou are an? [^.\n]{0,40}\bsummari(?:[sz]er|[sz]ation (?:AI|agent|assistant|engine|model|bot|expert))\b`,
    ),
  },
  {
    kind: "labels",
    fragments:
      "tags|stio|quer|eywo|emoj|topi|peak|ssif|tego|oute|xtra|grad|leva|nsaf|tuat|memo|dera|xt r|xt s|ct n|ntim",
    word: /tags|question|quer|keyword|emoji|topic|speak|classif|categori|router|extract|grad|relevan|unsafe|situate|memory|memories|moderat|next role|next speaker|act next|sentiment/i,
    says: anyOf(
      String.raw`\b(?:generate|suggest|produce|extract|choose|pick)\b[^.\n]{0,40}\b(?:tags|follow-?up (?:\w+ (?:or|and) )?questions|search quer(?:y|ies)|keywords|emoji)\b|\bnew (?:conversation )?topic\b|\bisNewTopic\b|\bwho should (?:logically )?speak next\b`,
      String.raw`\bYou are an? [^.\n]{0,30}\b(?:classifier|router) (?:for|of)\b[^.\n]{0,40}\b(?:prompts?|requests?|messages?)\b|^\s*(?:your task is to |please )?(?:classify|categori[sz]e|label) (?:the|each|this|a) (?:user(?:'s)? )?(?:message|query|request|prompt|intent|input|text|content|e-?mail|ticket)\b|\bclassification (?:engine|model|assistant|system)\b`,
      String.raw`\bextract(?:ing)?\b[^.\n]{0,60}\b(?:file ?paths|topics|keywords|tags|facts|preferences|memories|triplets|named entities|(?:(?:pieces of )?information|details|nouns|names|entities) from (?:the )?(?:last line of )?(?:the )?(?:conversation|transcript|dialogue|message)s?)\b|\bYou are an? [^.\n]{0,30}\b(?:grader|moderator|guardrail|memory manager)\b|\bgrad(?:e|ing) (?:the )?relevance\b|\b(?:select|choose|pick|identify) (?:the )?files\b[^.\n]{0,40}\brelevant\b|\bsituate this chunk\b|\bYou are selecting memories\b|\byou (?:are )?(?:analy[sz]|extract|compar)(?:e|ing)?\b[^.\n]{0,60}\b(?:searching memory|memory (?:system|statements?)|existing memories)\b`,
      String.raw`\bselect (?:the )?next (?:role|speaker|agent)\b|\brespond with the (?:worker|agent|role|team member) to act next\b|\bsentiment of (?:this|the)\b`,
      String.raw`\bunsafe content\b[^.\n]{0,60}\b(?:conversation|messages?|categories)\b|\b(?:choose|select|pick|return)\b[^.\n]{0,30}\btool(?:s|\(s\))?[^.\n]{0,60}\bbased on the (?:query|question|request)\b|\b(?:rephrase|rewrite|reformulate)\b[^.\n]{0,60}\b(?:optimi[sz]ed for (?:retrieval|search)|standalone|understood without|(?:last|latest|follow-?up) (?:question|query|message))\b`,
    ),
  },
  {
    kind: "command_check",
    fragments: "mman",
    word: /command/i,
    says: /\bcommand[ _-]prefix|\bprefix of (?:the|a|each) (?:\w+ )?command|command_injection_detected|\b(?:determine|classify|decide|check)\b[^.\n]{0,60}\bcommand\b[^.\n]{0,60}\b(?:safe|dangerous|allowed|destructive)\b/i,
  },
  {
    kind: "completion",
    fragments: "fim_|urso|hole|<pre|<suf|<mid|fill|plet|toco|ble_|e_to",
    word: /fim_|cursor|hole|<(?:pre|suf|mid)>|fill|completion|autocomplet|editable_region|code_to_edit/i,
    says: /<\|?(?:fim_(?:prefix|suffix|middle)|cursor|hole)\|?>|<(?:PRE|SUF|MID)>|\{\{ ?(?:FILL_HERE|HOLE|CURSOR)[^}]{0,20}\}\}|<\|(?:editable_region|code_to_edit|user_cursor)|\bfill[ -]in[ -](?:the[ -])?(?:middle|blank|hole)\b|\b(?:HOLE FILLER|(?:code )?autocomplet\w+ (?:engine|assistant|model)|code completion (?:engine|assistant|model))\b/i,
  },
  {
    kind: "rewrite",
    fragments: "icta|nscr|nctu|nsla|amma|elli|typo|romp",
    word: /dictat|transcri|punctuat|translat|grammar|spelling|typos|prompt/i,
    says: anyOf(
      String.raw`^\s*(?:(?:you|your|please|act as)\b[^.\n]{0,60})?\b(?:clean(?:s|ing)? up|correct(?:s|ing)?|fix(?:es|ing)?|polish|proofread|punctuate)\b[^.\n]{0,60}\b(?:dictat\w*|transcri\w*|speech|spelling|grammar|punctuation|typos)\b`,
      String.raw`^\s*(?:you are an? [^.\n]{0,40}\btranslat(?:or|ion)\b|(?:please )?translate (?:the|all|any|what|every|from|into|to)\b)`,
      // The user's own words, made into a better prompt before they are sent.
      String.raw`\b(?:generate|create|write|return|reply with|respond with|contain|output|produce)\b[^.\n]{0,30}\b(?:enhanced|improved|enriched|rewritten|refined|optimi[sz]ed) (?:version of (?:this|the|my|your|a) )?(?:\w+ )?prompt\b|\b(?:task|job|role|goal) is to (?:enhance|improve|enrich|rewrite|refine|optimi[sz]e) (?:[\w']+ ){0,3}prompts?\b`,
    ),
  },
];
/** Begins of the words above: one of them stands in every Latin text that says any of it. */
const anyWord =
  /\b(?:a(?:utocomplet|ct next)|c(?:om(?:mit|mand|pletion)|lassif|ategori|ursor|ode_to_edit|orri[gj]|orreggi|hangelog)|dictat|e(?:moji|xtract|ditable_region)|fi(?:m_|ll|lename)|gra(?:d|mmar)|h(?:ole|ead(?:line|ing))|isnewtopic|k(?:eyword|orrig)|label|m(?:emor(?:y|ies)|oderat|essage de|ensa)|n(?:ame|ext role)|p(?:ull request|r (?:title|desc|content)|rompt|unctuat|odsumuj)|que(?:stion|r)|r(?:outer|elevan|ecap|[eé]sum|iassum|elease note)|s(?:lug|hort sentence|ummar|peak|ituate|pelling|amenvat|entiment)|t(?:it(?:l|el|re|ulo|olo)|ítulo|ags|opic|ran(?:scri|slat)|ypos|radu)|u(?:nsafe|ser_cursor)|zusammen)|<(?:pre|suf|mid)>|übersetz/i;

/** Programs ask for the bare result; people who ask for a title in a chat do not. */
const bareResult = anyOf(
  String.raw`\b(?:only|just|nothing else|nothing but)\b[^\n]{0,80}|\bwithout (?:any )?(?:additional|extra|explan|quotes|comment|preamble|using punctuation)|\bomitting punctuation\b|\bno (?:explanations?|quotes|preamble|markdown|additional|punctuation)|\bNEVER (?:explain|respond|answer)|\bnot include any other text\b|\bdo not (?:include|add|output|use|preface|answer)\b|\bdo?n'?t use any preamble\b|\bMUST NOT (?:respond|address|explain)\b`,
  String.raw`\b(?:max(?:imum)?(?: of)?|at most|≤|<=|fewer than|less than|up to|within)\s*\d{1,5}\b[^\n]{0,20}\b(?:words?|characters?|chars|tokens)|\b(?:\d{1,4}|two|three|four|five|six|seven|eight|ten)[- ](?:words?|characters?) or (?:less|fewer)|\b(?:JSON|YAML)\b|^\s*You are maintaining\b|^\s*The following is an? (?:conversation|chat)\b[^.\n]{0,20}\bbetween (?:a|an|the) (?:user|human)\b|\bbinary score\b|\bcomma[- ]separated list\b|\b(?:shorter|longer) than \d|\b(?:with|in) (?:one|a single) word\b|\breturn (?:[^.\n]{0,40}\bas )?structured output\b`,
  String.raw`\b(?:don't|do not) (?:write|return|say|give) anything (?:except|but|else)|\b(?:title|heading|name|answer|summary|label|category)s? (?:only|alone)\b|\b(?:summary|title|name|label|category|standalone question):\s*$|\byou are (?:an? [^.\n]{0,30}\b)?(?:title|headline|name|commit message)s?[- ]generat(?:ion|ing|or)\b`,
);

/** What a title names or a summary sums up, in further languages. */
const conversations =
  "Unterhaltung|Gespräch|Konversation|discussion|échange|conversación|charla|conversa|gesprek|rozmow|czat|диалог|бесед|разговор|переписк|чат|sohbet|konuşma|会话|对话|聊天|讨论|對話|这句话|会話|チャット|대화|채팅";

/** The same in further languages. */
const furtherInstructions: readonly Instruction[] = [
  {
    kind: "title",
    fragments: "tite|titr|tulo|tito|tytu|aşlı|aŞlı",
    word: /titel|titre|título|titolo|tytuł|заголов|назван|başlı|标题|標題|主题|タイトル|件名|제목|分支名/i,
    says: anyOf("titelgenerator|分支名", conversations),
  },
  {
    kind: "commit_message",
    fragments: "mmit",
    word: /提交|コミット|커밋|коммит|commit/i,
    says: anyOf(
      "(?:生成|编写|撰写|写)[^。\\n]{0,20}提交(?:信息|消息|说明)|提交(?:信息|消息|说明)生成|コミットメッセージを|커밋 메시지를",
      "commit-nachricht|message de commit|mensaje de commit|mensagem de commit|messaggio di commit|сообщение (?:для )?коммита",
    ),
  },
  {
    kind: "summary",
    fragments: "zusa|fass|résu|resu|iass|menv|dsum",
    word: /zusammen(?:fass|zu)|\bfass|résum|resum|riassum|samenvat|podsumuj|кратк|резюм|总结|概括|摘要|压缩|要約|まとめ|요약/i,
    says: anyOf(conversations),
  },
  { kind: "completion", fragments: "", word: /<｜fim▁/, says: /<｜fim▁/ },
  {
    kind: "rewrite",
    fragments: "über|chts|trad|thog|rtog",
    word: /übersetz|rechtschreib|traduc|tradui|traduz|orthogra|ortogra|перевод|перевед|орфограф|翻译|翻譯|错别字|翻訳|誤字|번역|맞춤법/i,
    says: /^\s*(?:du bist|übersetze|korrigiere|traduis|corrige|traduce|traduza|corrija|traduci|correggi|переведи|исправь|你是|将|改正|あなたは)/i,
  },
];
/** A system prompt that has one thing chosen from a few. */
const choice = {
  begins:
    /^\s*(?:you (?:decide|determine|detect|classify|choose|route|judge|rate|assign)|decide|determine|detect|classify|choose|select|judge|rate|route|assign|rank|tag|label)\b/i,
  ends: /\b(?:reply|respond|answer|return|output|say)\b[^.\n]{0,30}(?:['"`]?\w+['"`]? or ['"`]?\w+['"`]?\b|\b(?:one|a single) word\b|\b(?:code|intent|category|label|role|class|language|name|score|number|emoji|priority|severity|level|rating|topic|team|tag)\b[^.\n]{0,12}\bonly\b|\bonly\b[^.\n]{0,20}\b(?:code|intent|category|label|role|class|language|name|score|number|emoji|priority|severity|level|rating|topic|team|tag)\b)/i,
  maxLength: 1_500,
} as const;
/** The same for a summary of whatever the user sends. */
const summaryOfText =
  /^\s*(?:you )?summari[sz]e (?:the|any|each|every) (?:text|message|article|document|content|page|passage|e-?mail|input)\b/i;
/** A message whose order is to make a part of a program. */
const makesCode =
  /^\s*(?:please )?(?:write|implement|add|create|build|fix|make|refactor|extend)\b[^.\n]{0,40}\b(?:function|method|class|script|component|endpoint|module|program|tests?|regex|feature|hook|plugin|button|column|classifier)\b/i;
/** Rules in a list, as a program writes them behind what it asks for. */
const listOfRules = /(?:^|\n)(?:[-*•]|\d\.) [^\n]+\n(?:[-*•]|\d\.) /;

/** How a program says that it wants the bare result; people do not. */
const programsWords = /\bwithout any preamble\b|\bomitting punctuation\b|\bno preamble\b/i;

/** A word in capitals by which a program knows the end. */
const answersToken = /\b(?:respond|reply|answer) with [A-Z]{4,}\b/;
const furtherBareResult = anyOf(
  String.raw`\b(?:nur|höchstens|ohne Anführungs|uniquement|seulement|sans guillemets|sólo|solo|únicamente|sin comillas|apenas|somente|sem aspas|soltanto|senza virgolette|alleen|tylko|bez cudzysł|sadece|yalnızca)`,
  "только|без кавычек|не более|只|仅|直接返回|不要|字以内|个字|のみ|だけ|以内|만 (?:출력|반환|답)|(?:자|단어) 이내",
);

/** Both ends of the gap that a completion fills: nobody but an editor writes them. */
const gap =
  /<[|｜]?(?:fim[_▁](?:prefix|begin)|PRE|editable_region_start|code_to_edit)[|｜]?>[\s\S]*<[|｜]?(?:fim[_▁](?:suffix|hole)|SUF|editable_region_end|\/code_to_edit)[|｜]?>|\[SUFFIX\][\s\S]*\[PREFIX\]/;

/** Longest system prompt of a call that does one small thing. */
const maxInstructionLength = 8_000;

/** A bound on the answer that leaves room for one small thing only. */
const smallAnswerTokens = 512;

/**
 * What kind of housekeeping a call is; undefined when it is somebody's work. It offers no tools, and its instructions, in a
 * system prompt of its own or in its one message, ask for one small thing and for nothing else.
 */
export function housekeepingOf(
  conversation: Conversation,
  requestedOutputTokens: number | null,
): HousekeepingKind | undefined {
  if (conversation.tools.count > 0 || conversation.systemLength > maxInstructionLength) return undefined;
  const { system, newest, closing, turns, usedTools } = conversation;
  const smallAnswer = requestedOutputTokens !== null && requestedOutputTokens <= smallAnswerTokens;
  const bySystem = kindSaidIn(system) ?? smallResultOf(system);
  if (
    bySystem !== undefined &&
    (smallAnswer || system.length < 200 || isBare(system) || choice.ends.test(system) || isBare(newest))
  )
    return bySystem;
  // The program's own words behind the conversation.
  const byClosing = closing === "" ? undefined : kindSaidIn(closing);
  if (byClosing !== undefined && (smallAnswer || isBare(closing))) return byClosing;
  if ((newest.includes("<") || newest.startsWith("[SUFFIX]")) && gap.test(newest)) return "completion";
  // Without a system prompt that says so, the message itself must, and be the whole conversation, or stand at the end of an agent's
  // run whose tools the call leaves out.
  if (turns > 1 && !usedTools && !listOfRules.test(newest) && !programsWords.test(newest)) return undefined;
  const byMessage = kindSaidIn(newest);
  if (byMessage === undefined || makesCode.test(newest)) return undefined;
  // A short system prompt may say no more than how short the answer is to be.
  const bare = smallAnswer || isBare(newest) || (system.length < 200 && isBare(system));
  return bare ? byMessage : undefined;
}

function kindSaidIn(text: string): HousekeepingKind | undefined {
  const kind = kindOrNone(text);
  return kind === "none" ? undefined : kind;
}

const fragmentsOf = ({ fragments }: Instruction) => fragments.split("|").filter((fragment) => fragment !== "");
/** In the order in which they are tried. */
export const allInstructions: readonly Instruction[] = [...instructions, ...furtherInstructions];
const searchFragments = fragmentSearch(allInstructions.map(fragmentsOf));

const kindOrNone = remembered(
  (text): HousekeepingKind | "none" => {
    const found = searchFragments(text);
    if (found === 0) return "none";
    const isLatin = (found & beyondLatin) === 0;
    const said = allInstructions.find(
      ({ word, says }, number) => (!isLatin || (found & (1 << number)) !== 0) && word.test(text) && says.test(text),
    );
    return said === undefined || (isLatin && !anyWord.test(text)) ? "none" : said.kind;
  },
  524_288,
  () => 0,
);

/** What a system prompt asks of every message, whatever stands in it. */
function smallResultOf(system: string): HousekeepingKind | undefined {
  if (system === "" || system.length > choice.maxLength) return undefined;
  if (choice.begins.test(system) && choice.ends.test(system)) return "labels";
  return summaryOfText.test(system) ? "summary" : undefined;
}

function isBare(text: string): boolean {
  return bareResult.test(text) || answersToken.test(text) || furtherBareResult.test(text);
}

/** What is left to be said of the conversation behind the sentence that names it; other words make it a part of the user's work. */
const ofConversation = String.raw`(?:this|the|our|your)(?: \w+){0,2} (?:conversation|session|chat|history|dialogue|discussion)(?=\s*(?:[.,:;!()<\n-]|so far|above|to date|until|up to|below|and|in order|into|provided|$))`;
const compaction = new RegExp(
  [
    String.raw`\b(?:create|write|provide|generate|produce|give)\b[^.\n]{0,60}\b(?:summary|handoff|recap|snapshot)\b[^.\n]{0,20}\b(?:of|for) ${ofConversation}`,
    String.raw`\b(?:create|write|provide|generate|produce)\b[^.\n]{0,60}\b(?:summary|handoff|prompt)\b[^.\n]{0,60}\b(?:(?:another|the next|a new) (?:LLM|model|agent|assistant|session|conversation)|continu\w+ (?:our|the|this) (?:conversation|session|work))\b`,
    String.raw`^\s*(?:please )?(?:summari[sz]e|compact|condense) ${ofConversation}`,
    String.raw`^\s*You have been tasked with (?:summari[sz]ing|compacting)|^\s*The following is a conversation history to be (?:summari[sz]ed|compacted)`,
    String.raw`\b(?:generate|create|update)\b[^.\n]{0,40}<state_snapshot>`,
    String.raw`\b(?:produce|write|create)\b[^.\n]{0,30}\bcheckpoint\b[^.\n]{0,30}\b(?:history|conversation|context) (?:is|gets|will be) (?:compacted|condensed|summari[sz]ed)\b|^\s*The messages above\b[^\n]{0,120}\bsummari[sz]e them\b`,
    String.raw`^\s*(?:please )?summari[sz]e (?:the |all )?(?:key |main )?(?:takeaways?|points|progress|findings|results?)(?: so far)? (?:from|of|in) ${ofConversation}`,
    String.raw`\b(?:extend|update|refine) the (?:\w+ )?summary\b[^.\n]{0,60}\b(?:new messages|messages above|conversation)\b`,
  ].join("|"),
  "im",
);
/** One of these stands in each of them. Most texts hold none, which takes a tenth of the time to find out. */
const compactionWord = /summar|handoff|recap|snapshot|prompt|compact|condense/i;
/** Characters at the beginning within which a request for compaction says what it is. */
const compactionHead = 800;

/** Whether a message asks to compact the conversation that it ends; where that is long, this is work for the model that has it in its cache. */
export function isCompactionRequest(text: string): boolean {
  const head = text.slice(0, compactionHead);
  return compactionWord.test(head) && compaction.test(head);
}
