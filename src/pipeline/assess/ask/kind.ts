import type { AskFeatures, Level, TaskKind } from "#domain/routing.ts";
import type { Guarded } from "./guarded.ts";
import { Lexicon } from "./lexicon.ts";

/** What an ask wants done, by the words that say so. English, German, French, Spanish, Portuguese, Russian, Chinese and some others. */
const lexicon = new Lexicon({
  summarize: `summar* tl_dr tldr gist synopsis recap digest minutes short_version key_points main_points takeaways condense boil_down in_two_sentences in_one_sentence release_notes
    zusammenfass* fasse résum* resum* riassum* samenvat* vat_samen кратко резюм* суммируй podsumuj streść özetle* özet 总结 摘要 概括 要約 요약* tóm_tắt ringkas* लख सारांश لخص`,
  test: `test tests testing write_test* cover mock* unit_test* integration_test* test_case* test_cases e2e tests specs spec pytest jest vitest junit coverage fixture* smoke_test snapshot_test property_test regression_test
    testfälle testet einen_test testabdeckung prueba* testes teste pruebas тест* testy testów test_yaz testi 测试 单测 テスト 테스트*`,
  review: `review reviews reviewing audit nitpick anything_wrong before_it_goes before_it_goes_public go_through look_over have_a_look take_a_look feedback comment_on critique opinion check_my check_this_pr proofread_before überprüf* begutachte relis* revois revisa* revise проверь recenzj* 审查 评审 レビュー 리뷰*`,
  public: `public publish* open_source pull_request pr prs pr_description patch upstream contribution contributor* maintainer* blog_post conference talk press post paper abstract changelog readme before_we_publish before_i_publish announcement apache mit_licensed veröffentlich* quelloffen* publi* código_abierto открыт* опубликов* 公开 开源 公開 オープンソース 오픈소스 공개*`,
  classify: `classif* categor* sentiment label labels spam bucket triage tag assign_severity true_or_false which_category which_of_these one_of put_each sort_these sort_into group_these is_this_a rate_each priorit* priority_of positive_or_negative
    klassifizier* kategorisier* ordne class* clasifica* classifique etikett* классифицируй категор* sklasyfikuj kategori* 分类 归类 分類 振り分け 분류* phân_loại klasifikasi* वर्गीकृत صنف`,
  research: `research compare comparison papers literature best_practices state_of_the_art alternatives options pros_and_cons survey investigate_options look_into find_out evaluate_whether which_library which_libraries what_do_people who_uses vs versus benchmark_of landscape trade_offs_between recherch* vergleich* comparez comparatif compara* investiga pesquis* исследуй сравни* porównaj karşılaştır* araştır* 调研 比较 对比 研究 調べ 比較 調査 비교* 조사* so_sánh bandingkan तुलना قارن`,
  design: `design architect* monolith boundaries sharding tenancy multi_tenant layering decouple trade_offs scale_to how_do_we_scale strategy_for where_should which_pattern system_design draw_up blueprint how_should_we how_would_you_structure module_boundaries structure_the split_the_monolith split_into event_driven microservice* data_model adr rfc propose_a plan_for_moving bounded_context sketch_a high_level plan roadmap entwirf* entwerf* architektur* conçois concevoir conception diseña* arquitectura projete arquitetura progetta спроектируй архитектур* zaprojektuj architektur* tasarla* mimari* 设计 架构 规划 設計 アーキテクチャ 설계* 아키텍처* thiết_kế rancang* डिज़ाइन صمم`,
  failure: `bug bugs fix fails failing failed failure error errors exception crash* traceback stack_trace broken breaks debug wrong panic deadlock* hang hangs leak leaks flaky intermittent* doesn_t_work not_working won_t stopped_working unexpected
    root_cause off_by undefined segfault throws overflow* timeout times_out timing_out slow stuck returns_nan nan null_pointer blank_page empty_page 500 502 404 nothing_happens no_longer why_is_my why_does_my why_do_i figure_out_why find_out_why what_s_wrong regression memory_leak race_condition infinite_loop
    fehler* behebe beheb* absturz abstürz* hängt funktioniert_nicht erreur* corrige échoue plante fallo falla error* erro corrija errore ошибк* исправь падает зависает не_работает błąd błędu napraw hata* çöküyor çalışmıyor 错误 报错 修复 崩溃 调试 失败 卡住 エラー バグ 落ち 動かない 直し 오류* 에러* 버그* 고쳐* lỗi त्रुटि خطأ`,
  coding: `write implement create build add make develop generate convert refactor code program change update remove rename set_up setup port migrate replace move extend integrate configure optimi* bump upgrade wire hook extract split inline expose support let return drop delete handle introduce turn switch use adjust replace clean_up parse print cache log parallelize vectorize script
    schreib* erstell* implementier* baue füge ersetze ändere écris écrire crée implémente ajoute développe remplace escribe crea implementa añade agrega desarrolla cambia escreva crie implemente adicione desenvolva scrivi aggiungi crea voeg schrijf maak напиши создай реализуй добавь замени перепиши napisz dodaj zaimplementuj zamień yaz ekle oluştur* 写 编写 实现 创建 添加 构建 开发 优化 改成 加 作成 実装 追加 書い 변경 만들* 추가* 작성* 구현* viết thêm tạo buat tambah* लिख जोड़ أضف اكتب`,
  prose: `poem story essay haiku song joke recipe email_to letter slogan toast speech limerick translate translation rephrase paraphrase proofread grammar tone dinner birthday vacation trip holiday capital_of how_old how_many how_much what_is_the_weather gedicht geschichte übersetz* poème traduis poema traduc* traduz* стих* переведи wiersz przetłumacz şiir çevir* 写一首 翻译 诗 詩 翻訳 번역* 시를 dịch terjemah* कविता अनुवाद ترجم`,
  ask: `explain* describe what why how which who when where tell is are does do can_you_explain difference should meaning mean define erklär* beschreib* was warum wie welche expliqu* décri* qu_est pourquoi comment explica* qué por_qué cómo cuál o_que como spiega cos_è perché объясн* опиши что почему как чем wyjaśnij dlaczego co jak açıkla* nedir neden nasıl 解释 什么 为什么 如何 说明 怎么 なぜ とは 教えて 説明 왜 무엇 설명* giải_thích jelaskan apa समझा क्या اشرح ما`,
  software: `function functions method class script code api endpoint component server client library module query sql regex python java javascript typescript rust golang html css json yaml docker* kubernetes k8s terraform helm
    database cache queue parser compiler algorithm cli app website page form repository repo git branch react vue svelte django flask fastapi spring rails array dict loop recursive data_structure github webhook websocket dark_mode settings service pipeline ci build config migration schema handler worker job cron button modal table field input
    funktion skript programm klasse fonction programme función programa clase função classe funzione программ* функци* скрипт класс funkcj* skrypt fonksiyon* betik 函数 脚本 程序 代码 接口 算法 类 関数 スクリプト 함수* 스크립트*`,
});

/** Words into an ask within which its deed is named, and those within which it opens. */
const early = 10;
const opening = 4;
const longReport = 60;
/** Characters that are read. */
const readLength = 1_000;

/** The kind of work an ask is: what is to be done goes before what it is about, and the words in front before those behind. */
export function kindOf(ask: string, features: AskFeatures, guarded: Guarded | undefined): TaskKind {
  if (guarded !== undefined) return guarded.kind;
  const named = lexicon.read(ask, 0, Math.min(ask.length, readLength));
  const first = (tag: Parameters<typeof named.first>[0]) => named.first(tag);
  const technical = features.code_lines >= 3 || named.has("software");
  const deed = first("coding");
  if (first("summarize") < early && first("summarize") <= Math.max(opening, deed)) return "SUMMARIZE";
  if (first("review") < early && named.has("public")) return "PUBLIC_REVIEW";
  if (first("classify") < opening || (first("classify") < early && deed > early)) return "CLASSIFY";
  if (first("test") < early && !(first("failure") < first("test"))) return "TEST";
  if (first("prose") < early && !technical) return "OTHER";
  if (first("research") < opening + 1 || (first("research") < early && deed > early)) return "RESEARCH";
  if (first("design") < opening + 1 && first("design") <= deed) return "ARCHITECTURE";
  // A long text about parts of a program that orders nothing tells of what goes wrong.
  if (features.distinct_words > longReport && technical && deed >= opening) return "DEBUG";
  if (first("failure") < early && (technical || deed > opening || first("failure") < 3)) return "DEBUG";
  if (first("ask") < 2 && deed > opening) return first("failure") < 2 * early && technical ? "DEBUG" : "OTHER";
  if (deed < early) return "CODING";
  if (named.has("failure") && technical) return "DEBUG";
  return technical && features.code_lines > 0 ? "CODING" : "OTHER";
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
