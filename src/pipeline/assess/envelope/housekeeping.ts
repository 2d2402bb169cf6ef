import type { TaskKind } from "#domain/routing.ts";
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

/** What a title names or a summary sums up, in the languages in which chat programs write their prompts. */
const conversationWords =
  "Unterhaltung|Gespräch|Konversation|discussion|échange|conversación|charla|conversa|conversazione|gesprek|rozmow|czat|диалог|бесед|разговор|переписк|чат|sohbet|konuşma|会话|对话|聊天|讨论|對話|這句話|这句话|会話|チャット|대화|채팅";

function near(one: string, other: string): string {
  return `(?:${one})[^.。\\n]{0,60}(?:${other})|(?:${other})[^.。\\n]{0,60}(?:${one})`;
}

function anyOf(...patterns: readonly string[]): RegExp {
  return new RegExp(patterns.join("|"), "i");
}

/** The instruction of each, in the words that programs use for it. */
const instructions: readonly {
  readonly kind: HousekeepingKind;
  /** Found in every text that says it: one cheap search for all of these rules out nearly every other text. */
  readonly word: RegExp;
  readonly says: RegExp;
}[] = [
  {
    kind: "title",
    word: /\bname|tit[el]|headline|slug|sentence|tytuł|título|заголов|назван|başlı|标题|標題|主题|タイトル|件名|제목/i,
    says: anyOf(
      String.raw`\b(?:title|name|headline) generator\b|\btitelgenerator\b|\btitling assistant\b|\btitles? (?:assistant|expert|writer)s?\b`,
      String.raw`\b(?:generate|create|write|suggest|give|provide|produce|propose|make|craft(?:ing)?|come up with|pick|reply with)\b[^.\n]{0,60}\b(?:(?:titles?|names?|headlines?|slugs?)\b[^.\n]{0,40}\b(?:conversation|chat|thread|session|task|discussion|dialogu?e|topic)|(?:titles?|headlines?)\b[^.\n]{0,40}\b(?:message|request|following content))`,
      String.raw`\b(?:conversation|chat|thread|session|branch) (?:titles?|names?)\b|\b(?:conversation|chat|thread|session)\b[^.\n]{0,20}\ba (?:short )?(?:name|title)\b`,
      String.raw`\bsummari[sz]e\b[^.\n]{0,80}\b(?:in|into|as)\b[^.\n]{0,30}\b(?:title|headline|single short sentence)\b`,
      near(
        String.raw`\btitel|\btitre|\btítulo|\btitolo|tytuł|заголов|назван|başlı[kğ]|标题|標題|主题|タイトル|件名|제목`,
        conversationWords,
      ),
    ),
  },
  {
    kind: "commit_message",
    word: /commit|pull request|pr (?:title|desc|content)|提交|コミット|커밋|коммит/i,
    says: anyOf(
      String.raw`\b(?:(?:generat|writ|creat|compos|produc|craft)\w{1,4}|come up with)\b[^.\n]{0,80}\b(?:commit messages?|pull request (?:titles?|descriptions?)|PR (?:titles?|descriptions?))\b`,
      String.raw`\b(?:description|title|walkthrough)\b[^.\n]{0,20}\b(?:for|of) (?:the|a|this) (?:PR|pull request|merge request|diff)\b|\bauthor of a commit message\b`,
      String.raw`(?:生成|编写|撰写|写)[^。\n]{0,20}提交(?:信息|消息|说明)|提交(?:信息|消息|说明)生成|コミットメッセージを|커밋 메시지를|commit-nachricht|message de commit|mensaje de commit|mensagem de commit|messaggio di commit|сообщение (?:для )?коммита`,
    ),
  },
  {
    kind: "summary",
    word: /summar|zusammen|résum|resum|riassum|samenvat|podsumuj|総|总结|概括|摘要|压缩|要約|まとめ|요약|кратк|резюм/i,
    says: anyOf(
      String.raw`\bsummar(?:i[sz]e|i[sz]ing|y of|ies of)\b[^.\n]{0,60}\b(?:conversations?|chat|dialogu?e|discussion|session|history|transcript|tool output)\b|\bconversations?\b[^.\n]{0,40}\bcreate a [^.\n]{0,20}\bsummary\b|\bstate summary for an?\b`,
      String.raw`\bYou are an? [^.\n]{0,40}\bsummari(?:[sz]er|[sz]ation (?:AI|assistant|engine|model|bot|expert))\b`,
      near(
        String.raw`\bzusammen(?:fass|zu)|\brésum|\bresum|\briassum|\bsamenvat|podsumuj|кратк|резюм|总结|概括|摘要|压缩|要約|まとめ|요약`,
        conversationWords,
      ),
    ),
  },
  {
    kind: "labels",
    word: /tags|question|quer|keyword|emoji|topic|speak|classif|categori|router|extract|grad|relevan|unsafe|safety|situate/i,
    says: anyOf(
      String.raw`\b(?:generate|suggest|produce|extract)\b[^.\n]{0,40}\b(?:tags|follow-?up questions|search quer(?:y|ies)|keywords|emoji)\b|\bnew (?:conversation )?topic\b|\bisNewTopic\b|\bwho should (?:logically )?speak next\b`,
      String.raw`\bYou are an? [^.\n]{0,30}\b(?:classifier|router) (?:for|of)\b[^.\n]{0,40}\b(?:prompts?|requests?|messages?)\b|^\s*(?:your task is to |please )?(?:classify|categori[sz]e|label) (?:the|each|this|a) (?:user(?:'s)? )?(?:message|query|request|prompt|intent|input)\b`,
      String.raw`\bextract(?:ing)?\b[^.\n]{0,60}\b(?:file ?paths|facts|preferences|memories|triplets|named entities)\b|\bYou are an? [^.\n]{0,30}\b(?:grader|moderator|guardrail|information organizer|memory manager)\b|\bgrad(?:e|ing) (?:the )?relevance\b|\bsituate this chunk\b`,
      String.raw`\bunsafe content\b[^.\n]{0,60}\b(?:conversation|messages?|categories)\b|\b(?:choose|select|pick|return)\b[^.\n]{0,30}\btool(?:s|\(s\))?\b[^.\n]{0,60}\bbased on the (?:query|question|request)\b|\b(?:rephrase|rewrite|reformulate)\b[^.\n]{0,60}\bstandalone\b`,
    ),
  },
  {
    kind: "command_check",
    word: /command/i,
    says: /\bcommand[ _-]prefix|\bprefix of (?:the|a|each) command|command_injection_detected|\b(?:determine|classify|decide|check)\b[^.\n]{0,60}\bcommand\b[^.\n]{0,60}\b(?:safe|dangerous|allowed|destructive)\b/i,
  },
  {
    kind: "completion",
    word: /fim[_▁]|cursor|hole|<(?:pre|suf|mid)>|fill|completion|autocomplet|editable_region|code_to_edit/i,
    says: /<\|?(?:fim_(?:prefix|suffix|middle)|cursor|hole)\|?>|<(?:PRE|SUF|MID)>|<｜fim▁|\{\{ ?(?:FILL_HERE|HOLE|CURSOR)[^}]{0,20}\}\}|<\|(?:editable_region|code_to_edit|user_cursor)|\bfill[ -]in[ -](?:the[ -])?(?:middle|blank|hole)\b|\b(?:HOLE FILLER|(?:code )?autocomplet\w+ (?:engine|assistant|model)|code completion (?:engine|assistant|model))\b/i,
  },
  {
    kind: "rewrite",
    word: /dictat|transcri|correct|proofread|punctuat|translat|grammar|spelling|übersetz|traduc|tradui|перевод|перевед|翻译|翻譯|翻訳|번역/i,
    says: anyOf(
      String.raw`^\s*(?:you (?:are|will|clean|correct|fix)|your (?:task|job|role)|please|act as)?[^.\n]{0,60}\b(?:clean(?:s|ing)? up|correct(?:s|ing)?|fix(?:es|ing)?|polish|proofread|punctuate)\b[^.\n]{0,60}\b(?:dictat\w*|transcri\w*|speech|spelling|grammar|punctuation|typos)\b`,
      String.raw`^\s*(?:you are an? [^.\n]{0,40}\btranslat(?:or|ion)\b|(?:please )?translate (?:the|all|any|what|every|from|into|to)\b|(?:du bist|übersetze|traduis|traduce|traduza|traduci|переведи|你是[^。\n]{0,20}翻译|将[^。\n]{0,30}翻译|あなたは[^。\n]{0,20}翻訳))`,
    ),
  },
];
/** Begins of the words above, the Latin ones at the beginning of a word: most places of a text are left after one look. */
const anyWord =
  /\b(?:name|tit[el]|headline|slug|sentence|commit|pull request|pr title|pr desc|pr content|summar|zusammen|resum|riassum|samenvat|podsumuj|tags|question|quer|keyword|emoji|topic|isnewtopic|speak|classif|categori|router|extract|grad|relevan|unsafe|safety|situate|command|fim_|cursor|hole|fill|completion|autocomplet|editable_region|code_to_edit|user_cursor|dictat|transcri|correct|proofread|punctuat|translat|grammar|spelling|tradu|tytu|t[ií]t[ou]l|r[ée]sum)|<(?:pre|suf|mid)>|[üзнбкпр标標主提总概摘压翻コタ件要ま커제요번▁]/i;

/** Programs ask for the bare result; people who ask for a title in a chat do not. */
const bareResult = new RegExp(
  [
    String.raw`\b(?:only|just|nothing else|nothing but)\b[^\n]{0,80}|\bwithout (?:any )?(?:additional|extra|explan|quotes|comment|preamble|using punctuation)|\bno (?:explanations?|quotes|preamble|markdown|additional|punctuation)|\bNEVER (?:explain|respond|answer)|\bdo not (?:include|add|output|use|preface|answer)\b`,
    String.raw`\b(?:max(?:imum)?(?: of)?|at most|≤|<=|fewer than|less than|up to|within)\s*\d{1,5}\b[^\n]{0,20}\b(?:words?|characters?|chars|tokens)|\b(?:\d{1,4}|two|three|four|five|six|seven|eight|ten)[- ](?:words?|characters?) or (?:less|fewer)|\b(?:JSON|YAML)\b|^\s*You are maintaining\b|\bstandalone question:\s*$|\bbinary score\b`,
    String.raw`\b(?:nur|höchstens|ohne Anführungs|uniquement|seulement|sans guillemets|sólo|solo|únicamente|sin comillas|apenas|somente|sem aspas|soltanto|senza virgolette|alleen|tylko|bez cudzysł|sadece|yalnızca)`,
    "только|без кавычек|не более|只|仅|直接返回|不要|字以内|个字|のみ|だけ|以内|만 (?:출력|반환|답)|(?:자|단어) 이내",
  ].join("|"),
  "i",
);
/** Both ends of the gap that a completion fills: nobody but an editor writes them. */
const gap =
  /<[|｜]?(?:fim[_▁](?:prefix|begin)|PRE|editable_region_start|code_to_edit)[|｜]?>[\s\S]*<[|｜]?(?:fim[_▁](?:suffix|hole)|SUF|editable_region_end|\/code_to_edit)[|｜]?>/;

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
  if (conversation.tools.length > 0 || conversation.systemLength > maxInstructionLength) return undefined;
  const { system, newest, closing, turns, usedTools } = conversation;
  const smallAnswer = requestedOutputTokens !== null && requestedOutputTokens <= smallAnswerTokens;
  const asksForLittle = (text: string) => smallAnswer || bareResult.test(text);
  const bySystem = kindSaidIn(system);
  if (bySystem !== undefined && (system.length < 200 || asksForLittle(system) || bareResult.test(newest))) {
    return bySystem;
  }
  // The program's own words behind the conversation.
  if (closing !== "" && asksForLittle(closing)) return kindSaidIn(closing);
  if (gap.test(newest)) return "completion";
  // Without a system prompt that says so, the message itself must, and be the whole conversation, or stand at the end of an agent's
  // run whose tools the call leaves out.
  if (turns > 1 && !usedTools) return undefined;
  return asksForLittle(newest) ? kindSaidIn(newest) : undefined;
}

function kindSaidIn(text: string): HousekeepingKind | undefined {
  if (!anyWord.test(text)) return undefined;
  return instructions.find(({ word, says }) => word.test(text) && says.test(text))?.kind;
}

/** What is left to be said of the conversation behind the sentence that names it; other words make it a part of the user's work. */
const ofConversation = String.raw`(?:this|the|our|your)(?: \w+){0,2} (?:conversation|session|chat|history|dialogue|discussion)(?=\s*(?:[.,:;!()<\n-]|so far|above|to date|until|up to|below|and|in order|$))`;
const compaction = new RegExp(
  [
    String.raw`\b(?:create|write|provide|generate|produce|give)\b[^.\n]{0,60}\b(?:summary|handoff|recap|snapshot)\b[^.\n]{0,20}\b(?:of|for) ${ofConversation}`,
    String.raw`\b(?:create|write|provide|generate|produce)\b[^.\n]{0,60}\b(?:summary|handoff|prompt)\b[^.\n]{0,60}\b(?:(?:another|the next|a new) (?:LLM|model|agent|assistant|session|conversation)|continu\w+ (?:our|the|this) (?:conversation|session|work))\b`,
    String.raw`^\s*(?:please )?(?:summari[sz]e|compact|condense) ${ofConversation}`,
    String.raw`^\s*You have been tasked with (?:summari[sz]ing|compacting)|^\s*The following is a conversation history to be (?:summari[sz]ed|compacted)`,
    String.raw`\b(?:generate|create|update)\b[^.\n]{0,40}<state_snapshot>`,
  ].join("|"),
  "im",
);
/** Characters at the beginning within which a request for compaction says what it is. */
const compactionHead = 800;
/** Messages from which on a conversation has something to be compacted. */
const longConversation = 6;

/** Whether a message asks to compact the long conversation that it ends: work for the model that has it in its cache. */
export function asksForCompaction(text: string, messages: number): boolean {
  return messages >= longConversation && compaction.test(text.slice(0, compactionHead));
}
