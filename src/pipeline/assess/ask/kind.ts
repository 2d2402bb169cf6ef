import type { Level, TaskKind } from "#domain/routing.ts";
import type { AskText } from "./ask-text.ts";
import type { Guarded } from "./guarded.ts";
import { Vocabulary } from "./terms.ts";

/** What an ask wants done, by the words that say so. English, German, French, Spanish and Portuguese, Russian, Chinese. */
const vocabulary = new Vocabulary({
  summarize: `summar* tl_dr gist synopsis recap digest minutes short_version main_findings one_sentence two_line condense zusammenfass* fasse résum* resum* resume кратко резюмируй суммируй 总结 摘要 概括`,
  explain: `explain* describe what why how which who when where tell walk is are does do can_you_explain difference erklär* beschreib* was warum wie expliqu* décri* pourquoi comment explica* qué por_qué cómo explique o_que como
    объясн* опиши что почему как чем 解释 什么 为什么 如何 说明`,
  test: `tests unit_test unit_tests integration_test a_test smoke_test specs pytest jest vitest coverage fixture test_case test_cases e2e smoke_test einen_test testfälle einheitentest* teste prueba pruebas тест* 测试`,
  review: `review audit look_over have_a_look feedback comment_on critique überprüf* begutachte revois revisa revise проверь 审查 评审 check`,
  public: `public published open_source apache mit_licensed release changelog`,
  classify: `classify classification categor* sentiment label labels spam bucket flag tag assign_severity true_or_false which_category one_of put_each klassifizier* kategorisier* classe classez clasifica classifique классифицируй 分类 归类`,
  write: `poem story essay blog_post haiku song joke recipe email letter slogan translate translation rewrite paraphrase rephrase proofread formal tone gedicht geschichte übersetze poème traduis poema traduce стих* переведи 写一首 翻译`,
  prove: `prove proof derive derivation induction theorem beweis* démontre* prouve* demuestra demonstre prove_que докажи выведи 证明 推导`,
  design: `design architecture system_design draw_up blueprint how_should_we how_would_you which_approach module_boundaries trade_offs entwirf entwerfe plane conçois diseña planifica projete планиру* спроектируй разработай_архитектуру 设计 规划 架构`,
  plan: "plan roadmap planiere plane planifie planifica планируй 规划",
  platform: "platform plattform plateforme plataforma платформ* 平台",
  research: `research compare comparison papers best_practices alternatives options pros_and_cons survey investigate_options look_into who_uses vergleiche compare comparez compara сравни 比较 对比 调研`,
  failure: `bug bugs fix fails failing failed failure error errors exception crash* traceback broken debug wrong panic deadlock* hang hangs leak leaks flaky intermittent* doesn_t_work not_working stopped_working unexpected
    root_cause debug* off_by refused drops should_i_check depur* debugge debuggen debugue* débogu* отлад* investigate undefined segfault throws overflow* timeout slow stuck returns_nan fehler* behebe absturz erreur corrige échoue plante fallo falla erro corrija ошибк* исправь падает не_работает 错误 报错 修复 崩溃 调试 失败 找出`,
  order: `write implement create build add make develop generate convert refactor code program change update remove set_up setup port migrate replace rename move extend integrate configure optimize give
    schreib* erstell* implementier* baue füge écris écrire crée implémente ajoute développe escribe crea implementa añade desarrolla escreva crie implemente adicione desenvolva напиши создай реализуй добавь 写 编写 实现 创建 添加 构建 开发 优化`,
  software: `function functions method class script code program api endpoint component server client library module query sql regex python java javascript typescript rust golang c++ html css json yaml docker* kubernetes
    database cache queue parser compiler algorithm cli app website page button form test repository git branch react django flask fastapi spring rails array string list dict loop recursive data_structure github wheel websocket dark_mode settings
    funktion skript programm fonction programme función programa função программ* функци* скрипт 函数 脚本 程序 代码 接口 算法 类`,
  sum: "how_many how_much what_is_the calculate compute find_the evaluate solve determine",
});

/** Words into an ask within which its deed is named, and those within which it opens. */
const early = 12;
const opening = 5;
/** Words that are read at all. */
const reach = 100;
const verbLast = /[\u3040-\u30ff\uac00-\ud7af\u0900-\u097f]/;

/** The kind of work an ask is. What is to be done goes before what it is about: a summary of a text on logins is a summary. */
export function kindOf(text: AskText, guarded: Guarded | undefined): TaskKind {
  const { features, words, unspaced } = text;
  const named = vocabulary.read(text, reach);
  type Tag = Parameters<typeof named.first>[0];
  const within = (tag: Tag, reach: number) => named.first(tag) < reach;
  // A question with answers to choose from is a quiz, whatever words stand in it.
  if (words.length + unspaced.length === 0 || (features.options >= 3 && features.code_lines < 3)) return "OTHER";
  if (guarded !== undefined) return guarded.kind;
  // A list of words asks for nothing.
  if (2 * features.commas > features.words && features.numbers + features.code_lines === 0) return "OTHER";
  const code = features.code_lines >= 3 || features.trace_lines > 0;
  const technical = code || features.identifiers > 0 || named.count("software") > 0;
  const orders = within("order", opening) || (verbLast.test(unspaced) && named.count("order") > 0);
  const asks = within("explain", 2);
  // A long text that orders nothing and names parts of a program tells of what goes wrong.
  const report = words.length > 50 && !orders && (named.count("failure") > 1 || features.identifiers >= 8) && technical;
  const failing = features.trace_lines > 0 || (within("failure", early) && !within("order", 2)) || report;
  const formulas = features.math_signs >= 6 && !code && features.identifiers === 0;

  if (within("summarize", opening)) return "SUMMARIZE";
  if (within("review", early) && named.count("public") > 0) return "PUBLIC_REVIEW";
  if (within("test", opening) || (within("test", early) && orders && !code)) return "TEST";
  if (within("classify", opening) && !orders) return "CLASSIFY";
  if ((within("write", early) && !technical) || within("prove", opening)) return "OTHER";
  if (within("design", opening) || (within("plan", 2) && technical)) return "ARCHITECTURE";
  if (within("platform", early) && features.commas >= 2) return "ARCHITECTURE";
  if (within("research", opening)) return "RESEARCH";
  if (failing && !formulas && (technical || !asks)) return "DEBUG";
  if (code) return "CODING";
  if (asks || formulas || (features.numbers >= 2 && named.count("sum") > 0 && !orders)) return "OTHER";
  return orders && !within("review", opening) ? "CODING" : "OTHER";
}

/** How much harm a wrong answer could do, and how far it would reach. */
export interface Risk {
  readonly risk_level: Level;
  readonly blast_radius: Level;
}

/** HIGH sends a guarded kind to the senior model by a hard rule; CRITICAL is destruction in production. */
export function riskOf(kind: TaskKind, guarded: Guarded | undefined): Risk {
  const live = guarded?.live === true;
  switch (kind) {
    case "DESTRUCTIVE_MIGRATION":
      return { risk_level: live ? "CRITICAL" : "HIGH", blast_radius: "HIGH" };
    case "SECURITY":
    case "AUTH":
    case "PAYMENT":
      return { risk_level: "HIGH", blast_radius: live ? "HIGH" : "MEDIUM" };
    default:
      return { risk_level: "LOW", blast_radius: "LOW" };
  }
}
