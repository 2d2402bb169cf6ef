import { type ChatMessage, isSystemRole } from "#domain/chat.ts";
import { memoizeByMessage } from "#domain/known-message.ts";
import type { TaskKind } from "#domain/routing.ts";
import { Lexicon, type Named } from "#pipeline/assess/ask/lexicon.ts";
import type { Conversation } from "./conversation.ts";
import { textOf, windowOf } from "./text.ts";

/** Calls that an agent or a chat program makes for itself, not for its user's work. */
export type HousekeepingKind = "title" | "commit_message" | "summary" | "labels" | "completion" | "rewrite";

/** The kind of task that a housekeeping call is. */
export const taskKindOf: { readonly [K in HousekeepingKind]: TaskKind } = {
  title: "SUMMARIZE",
  commit_message: "SUMMARIZE",
  summary: "SUMMARIZE",
  labels: "CLASSIFY",
  completion: "CODING",
  rewrite: "OTHER",
};

/** What such a call asks for, what it is about, and that it wants nothing else. */
const lexicon = new Lexicon({
  title:
    "title* titling headline* slug branch_name name_for name_of short_name session_name titel* titre* título* titolo* tytuł* заголов* назван* başlı* 标题 標題 名称 タイトル 件名 제목*",
  commit_message:
    "commit_message* commit_title git_commit pull_request_title pull_request_description pr_title pr_description changelog_entr* commit-nachricht* message_de_commit mensaje_de_commit коммит* 提交信息 提交消息 コミットメッセージ 커밋_메시지*",
  summary:
    "summar* recap* condense compact compress* digest zusammenfass* fasse résum* resum* riassum* samenvat* podsumuj* резюм* кратко 总结 概括 摘要 压缩 要約 요약*",
  labels:
    "tags keywords labels classif* categor* sentiment relevance relevant intent intents follow_up follow-ups router next_speaker new_topic topic_change facts entities prefix schlagw* étiquettes etiquetas теги 标签 关键词 タグ 키워드*",
  rewrite:
    "rephrase* reword* enhance* improved_prompt rewritten improve_the_prompt user_s_prompt prompts translat* proofread* dictation transcri* standalone übersetz* tradu* перевед* 翻译 翻訳 번역*",
  talk: "conversation* chat* thread session* discussion dialog* history transcript message messages tab topic diff* unterhaltung* gespräch* conversación conversa charla диалог* разговор* переписк* 会话 对话 聊天 会話 チャット 대화*",
  software: "function functions class script component page service endpoint module feature button repository code app",
  bare: "only just nothing_else concise* brief* short no_quotes without_quotes quotes preamble punctuation do_not_include don_t_include json one_line single_line word_title words characters nur höchstens uniquement seulement sólo solo únicamente apenas somente alleen tylko только 只 仅 不要 のみ だけ 만",
});

/** Both ends of the gap that a completion fills: nobody but an editor writes them. */
const gaps = [
  ["<|fim_prefix|>", "<|fim_suffix|>"],
  ["<fim_prefix>", "<fim_suffix>"],
  ["<PRE>", "<SUF>"],
  ["[PREFIX]", "[SUFFIX]"],
  ["<CURSOR_MARKER", "</"],
  ["{{FILL_HERE}}", ""],
] as const;

/** Longest system prompt of a call that does one small thing, and what is read of one. */
const maxInstructionLength = 4_000;
const systemRead = 1_500;
/** Words into a system prompt within which the one thing is named. */
const instructionReach = 40;
/** A program says what it wants first or last; between stands what it is about. */
const orderHead = 400;
const orderTail = 300;
/** A bound on the answer that leaves room for one small thing only. */
const smallAnswerTokens = 512;

/**
 * What kind of housekeeping a call is; undefined when it is somebody's work. It offers no tools, and its instructions, in a system prompt
 * of its own or at an edge of its one message, name one small thing to be made of a conversation and nothing beside it. A wrong guess
 * costs nothing: such asks are small.
 */
export function housekeepingOf(
  conversation: Conversation,
  messages: readonly ChatMessage[],
  requestedOutputTokens: number | null,
): HousekeepingKind | undefined {
  if (conversation.tools.count > 0) return undefined;
  const smallAnswer = requestedOutputTokens !== null && requestedOutputTokens <= smallAnswerTokens;
  const text = textOf(conversation.newest?.["content"]);
  if (gaps.some(([open, close]) => text.includes(open) && text.includes(close))) return "completion";
  const newest = orderIn(windowOf(text, orderHead, orderTail));
  const system = conversation.system === undefined ? undefined : instructionOf(conversation.system);
  if (system?.kind !== undefined && (smallAnswer || system.isBare || newest.isBare)) return system.kind;
  const own = messages.filter(({ role }) => !isSystemRole(role)).length;
  const last = messages.at(-1);
  // The program's own words behind the conversation, or a message that is the whole of it.
  const closing = own > 0 && last !== undefined && isSystemRole(last.role) ? instructionOf(last) : undefined;
  if (closing?.kind !== undefined) return closing.kind;
  const isOrder = newest.kind !== undefined && newest.isAboutTalk && (own === 1 || smallAnswer || newest.isBare);
  return isOrder && (smallAnswer || newest.isBare || system?.isBare === true) ? newest.kind : undefined;
}

interface Order {
  readonly kind: HousekeepingKind | undefined;
  readonly isBare: boolean;
  readonly isAboutTalk: boolean;
}

const kinds = ["title", "commit_message", "summary", "labels", "rewrite"] as const;

function orderIn(text: string, reach = Number.POSITIVE_INFINITY): Order {
  const named: Named<(typeof kinds)[number] | "talk" | "bare" | "software"> = lexicon.read(text.toLowerCase());
  let kind: (typeof kinds)[number] | undefined;
  for (const each of kinds) if (named.first(each) < (kind === undefined ? Infinity : named.first(kind))) kind = each;
  const isAboutTalk = (named.has("talk") || kind === "commit_message" || kind === "rewrite") && !named.has("software");
  if (kind !== undefined && named.first(kind) > reach) kind = undefined;
  return { kind, isBare: named.has("bare"), isAboutTalk };
}

/** What a system prompt orders of every message. */
const instructionOf = memoizeByMessage(({ content }): Order => {
  const text = textOf(content);
  return orderIn(text.length > maxInstructionLength ? "" : text.slice(0, systemRead), instructionReach);
});

/** Whether a message behind others asks to sum up the conversation: work for the model that has it in its cache. */
export const asksToCompact = memoizeByMessage(({ content }) => {
  const named = lexicon.read(textOf(content).slice(0, orderHead).toLowerCase());
  return named.first("summary") < 12 && named.has("talk") && !named.has("software");
});
