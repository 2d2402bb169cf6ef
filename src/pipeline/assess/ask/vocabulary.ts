import { furtherTermsOf } from "./more-languages.ts";

/**
 * The words by which an ask is read, as data; further languages are in `more-languages.ts`.
 * One blank separates terms; `_` stands for a blank inside a term; a trailing `*` lets a term be the beginning of a
 * longer word. Chinese terms match anywhere, as that script has no blanks.
 */
const vocabulary = {
  // What is to be done.
  summarize:
    "summar* summary tl;dr tldr the_gist synopsis recap condense shorten abridge into_minutes meeting_minutes key_points main_points main_findings key_takeaways takeaways short_version briefly_describe brief_overview brief_summary zusammenfass* fasse kurzfassung résum* resum* sintetiz* кратк* резюм* обобщи* суммир* 总结 概括 摘要 概述 归纳 简述 bullet_points in_a_nutshell sum_up boil_down abstract_of what_did_the what_was_decided wrap-up executive_summary highlights_of resumen résumé riassum* samenvatt* 要約 boil_this_down boil_it_down what_happened_in bullets",
  classify:
    "classif* categori* sentiment_of sentiment one_label label_the label_each bucket_the which_category which_label spam true_or_false tag_each assign_severity assign_priority put_each sort_these sort_the_following group_these triage is_this_a is_this_e-mail is_this_email klassifiz* kategoris* einordn* catégoris* clasifi* categoriz* классифиц* категориз* 分类 归类 标注 情感 positive_or_negative or_negative tag_these tag_the into_categories into_groups into_buckets decide_whether decide_if determine_whether which_language_is which_of_these_categories or_not rate_each score_each assign_one assign_each detect_the_language detect_the_sentiment intent_of one_of_these which_team which_department which_topic relevant_or spam_or ham_or yes_or_no which_type ordne_diese assign_a_label assign_a_category assign_a_priority assign_a_severity flag_the_sentences flag_the_messages flag_the_comments which_of_the_following_emails which_of_the_following_messages which_of_these anger_or joy_or",
  testing:
    "unit_test* write_tests write_test add_tests add_test e2e end_to_end_test* end-to-end_test* integration_test* smoke_test* regression_test* snapshot_test* property_test* load_test* test_suite test_cases test_case test_plan test_coverage branch_coverage coverage fixture fixtures pytest vitest jest mocha junit playwright mock mocks tests_for test_for tests_that test_that tests_proving a_test unittest* modultest* tests_unitaires pruebas_unitarias testes_unitários тест* юнит-тест* 单元测试 集成测试 测试用例 编写测试 写测试 with_tests in_the_tests spec specs cypress selenium testing cover_the write_a_test missing_in_this_test test_cases_are tests test_for_the parametrized parametrised doctest testcontainers fuzz fuzzing benchmark_test mutation_testing write_unit_test* test_scenarios",
  debugging:
    "debug* how_do_i_fix how_do_i_trace how_do_i_profile how_do_i_track how_can_i_fix what_should_i_check what_could_cause where_do_i_start times_out timed_out returns_500 errores_500 erros_500 drops out_of_memory inconsistent overpredicts jitters drifts false_positives false_alarms connection_refused merge_conflict stopped figure_out_which comment_tracer как_найти_причину возвращает_500 误报 bug bugs buggy crash* traceback stack_trace stacktrace segfault* exception exceptions panic: goroutine deadlock deadlocks race_condition hangs freezes root_cause fails failing failed failure not_working doesn't_work does_not_work doesnt_work stopped_working broken why_does why_is_my what_is_wrong what's_wrong wrong_result unexpected_token undefined_is_not nullpointerexception typeerror valueerror keyerror segmentation_fault module_not_found index_out_of_range assertion_failed econnreset econnrefused etimedout memory_leak leaks intermittent* flaky overflows troubleshoot* diagnos* regression error errors fehler fehlersuche stürzt absturz funktioniert_nicht erreur plante échoue corrige débog* falla fallo error_al depur* erro falha quebra ошибк* отлад* падает сломал* не_работает 调试 报错 错误 崩溃 修复 为什么不 异常 死锁 keeps misses exits exited frozen hang stuck blank_screen white_screen find_out_why find_the_problem what_is_going_on what's_going_on what_went_wrong what_is_causing no_longer stops core_dump why_are why_do why_doesn't why_don't why_isn't why_can't duplicates_appear returns_duplicates returns_null returns_undefined undefined nan null_pointer infinite_loop off-by-one exit_code status_500 http_500 gives_me gives_an throws thrown unexpected unexpectedly incorrect incorrectly wrong slow_since out_of_sync not_showing doesn't_show does_nothing not_found doesn't_start won't_start can't_connect cannot_connect disconnects randomly sometimes hängt geht_nicht warum pourquoi por_qué почему 为什么 tests_pass tests_fail test_fails tests_are_failing failing_test failing_tests fix_the_test instead_of slower longer_since since_monday dig_into twice crashloopbackoff returns_403 returns_404 returns_401",
  /** What is wanted is the cause of something, and not yet a change. */
  seekingCause:
    "how_do_i_debug how_do_i_trace how_do_i_profile how_do_i_track where_do_i_start where_should_i_start where_do_i_look what_could_cause what_might_cause what_should_i_check how_do_i_find_out how_do_i_diagnose",
  designing:
    "architect* design designing system_design high_level_design high-level_design microservices modular_monolith monolith* module_boundaries bounded_context* event-driven event_sourcing cqrs multi-region active-active disaster_recovery scalab* distributed error_handling_strategy deployment_strategy strategy_across migration_strategy migration_path tradeoff* trade-off* which_pattern entwirf* entwerfe architektur conçois conception concevoir diseña diseñ* arquitect* projete projetar desenhe спроектир* архитектур* 设计 架构 系统设计 规划 how_would_you_structure how_would_you_design how_would_you_organize data_model domain_model sketch_the caching_strategy sharding_strategy event_bus service_boundaries api_gateway system_architecture target_architecture blueprint hexagonal domain-driven lay_out_the module_structure folder_structure describe_the_high_level_design describe_the_architecture describe_the_design",
  reviewing:
    "review* feedback have_a_look take_a_look look_over comment_on critique proofread anything_obviously check_this check_our überprüf* revis* ревью 审查 评审 点评 give_feedback look_at look_through suggest_improvements opinion_on code_review spot_problems critique_the",
  publicness:
    "public open_source open-source opensource published oss gist github_repo public_repo our_public release_notes changelog apache-2.0 mit-licensed license_header öffentlich* libre código_abierto открыт* 开源 公开 my_github on_github github_project blog_post public_docs website open_pull_request on_npm on_pypi public_api npm_package",
  researching:
    "research compare comparison versus vs 有什么区别 区别是什么 pros_and_cons best_practices state_of_the_art survey_of find_papers papers literature what_options options_are_there alternatives which_countries look_into who_uses examples_with_links how_do_large cite evaluate_whether should_we_care benchmark_of vergleich* comparer comparaison compara* сравн* исследу* 比较 对比 调研 研究 find_out_which which_companies which_libraries which_tools which_frameworks investigate_which survey recent_work options_for options_are what_does_the_literature what_does_research state_of market_overview benchmarks_of how_do_other what_are_the_alternatives trends_in studies evidence_for list_sources cite_sources links_to recherche_sur overview_of which_embedding_models which_models find_numbers recherchier*",
  coding:
    "implement* function class method refactor* write_a_function script cli regex endpoint component parser compile typescript javascript python rust golang java c++ c# kotlin swift sql react vue svelte django flask html css bash dockerfile github_action workflow module algorithm websocket token_bucket dark_mode generate_types types_from add_support programm* funktion schreib* implementier* écris implémente* fonction escribe implementa* función escreva função напиши реализ* функци* 编写 实现 函数 代码 写一个 脚本 api_endpoint rest_endpoint hook webhook query dataframe array json yaml csv xml http_client docker kubernetes makefile decorator generics interface_for enum struct linked_list binary_tree hash_map hashmap stack_data queue_class recursion recursive loop variable code api library package snippet",
  explaining:
    "explain* what_is what_are what's what_does define definition meaning_of how_does how_do describe difference_between tell_me who_is who_was who_wrote when_was when_did where_is how_many how_old how_tall erklär* was_ist was_sind expliqu* qu'est-ce explica* qué_es o_que_é что_такое объясни* 什么是 解释 是什么",
  rewriting:
    "translate* translation rewrite rephrase paraphrase more_formal say_it_in how_do_you_say in_french in_german in_spanish convert_this proofread tone übersetz* tradui* traduc* traduz* перевед* переведи 翻译 改写 润色",
  acting:
    "add fix implement integrate handle issue switch make log replace change update set remove rotate export create allow enable disable enforce scan require protect support migrate füge ergänze behebe ajoute corrige añade agrega arregla adicione добавь исправь 添加 增加 修改 实现 集成 build write rename extract port convert upgrade bump generate set_up setup split merge move delete introduce expose wire hook_up extend apply retry charge let rewrite use turn improve cleanup clean_up simplify speed_up cache paginate deploy configure install parse validate send store encrypt sanitize schreibe baue erstelle ersetze crée crea implementa implemente написать создай 创建 构建 show give",
  greeting:
    "hello hi hey thanks thank_you good_morning good_evening yes no ok okay bonjour hallo hola olá привет спасибо да 你好 谢谢 joke haiku poem recipe",
  creative:
    "story poem haiku joke slogan tagline brainstorm* ideas_for lyrics essay blog_post gedicht poème poema стих* 故事 诗 short_story short_analogy error_message_that funny",

  // What it is about.
  security:
    "security_audit security_issue* security_hole* security_headers security_analysis security_review vulnerab* exploit* xss csrf ssrf sql_injection sqli command_injection sanitiz* cryptograph* pentest* 零信任 penetration_test* threat_model* owasp cve cves store_secrets private_key api_key_leak* leaked_key malware ransomware redos zip-slip path_traversal prototype_pollution hsts csp x-frame-options cors rate_limits_and bug_bounty attack_vector* hardening harden is_md5 is_sha1 sandbox_escape zero-trust sicherheit* schwachstell* sécurité vulnérab* seguridad segurança безопасн* уязвим* 安全 漏洞 加密 攻击 注入 leaked leaks_secrets aws_key exposed_key key_rotation secret_scanning xxe deserialization clickjacking privilege_escalation ransom brute_force brute-force allow_list_for input_validation csp_header signed_url content_security_policy open_redirect idor rotate_the_api_key phishing_protection content_type_sniffing credentials_in secrets_in cannot_run_scripts run_scripts",
  securityWeak:
    "security secure encrypt* decrypt* certificate secrets attacks md5 zero-trust secure_the supply_chain sha1 tls hashing dependencies_for sign_the signature_check signature_verification verify_signatures verify_the_signature digital_signature signed_cookie signed_cookies code_signing sandbox firewall waf",
  auth: "oauth oauth2 oidc openid saml sso jwt passkey* webauthn mfa 2fa totp rbac abac login_flow sign_in_with single_sign-on authenticat* authoriz* authoris* permission_check permissions access_control session_token* refresh_token* access_token* api_tokens password_reset password_hash* bcrypt argon2 failed_login* basic_auth session_expir* sessions_expire role-based anmeld* authentifi* autentic* авториз* аутентиф* 认证 授权 鉴权 单点登录 bearer_token* access_tokens auth_token* tokens_never_expire okta auth0 keycloak cognito ldap active_directory role_based two-factor multi-factor otp token_refresh forgot_password only_admins only_owners only_project_owners jwts",
  authWeak:
    "auth login logins logout signin signup session sessions password passwords user_roles roles permission scopes invite passwort mot_de_passe contraseña senha пароль 登录 密码 权限 logged_in logged_out log_in session_lifetime magic_link sign-in sign-up credentials user_accounts admin_area session_cookie",
  payment:
    "payment* paypal stripe checkout refund* invoice* billing card_form 3-d_secure 3ds chargeback* payout* ledger_entry price_ids tax-inclusive pci sepa zahlung* rechnung* bezahl* paiement* facturation facture* pago* factura* pagamento* fatura* платеж* оплат* счёт 支付 付款 退款 发票 账单 prorat* vat apple_pay google_pay card_payment* charge_customers charge_the_card billing* invoicing dunning subscription_plan* merchant acquirer klarna adyen braintree billed direct_debit coupon_logic",
  paymentWeak:
    "subscription subscriptions subscriber subscribers charge charges credit_card* wallet wallets accountant donation* upgrades_the_plan customer_upgrades donations cart_total discount coupon price_calculation sales_tax",
  destructive:
    "drop_table drop_the drop_column drop_database drop_index truncate_table truncate_the_table truncate_tables truncate_all purge_every purge_all purge_the purge_old purge wipe wipes delete_all drop_all drop_every delete_the delete_every delete_old hard-delete irreversible* destructive rm_-rf force_push force-push rewrite_history rewritten_history overwrite_the reset_the_production reset_the_database kubectl_delete terraform_destroy remove_the_old_table remove_old_data recreate_the_index collapse_the collapsing lösche_alle supprime_les borra* elimina_todas apague_todos удали_все 删除所有 清空 删库 rm erase destroy nuke",
  deleting:
    "truncate drop drops delete deletes deleting remove removes removing overwrite overwrites reset resets recreate collapse dropping purging prune lösche löschen supprime supprimer elimina eliminar borra apaga удали удалить 删除 移除",
  everything:
    "all every old legacy unused inactive older_than entire whole permanently irreversibl* unrecoverable for_good their_data its_data alle alte tous toutes todos todas все старые 所有 全部",
  inMemory:
    "list array dataframe pandas dict string set object variable file csv excel numpy in_python in_javascript in_java element elements item items duplicate duplicates css class button import imports comment comments whitespace argument arguments parameter parameters dead_code print_statement print_statements debug_print debug_prints console_logs annotation annotations semicolon semicolons blank_lines line lines prop props",
  intermittent:
    "sometimes occasionally sporadic* intermittent* randomly rarely now_and_then from_time_to_time every_so_often once_in_a_while at_random under_load at_peak peak_traffic after_a_few_hours after_a_few_days after_some_hours over_days every_few_hours in_rare_cases very_rarely manchmal gelegentlich sporadisch parfois a_veces às_vezes a_volte soms czasami иногда bazen 有时 偶尔 時々 たまに 가끔",
  migrating: "migrat* backfill* schema_change* alter_table data_migration migrier* миграц* 迁移",
  data: "table tables database databases schema column columns records rows bucket buckets snapshot snapshots volume volumes namespace namespaces backup backups datenbank* base_de_données bases_de_datos база* 数据库 表 users customers tenant tenants accounts cluster clusters disk persistent redis s3 collection collections partition partitions topic orders history customer_tables uploads server soft-deleted index branch master_branch main_branch record legacy_users topics primary_key primary_keys foreign_keys indexes uuid",
  production:
    "production prod live_system live_database live_customers all_customers all_users all_subscribers customer_data produktion en_producción em_produção продакшн* боев* 生产环境 线上 in_place live_data",
  interface:
    "css button page style styles colour color layout label tooltip icon font margin padding typo wording text placeholder header footer navbar menu",

  software:
    "app application page screen form field table endpoint api server client service services worker module function component database query config configuration build pipeline container docker repo repository branch file files script library package variable hook parser cache queue log logs test tests view controller model schema route router handler middleware cli ui frontend backend editor plugin website site code deploy deployment ci job jobs cron websocket socket thread process memory cpu browser mobile ios android dependency dependencies import compiler node npm webpack vite docker-compose kubernetes terraform ansible template templates migration settings user users login upload download notification notifications email_service pager table column checkout anwendung seite datei application_web fichier aplicación archivo приложени* файл 应用 页面 接口 文件 program programs project codebase repository_structure folder async chain flag tab search_bar button",
  planning:
    "plan_a plan_the draw_up propose outline outline_a sketch structure how_should_we how_would_you split break_up give_me_a_plan strategy roadmap organize_our which_approach should_we_use should_we trade-offs_between",
  documents:
    "article text email e-mail mail report thread document doc paper meeting transcript discussion chapter chapters book notes conversation interview essay review_below passage paragraph post story news newsletter pdf artikel bericht texte article_suivant texto artículo статью текст 文章 文档 报告 邮件",
  brevity:
    "in_one_sentence one_sentence in_two_sentences two_sentences three_sentences few_sentences in_one_paragraph one_paragraph short_paragraph one_line two_lines words_or_less 50_words 100_words 200_words in_five_points three_points five_points briefly in_short kurz brièvement brevemente кратко 一句话 简短",
  system:
    "platform platforms system systems infrastructure marketplace dashboard data_lake deployment plataforma sistema plattform plateforme système платформ* систем* 平台 系统",

  /**
   * Terms that contain a word of another topic and mean something else. They name nothing, and the words in them are not
   * looked at for themselves.
   */
  elsewhere:
    "opposite_sign opposite_signs same_sign sign_of sign_convention sign_change sign_changes change_of_sign changes_sign plus_sign minus_sign dollar_sign equals_sign equal_sign percent_sign sign_bit stop_sign warning_sign signed_up sign_up_for signs_up signing_up signed_integer signed_integers signed_int signed_number signed_distance signed_area function_signature method_signature type_signature call_signature time_signature signature_of_the drop_unique_together remove_unique_together deleting_unique_together file_permissions secret_handshake queen_attack attack_each_other drop_support drop_support_for drop_down dropdown_menu drop_shadow drag_and_drop drop_the_duplicates drop_duplicates drop_rows drop_na drop_rate token_count token_counts token_limit max_tokens next_token number_of_tokens count_tokens count_the_tokens electric_charge electric_charges positive_charge negative_charge point_charge point_charges charge_of charge_density charge_carriers free_of_charge in_charge net_charge total_charge heart_attack heart_attacks panic_attack attack_on_titan dependency_injection fuel_injection social_security national_security security_council securities security_guard birth_certificate training_session sessions_of jam_session study_session session_title security_deposit home_security license_plate wallet_size delete_key delete_button all_the_best of_all first_of_all after_all at_all author_of string_reset",

  // How hard it is.
  intricate:
    "the_same_job the_same_item the_same_message the_same_task_twice same_order_twice the_same_event_twice same_row_twice same_job_twice memory_grows memory_keeps_growing keeps_growing grows_without_bound two_consumers double_booking double_bookings overbooked oversell oversold processed_twice sent_twice runs_twice run_twice charged_twice executed_twice delivered_twice double-spend double_spend race_condition race_conditions data_race data_races deadlock deadlocks livelock lost_update lost_updates lost_wakeup stale_read stale_reads phantom_read write_skew split_brain split-brain out_of_order under_load under_concurrency at_the_same_time in_parallel two_workers two_threads two_processes two_nodes two_replicas concurrent_requests concurrent_updates memory_corruption heap_corruption use-after-free use_after_free undefined_behaviour undefined_behavior memory_leak slowly_leaks leaks_memory data_loss silently_lost silently_drops silently_loses loses_messages loses_updates loses_events lost_events clock_skew clock_drift eventual_consistency exactly-once exactly_once linearizab* serializab* serializable deterministic_replay nondeterministic non-deterministic heisenbug heisenbugs only_in_production only_on_production once_a_week once_in_a_while every_few_days one_in_a_thousand cannot_reproduce can't_reproduce not_reproducible hard_to_reproduce priority_inversion starvation thundering_herd cache_stampede cache_invalidation backpressure back-pressure two-phase_commit saga_pattern leader_election quorum vector_clock crdt mvcc isolation_level memory_model memory_ordering lock_ordering byzantine borrow_checker type_inference constant_time np-hard np-complete nebenläufig* wettlaufsituation deadlock-frei condition_de_concurrence condición_de_carrera condição_de_corrida гонка_данных состояние_гонки 竞态 竞争条件 死锁 同時に 競合状態 デッドロック 경쟁_상태 교착_상태",
  proof:
    "prove proof proofs proven derive derivation show_that by_induction induction theorem lemma formally rigorous* necessary_and_sufficient nash_equilibrium contradiction beweis* leite démontre* prouve* demuestr* demostra* prove_que demonstre доказ* выведи докаж* 证明 推导 归纳法",
  complexity:
    "distributed concurren* parallel* lock-free thread-safe consensus fault-tolerant fault_tolerance high_availability zero-downtime zero_downtime real-time realtime low_latency throughput scalab* multi-tenant sharding shard replication consistency idempotent idempotency exactly-once at-least-once rollback failover transactional compiler interpreter optimizer scheduler protocol end-to-end pipeline orchestrat* platform engine verteilt* distribué* distribuid* распредел* 分布式 高可用 一致性 并发 实时 平台 引擎",
  optimizing:
    "optimi* performance efficient* latency bottleneck* minimize maximize profil* faster slow speed_up optimal optimier* эффективн* оптимиз* 优化 性能",
  constraint:
    "must without ensure ensuring at_least at_most exactly only_if unless except constraint* requirement* guarantee* such_that satisf* given subject_to handle handling including support supporting muss ohne debe sin doit sans deve sem должен без 必须 确保 支持 包含 要求",
  sequence:
    "then after_that first second third finally next step steps step_by_step afterwards before_that and_then dann danach zuerst ensuite puis luego después depois затем потом сначала 然后 接着 首先 最后 步骤",
  quantity:
    "calculate compute find evaluate determine solve integral derivative probability equation matrix vector average percentage ratio rate per total remaining sum product velocity energy pressure temperature moles voltage berechne calcule calcula вычисли найди 计算 求",
  joining:
    "and_also also both each respectively as_well_as in_addition additionally every und_auch jeweils sowie également ainsi_que también además também além также каждый 以及 同时 分别",
  negating:
    "not no never except none cannot can't don't doesn't isn't won't nicht kein keine nie pas jamais sauf nunca ningún não sem не нет никогда 不 没有 除了",
  vague:
    "something somehow stuff things better improve improvement clean_up nice good best some_way whatever it this that these fix_it make_it etc maybe perhaps irgendwie besser mejor mejorar améliore улучш* как-то 改进 优化一下",
} as const;

export type Topic = keyof typeof vocabulary;
const topics = Object.keys(vocabulary) as readonly Topic[]; // keys of the literal above, nothing else

const placeOf = Object.fromEntries(topics.map((topic, number) => [topic, number])) as { readonly [T in Topic]: number }; // each of them

const entries = topics.flatMap((topic, number) =>
  `${vocabulary[topic]} ${furtherTermsOf(topic)}`
    .trim()
    .split(" ")
    .map((entry) => {
      const open = entry.endsWith("*");
      const term = (open ? entry.slice(0, -1) : entry).replaceAll("_", " ");
      return { term, number, open: open || isDense(term.charCodeAt(term.length - 1)) };
    }),
);

/** A number for each letter that occurs in terms, the first to occur first; 0 for all others. */
const symbolOf = new Uint16Array(0x10000);
let symbols = 1;
for (const { term } of entries) {
  for (let at = 0; at < term.length; at++) {
    const code = term.charCodeAt(at);
    if (symbolOf[code] === 0) symbolOf[code] = symbols++;
  }
}

/** A node of the trie while it is being built. */
interface Node {
  readonly children: Map<number, Node>;
  /** Topics of terms that end here: as a whole word, and as the beginning of a word. */
  whole: number[] | undefined;
  prefix: number[] | undefined;
}

const newNode = (): Node => ({ children: new Map(), whole: undefined, prefix: undefined });

function trieOf(): Node {
  const root = newNode();
  for (const { term, number, open } of entries) {
    let node = root;
    for (let at = 0; at < term.length; at++) {
      const symbol = symbolOf[term.charCodeAt(at)] ?? 0;
      let child = node.children.get(symbol);
      if (child === undefined) {
        child = newNode();
        node.children.set(symbol, child);
      }
      node = child;
    }
    node.whole = [...(node.whole ?? []), number];
    if (open) node.prefix = [...(node.prefix ?? []), number];
  }
  for (const { term, open } of entries) {
    // A longer term of one word means what its beginning means, too: `sanitize` is also a `sanitiz*`.
    let node: Node | undefined = root;
    let begun: readonly number[] = [];
    for (let at = 0; at < term.length && node !== undefined; at++) {
      begun = term[at] === " " ? [] : [...begun, ...(node.prefix ?? [])];
      node = node.children.get(symbolOf[term.charCodeAt(at)] ?? 0);
    }
    if (node === undefined) continue;
    node.whole = [...new Set([...(node.whole ?? []), ...begun])];
    if (open) node.prefix = [...new Set([...(node.prefix ?? []), ...begun])];
  }
  return root;
}

/**
 * The trie as a double array: the child of slot `s` by a symbol is the slot `base[s] + symbol` if its `parentOf` is `s`.
 * Rows of children lie in each other's gaps, so all of it is a few tens of kilobytes and stays in the processor's cache
 * between two requests; as plain rows of all symbols it was megabytes, and walking it cost a cache miss a letter.
 */
const rootSlot = 1;
/** Beside a slot's base: a term ends at the slot. */
const termEnds = 0x8000;
const { table, wholes, prefixes } = packed(trieOf());

function packed(root: Node) {
  const base: number[] = [0, 0];
  const parentOf: number[] = [0, 0];
  const wholes: (readonly number[] | undefined)[] = [undefined, undefined];
  const prefixes: (readonly number[] | undefined)[] = [undefined, undefined];
  const waiting: { readonly node: Node; readonly slot: number }[] = [{ node: root, slot: rootSlot }];
  let firstFree = 2;
  for (let item = waiting.shift(); item !== undefined; item = waiting.shift()) {
    const { node, slot } = item;
    const row = [...node.children.keys()].sort((a, b) => a - b);
    const [lowest] = row;
    if (lowest === undefined) continue;
    while ((parentOf[firstFree] ?? 0) !== 0) firstFree++;
    let at = Math.max(1, firstFree - lowest);
    while (row.some((symbol) => (parentOf[at + symbol] ?? 0) !== 0)) at++;
    base[slot] = at;
    for (let missing = parentOf.length; missing <= at + (row.at(-1) ?? 0); missing++) {
      // Written out so that the arrays have no holes, which cost a look-up elsewhere.
      base.push(0);
      parentOf.push(0);
      wholes.push(undefined);
      prefixes.push(undefined);
    }
    for (const [symbol, child] of node.children) {
      parentOf[at + symbol] = slot;
      wholes[at + symbol] = child.whole;
      prefixes[at + symbol] = child.prefix;
      waiting.push({ node: child, slot: at + symbol });
    }
  }
  if (base.length > termEnds) throw new RangeError("the vocabulary has outgrown its table");
  // Both numbers of a slot side by side, as they are read one after the other; and with them whether a term ends there,
  // so that the lists of topics are only looked at where one does.
  const table = Uint16Array.from({ length: 2 * base.length }, (_, at) => {
    const slot = at >> 1;
    if (at % 2 === 1) return parentOf[slot] ?? 0;
    return (base[slot] ?? 0) | (wholes[slot] === undefined ? 0 : termEnds);
  });
  return { table, wholes, prefixes };
}

/** 0: between words, 1: part of a word, 2: a character that counts as a word by itself. */
const classOf = new Uint8Array(0x10000);
for (let code = 0; code < classOf.length; code++) classOf[code] = isDense(code) ? 2 : isWordCode(code) ? 1 : 0;
// Capitals are read as their small letters, so that no text need be copied to be read.
for (let code = 0; code < classOf.length; code++) {
  const small = String.fromCharCode(code).toLowerCase();
  if (small.length > 1 || small.charCodeAt(0) === code) continue;
  symbolOf[code] = symbolOf[small.charCodeAt(0)] ?? 0;
  classOf[code] = classOf[small.charCodeAt(0)] ?? 0;
}

/** What topics a text speaks of, how often, and where it first does. */
export interface TopicCounts {
  readonly words: number;
  /** Different words among them, within a few of the exact number. */
  readonly distinctWords: number;
  count(topic: Topic): number;
  /**
   * Index of the first word (not character) of the topic; Infinity when it does not occur. A character that is written
   * without blanks counts as half a word here.
   */
  first(topic: Topic): number;
}

/** Bits by which words already seen are known; a power of two. Scratch, clean between two texts. */
const seenBits = 4_096;
const seen = new Uint32Array(seenBits / 32);

/** What was counted in one text. */
class Counted implements TopicCounts {
  words = 0;
  distinctWords = 0;
  /** Words before the one that is being read. */
  position = 0;
  readonly #counts = new Uint16Array(topics.length);
  readonly #firsts = new Uint16Array(topics.length);

  count(topic: Topic): number {
    return this.#counts[placeOf[topic]] ?? 0;
  }

  first(topic: Topic): number {
    const first = this.#firsts[placeOf[topic]] ?? 0;
    return first === 0 ? Number.POSITIVE_INFINITY : first - 1;
  }

  /** The word that has just begun names these topics. */
  name(named: readonly number[]): void {
    for (let at = 0; at < named.length; at++) {
      const place = named[at] ?? 0;
      this.#counts[place] = (this.#counts[place] ?? 0) + 1;
      // Counted from one, so that zero stands for a topic that does not occur; no text that is read has so many words.
      if (this.#firsts[place] === 0) this.#firsts[place] = Math.min(Math.floor(this.position) + 1, 0xffff);
    }
  }

  /** A word has ended: is it new? Two words in one bit are rare enough at the lengths that are read. */
  end(hash: number): void {
    const bit = (hash ^ (hash >>> 15)) & (seenBits - 1);
    const mask = 1 << (bit & 31);
    const slot = seen[bit >>> 5] ?? 0;
    if ((slot & mask) !== 0) return;
    this.distinctWords++;
    seen[bit >>> 5] = slot | mask;
  }
}

/** Counts the vocabulary's terms in one pass over a text, which the caller keeps short. Longest term wins at each word. */
export function topicCountsOf(text: string): TopicCounts {
  const counted = new Counted();
  seen.fill(0);
  let skipTo = 0;
  for (let at = 0; at < text.length; ) {
    const kind = classOf[text.charCodeAt(at)] ?? 0;
    if (kind === 0) {
      at++;
      continue;
    }
    if (at >= skipTo) {
      const named = longestTerm(text, at);
      if (named !== undefined) {
        if (named[0] === placeOf.elsewhere) skipTo = termEnd;
        counted.name(named);
      }
    }
    counted.words++;
    counted.position += kind === 2 ? 0.5 : 1;
    // The word: one character that is a word by itself, or all letters from here on.
    let hash = 0;
    do {
      const code = text.charCodeAt(at++);
      const letter = code >= 65 && code <= 90 ? code + 32 : code;
      hash = Math.imul(hash ^ letter, 0x01000193) + letter;
    } while (kind === 1 && at < text.length && classOf[text.charCodeAt(at)] === 1);
    counted.end(hash);
  }
  return counted;
}

/** Where the term ends that `longestTerm` has found. */
let termEnd = 0;

/** Topics of the longest term that starts at a word's beginning. */
function longestTerm(text: string, start: number): readonly number[] | undefined {
  let slot = rootSlot;
  let base = table[2 * slot] ?? 0;
  let found: readonly number[] | undefined;
  for (let at = start; at < text.length; ) {
    const symbol = symbolOf[text.charCodeAt(at)] ?? 0;
    const child = (base & ~termEnds) + symbol;
    if (symbol === 0 || table[2 * child + 1] !== slot) break;
    slot = child;
    base = table[2 * slot] ?? 0;
    at++;
    if ((base & termEnds) !== 0) {
      const whole = wholes[slot];
      const wordEnds = at === text.length || classOf[text.charCodeAt(at)] !== 1;
      const named = wordEnds ? whole : prefixes[slot];
      if (named !== undefined) {
        found = named;
        termEnd = at;
      }
    }
  }
  return found;
}

/** Letters and digits of scripts that write blanks between words, in lower case. */
function isWordCode(code: number): boolean {
  return (
    (code >= 97 && code <= 122) || // a-z
    (code >= 48 && code <= 57) ||
    (code >= 0xdf && code <= 0x24f) ||
    (code >= 0x370 && code <= 0x1fff && !isDense(code)) || // Greek, Cyrillic, Hebrew, Arabic, Indic scripts …
    (code >= 0xac00 && code <= 0xd7af) // Hangul
  );
}

/** Characters of scripts without blanks between words: Chinese, Japanese, Thai, Lao. Each counts as a word. */
export function isDense(code: number): boolean {
  return (code >= 0x3040 && code <= 0x30ff) || (code >= 0x3400 && code <= 0x9fff) || (code >= 0xe00 && code <= 0xeff);
}
