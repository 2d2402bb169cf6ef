/**
 * Plain words of the guarded topics, in the notation of `lexicon.ts`. English; German, Dutch, Swedish; French, Spanish, Portuguese,
 * Italian; Russian, Ukrainian, Polish; Turkish, Hindi, Arabic, Vietnamese, Indonesian; Chinese, Japanese, Korean.
 * A list grows only by words that name the topic in any project: words that fit one ask have not helped on others.
 */
export const guardedWords = {
  /** Who somebody is, and what they may do. */
  auth: `login biometric* face_id pin_code forgot_password forgotten_password signed_in signed_out stay_logged stay_signed keep_me keep_them_signed act_for on_behalf_of group_membership log_everyone account_takeover verification_code email_verification verify_email magic_login user_roles role_check admin_only admins_only access_rights entitlement* policy_check deny_access scim rls row_level device_code client_credentials okta auth0 keycloak cognito entra active_directory log_them_out session_fixation session_id session_cookie user_session permission_check password_hash re_authenticat* step_up reset_link log_user_out log_users_out log_in logs_in logged_in logging_in log_people_in logout log_out logs_out sign_in signs_in signing_in sign_out signin password* passcode
      passkey* webauthn oauth* oidc openid saml sso ldap kerberos jwt auth authn authz authentic* authoriz* authoris* unauthoriz* unauthoris*
      unauthenticated mfa 2fa totp otp two_factor second_factor single_sign magic_link lock_account unlock_account remember_me rbac acl permission* access_control access_token
      refresh_token session_token bearer_token api_token privilege* impersonat* service_account check_ownership bcrypt argon2* lockout role_based
    anmeld* einlog* passwort* kennwort* zugangsdaten berechtigung* rechteprüf* zugriffsrecht* zwei_faktor* rolle rollen inlog* wachtwoord* aanmeld* rechten inloggning* lösenord* behörighet*
    la_connexion de_connexion mot_de_passe mots_de_passe authentifi* autoris* droits des_droits iniciar_sesión inicio_de_sesión contraseña* autentic* autoriz* permiso* senha* permissão permissões permessi accesso
    вход* войти логин* парол* авториз* аутентиф* прав_доступа права_доступа вхід* увійти logow* haseł hasł* uwierzytel* dwuskładnik* uprawnie*
    giriş_yap* oturum_aç* parola* şifre_* şifresi* kimlik_doğrula* yetki* लॉगिन पासवर्ड ओटीपी प्रमाणीकरण تسجيل_الدخول كلمة_المرور كلمات_المرور المصادقة صلاحيات đăng_nhập mật_khẩu xác_thực phân_quyền kata_sandi otentikasi hak_akses
    登录 登陆 登入 密码 密碼 鉴权 权限 權限 认证 ログイン パスワード 認証 認可 権限 로그인* 비밀번호* 인증* 권한* 패스워드*`,
  /** The same in words with other meanings: two of them, or one beside a fault or an act, name the topic. */
  authHint: `idle_timeout session_timeout single_use membership* ownership fingerprint delegat* forbidden session token cookie role admin administrator* account access tenant guest member owner viewer employee* contractor* former_employee staff invite* invitation sign_up signup user_id approver* approval* scope* workspace team organization organisation captcha identity idp
    sitzung* konto konten zugriff* zugang* ehemalig* administrator* einladung* nutzer* benutzer* mitarbeiter* sessie* toegang* medewerkers gebruiker* åtkomst compte* jeton* session* accès utilisateur* invitación convite invito sesión sesiones sesion* acceso cuenta* rol roles administrador* usuario* sessão sessões acesso conta usuário* sessione sessioni utente utenti account
    сесси* токен* доступ* аккаунт* пользовател* роль роли сесії користувач* sesj* konto kont dostęp* użytkownik* oturum* hesap* kullanıcı* erişim* सेशन टोकन खाता खाते الجلسة الحساب الوصول المستخدم* phiên tài_khoản truy_cập người_dùng quản_trị_viên nhân_viên sesi akun pengguna
    会话 令牌 账号 账户 用户 管理员 员工 访问 越权 セッション トークン アカウント ユーザー アクセス 管理者 管理画面 社員 세션* 토큰* 계정* 회원* 사용자* 관리자* 접근* 직원*`,
  /** What attackers look for, and what keeps them out. */
  security: `security csprng guessable unguessable tls ssl mtls https_only subresource_integrity certificate_pinning pinning passphrase dependabot seccomp rootless non_root run_as_root host_header target_origin x_powered_by open_ports poisoning leak_secrets secret_scanning key_rotation kms hsm vault_path sealed_secret sops ciphertext aes rsa signing replay_attack csrf_token clickjacking xml_bomb billion_laughs regex_injection log_injection ldap_injection nosql_injection open_redirects default_deny default_credentials hardening malware virus_scan antivirus phishing spf dkim dmarc gdpr hipaa pci soc2 anonymi* pseudonymi* right_to_erasure lücke* sicherheitslücke* firewallregel* листинг*  csp idor ssti mitm selinux apparmor networkpolicy network_policy presigned pre_signed gitleaks introspection captcha shell_injection inject shell_command ddos waf world_readable publicly_readable publicly_reachable least_privilege threat_model sandbox* untrust* stack_traces bucket_private parameterized_quer* parametrized_quer* prepared_statement user_enumeration denial_of_service redos directory_listing cryptograph* vulnerab* cve exploit* xss csrf xsrf ssrf sqli rce xxe sql_injection injection_sql sql_injectie command_injection code_injection html_injection header_injection template_injection script_injection prompt_injection sanitiz* sanitis* encrypt* decrypt* unencrypted openssl mtls hmac
      secret credential* api_key private_key signing_key encryption_key access_key aws_key ssh_key secret_key keystore hashicorp path_traversal directory_traversal zip_slip
      open_redirect clickjack* deserializ* unserializ* unpickl* prototype_pollution brute_forc* bruteforc* stuffing attacker* malicious untrusted backdoor pentest*
      plaintext plain_text cleartext clear_text firewall security_group cors content_security md5 sha1 pii personal_data sensitive_data card_number social_security_number passport_number
      constant_time timing_attack remote_code arbitrary_code arbitrary_file arbitrary_url semgrep trivy snyk escape_html html_escap* raw_html innerhtml httponly samesite hardcoded compromised mass_assignment weak_cipher weak_hash log4j yaml_load
    sicherheit* schwachstelle* verschlüssel* geheimnis* zertifikat* api-schlüssel angreif* klartext beveilig* kwetsba* versleutel* säkerhet* sårbar* krypter*
    faille* sécuris* sécurité chiffr* injection_sql clé_api clés_api en_clair seguridad vulnerab* cifr* inyección clave_api claves_api claves_de texto_plano segurança injeção criptograf* chave_api chaves_api chaves_de texto_puro sicurezza crittograf* chiavi_api in_chiaro segreti
    безопасност* дыр* уязвим* зашифр* шифров* инъекц* секрет* ключи_api ключи_доступа открытом_виде api_ключ* вразлив* безпек* bezpiecze* podatno* szyfr* zaszyfr* sekret* klucz_api klucze_api luka luki jawnym
    güvenlik açığ* şifrele* düz_metin api_anahtar* enjeksiyon* सुरक्षा इंजेक्शन एन्क्रिप्ट api_कुंजी एपीआई_कुंजी ثغرة ثغرات تشفير مفتاح_api مفاتيح_api حقن bảo_mật lỗ_hổng mã_hóa khóa_api keamanan celah enkripsi kunci_api
    安全 漏洞 注入 加密 密钥 秘钥 明文 身份证 脱敏 泄露 脆弱性 インジェクション 暗号化 秘密鍵 apiキー 平文 漏洩 보안* 취약점* 인젝션* 암호화* 평문* 주민등록번호* api_키* 유출*`,
  securityHint: `file_upload capabilities attack* consent quarantine* doctype poort key download_link host_header callback* crypto outbound outgoing egress phone_number tls ssl bucket injection pickle hash* salt signature signed certificate cert escap* verif* webhook upload* nonce allowlist whitelist blocklist rate_limit* rate-limiting throttl* privacy public publicly debug_endpoint
      docker_socket root_user customer_data download* url shell_command user_input
    schlüssel* signatur* hochlad* sleutel* clé clés signature clave* firma chave* assinatura chiave chiavi ключ* подпис* klucz* podpis* anahtar* imza* कुंजी مفتاح khóa kunci 密匙 签名 校验 鍵 署名 키 서명*`,
  /** Money that moves. */
  payment: `payment tva mwst iva btw nds payment_intent tipping promo_code first_invoice proration revenue_share coupons cart_total order_total checkout_total chargebacks paywall usage_based per_seat payment_failed failed_payments authorisation_hold przewalutow* opłat* rozlicz* paymentintent settlement acquirer* donation* recurring_charge direct_debit payment_method sales_tax split_tender payout* remittance late_fees tax_rate tax_rates billing_address charge_customers charge_the_customer charges_customers credit_memo charged billed late_fee pay pays paying paid unpaid payout payor refund* reimburs* chargeback billing double-bill* invoice* invoicing subscription checkout stripe paypal adyen braintree
      klarna credit_card debit_card card_data cardholder* credit_note store_credit apple_pay google_pay vat dunning prorat* payroll bank_transfer wire_transfer bank_account merchant_account iban sepa overcharg*
      undercharg* double_charg* gift_card currency_conversion 3-d_secure price_id escrow
    zahlung* bezahl* rückerstatt* erstatt* abbuch* rechnung* abrechn* gutschein* betaal* betaling* terugbetal* factu* betalning* återbetal* faktur*
    paiement* payer payé* rembours* facture facturation abonnement* prélèv* pago* pagar paga pagan reembols* se_cobra cobrar cobran cobro factura* suscripci* pagament* estorn* fatura* assinatura_paga cobrança pagamenti rimbors* fattur* addebit*
    оплат* платеж* платёж* возврат_денег возврат_средств деньги списыва* списан* счёт-фактур* подписк* оплач* платіж* повернення_коштів płatnoś* płac* zwrot* faktur* obciąż* pieniądze
    ödeme* iade* fatura* tahsil* ücret_çek* para_çek* parayı भुगतान रिफंड पैसे पैसा पेमेंट दفع الدفع استرداد فاتورة المبلغ الأموال thanh_toán hoàn_tiền trừ_tiền hóa_đơn pembayaran tagihan ditagih pengembalian_dana
    支付 付款 退款 续费 订阅费 扣费 扣款 收款 到账 发票 账单 优惠券 決済 支払 返金 請求 課金 결제* 환불* 청구* 송금*`,
  paymentHint: `tipping exchange_rate dispute* capture metered trial_period grace_period shipping_cost charg* bill bills bank transfer* promo* card rounding round pric* currency discount coupon voucher tax taxes fee wallet commission balance ledger withdrawal deposit money credits purchase
      trial annual_plan plan cents subscriber cart revenue
    karte* preis* rabatt* betrag kunde* kunden kaart prijs klant* kort pris kund* carte prix le_client un_client les_clients remise tarjeta* precio* cliente* descuento* cartão preço* pedido* carta prezzo ordine ordini
    карт* цен* клиент* заказ* скидк* картк* клієнт* kart* cen* klient* zamówien* kart fiyat* müşteri* sipariş* कार्ड ग्राहक ऑर्डर البطاقة العميل الطلب thẻ khách_hàng đơn_hàng kartu pelanggan pesanan
    价格 订单 客户 余额 价 カード 顧客 注文 料金 카드* 고객* 주문* 가격*`,
  /** Verbs by which data is lost. */
  destroying: `decommission* vacuum squash* tear_out tears_out expire_and irrecoverabl* delete_from drop_table drop_column drop_database throw_out kill_the leere leeren unwiderruflich irrevers* for_good downgrade discard* throw_away throws_away truncat* purg* wipe wipes wiping eras* destroy* nuke tear_down overwrit* obliterat* hard_delete hard-delete irreversibl* force_push reformat* drop drops dropp* right_to_be flushall permanently
    lösche_alle endgültig supprime_définitivement tronque vider vide vacía trunca esvazia svuota purga снеси снести очисти_ вычисти wyczyść kalıcı_olarak स्थायी نهائيا vĩnh_viễn 清空 清掉 物理削除 全削除 완전히_삭제* 영구*`,
  deleting: `rm empty_the delet* remov* reset resets clear clears clean_up cleanup clean_out restor* orphaned flush get_rid discard* prun* merg* archiv* expung* recreat* rewrit*
    lösch* entfern* rauswerfen verwijder* wis radera* ta_bort supprim* efface* borr* elimin* limpi* apag* exclu* remov* limp* cancell* rimuov* удал* сотри почист* очист* видал* usuń usun* skasuj sil siln* silin* temizle* हटा* मिटा* حذف احذف امسح xóa xoá hapus* 删 清理 清除 消し 消す 削除 삭제* 지워*`,
  stored: `database* db keyspaces snapshots collection collections lakehouse delta_table history_of git_history production_data sensordaten papierkorb filesystem recycle_bin datastore firestore elasticsearch kafka cassandra tabla tabelle produktivdatenbank la_base blob_column column_from columns_from indices keyspace nas partition retention table bucket s3 backup snapshot schema postgres* mysql mongo* redis rds dynamodb migration warehouse dump dataset prod_data partition tables cluster /dev/sdb namespace
    datenbank* tabelle* sicherung* tabel* databas* base_de_données la_base table* base_de_datos tabla* banco tabela* tabell* database баз* таблиц* бэкап* бази базу baz* bazy tabel* veritaban* tablo* डेटाबेस टेबल قاعدة جدول cơ_sở_dữ bảng basis_data 数据库 库 表 备份 データベース db テーブル バックアップ db* 데이터베이스* 테이블* 백업*`,
  storedHint: `rows records archive* topics offsets disk* shard* volume* logs column row record tenant user customer account tenant data orders event index history branch member entries attachment document profile invoices person personal subscriber
    spalte* kunden benutzer* daten bestell* nutzer* klanten gebruiker* kunder användare colonne* utilisateur* commandes données columna* usuario* pedido* registro* datos coluna* usuário* dados colonna utenti ordini dati
    колонк* пользовател* заказ* запис* данн* клиент* акаунт* аккаунт* kolumn* użytkownik* zamówien* danych konta klient* kayıt* kullanıcı* sipariş* यूज़र ऑर्डर लॉग ग्राहक* डेटा الحسابات المستخدم* tài_khoản akun 用户 订单 日志 会員 注文 ログ ユーザー 회원* 주문* 로그* 데이터*`,
  /** Where a mistake reaches everybody. */
  live: `production prod live primary live-datenbank produktiv* produktion* productie* produktions* productivo producción produção produzione продакшн* продакшен* прод прода проде боев* продакшн-баз* produkc* canlı* प्रोडक्शन الإنتاج produksi
    线上 生产 本番 운영* 프로덕션*`,
  everything: `all every everything old older inactive unused legacy entire whole never alle alten alte inaktiv* oude tous toutes anciens ancien todos todas antigu* antig* tutti vecch* все всё стар* неактивн* wszystk* stare eski tüm सभी पुराने सारा القديمة غير_النشطة cũ lama 所有 全部 旧 三年前 两年前 古い 全て 모두 모든 오래된*`,
  /** Acts that secure something, and faults that leave it open: with one of the words that have other meanings they name a topic. */
  act: `secure secured lock_account account_lock predictable guessable lifetime valid validity ttl rotat* revok* expir* invalidat* leak* expos* harden* redact* mask* lock_down lock_it_down lock_out hijack* steal* stolen forg* spoof* bypass* tamper* anyone anybody
      everyone everybody others somebody someone_else other_users other_customers another without_checking only_admins only_owners unsigned restrict* block* forbid* grant* reject* require* sign_out deactivat* disabled suspend* not_checked never_checked trust*
      promote* guess* fixation
    gültigkeit* sperre* sperrt abdicht* absicher* widerruf* ablauf* anderer fremde* jeder jemand verlopen blokkeer* anderen spärr*
    révoqu* bloqu* n_importe_qui autres caduc* caduq* expir* revoc* bloque* cualquiera otros qualquer outros bloque* scad* chiunque altri blocca* revoca*
    истека* отзыв* отозв* заблокир* любой кто_угодно чуж* других будь-хто інших закрий wygas* zablok* każdy innych iptal sona_er* engelle* herkes başka* एक्सपायर रोको تنتهي منع hết_hạn chặn kedaluwarsa blokir
    过期 吊销 撤销 轮换 任何人 屏蔽 禁止 別人 期限 失効 無効 誰でも 防 만료* 무효* 차단* 막아* 다른* 누구나`,
  /** What is done once too often: faults of payments and of what is to be used once. */
  again: `twice once double duplicate idempot* again retry retried more_than_once multiple_times many_times doppelt zweimal mehrfach mehrmals dubbel twee_keer deux_fois doublon dos_veces doble duas_vezes dobro due_volte
    дважды два_раза второй_раз двічі dwa_razy dwukrotnie iki_kez iki_kere दो_बार مرتين hai_lần dua_kali 两次 重复 二重 두_번`,
} as const;

/** Verbs and questions that change nothing of what they name: to read, list, explain, compare or design it. */
export const readingWords = `calculat* comput* estimat* evaluat* solve determine fetch retrieve book search check_whether check_if explain* describe* summar* what what_is_the what_was_the what_will_be why how when_did when_does when_is when_was which who where whose is are does do tell list find count compare
    document translate review outline draw plot draft read look_up give_me define discuss recommend* suggest show display design walk_me categorize classify rewrite rename sort align center reword
    überprüf* benenne entwirf entwerfe erklär* beschreib* zusammenfass* fasse was warum wie wo welche* zeig* liste übersetz* sortiere* zähl* leg uit beschrijf waarom hoe förklara
    conçois revois renomme expliqu* décri* résum* traduis traduire qu_est pourquoi comment où quelle* quel liste trie diseña revisa explica* describe resum* traduce qué por_qué cómo dónde cuál* muestra ordena projete revise o_que explique descreva resuma traduz* como onde qual ordena riassumi spiega* descrivi cos_è perché dove ordina elenca
    спроектируй проверь переименуй посчитай объясн* опиши что почему как где чем какие покажи отсортируй поясни чому wyjaśnij opisz przetłumacz dlaczego jak gdzie wyświetl posortuj açıkla* özetle* nedir neden nasıl nerede sırala* समझाओ समझाएं क्या क्यों कैसे اشرح لخص ما كيف لماذا أين رتّب giải_thích tại_sao sắp_xếp jelaskan mengapa urutkan`;

/** Wherever they stand: looks, wording, documentation, tests and types of something leave it as it is. */
export const harmlessWords = `color colour button icon logo label font layout css the_header page_header table_header footer sidebar banner tooltip placeholder typo wording spelling align* center centre* margin padding border theme dark_mode
    spinner animation responsive alphabetical* newsletter poem haiku song joke story blog essay recipe page_title screenshot docs documentation readme docstring add_a_comment add_comments changelog diagram exercise translation plural the_ui to_the_right to_the_left a_test add_test write_test tests testing unit_test mock* stub* fixture fake width height bigger wider autofocus sortable strength_meter
    type_hint types typings annotations components rename* refactor* lint* formatting esm commonjs milliseconds duration meeting chart* pagination paginate shadow
    farbe breite größer name_der knopf schaltfläche* schrift* abstand überschrift doku dokument* test testfälle einheitentest* kleur knop inlogknop groter tekst testen färg knapp couleur largeur agrandi* bouton bordure tests documentation un_commentaire page_d_accueil color ancho nombre_de texto botón borde pruebas prueba documentación cor largura digitação botão teste testes documentação colore pulsante test documentazione tipi tipos
    цвет шире ширин* кнопк* шрифт тест тесты документац* комментар* тип типы отступ колір кнопки kolor czcionk* polu przycisk* test testy dokumentacj* renk* düğme* tip_ekle raporunu özetle açıkla sırala test testi buton* sayfası* समझाओ क्या रंग फ़ॉन्ट बॉक्स बटन टेस्ट दस्तावेज़ लेआउट लون لون زر màu nút ô rộng warna tombol
    什么 区别 科普 统计 重命名 审查 表头 颜色 背景 按钮 测试 文档 注释 样式 布局 字体 标题 解释 总结 翻译 色を 色に 幅 余白 右寄せ 大きさ 列を ボタン テスト ドキュメント 説明 レイアウト 文字 タイトル 教えて 仕組み 색을 색상* 글자* 입력란* 크기* 버튼* 테스트* 문서* 설명* 레이아웃* 문구* 제목*`;

/** Data that only a program in memory has: to drop it loses nothing that is stored. */
export const inMemoryWords = `dataframe data_frame pandas csv list array dict dictionary string line lines import imports whitespace dropdown drop_down grid file files variable function module todo docker_image queue cache matrix tensor
    datei zeile* fichier ligne* archivo línea* arquivo linha* riga righe файл* строк* plik* wiersz* dosya* satır* फ़ाइल लाइन 文件 函数 行 数组 ファイル 配列 関数 파일* 변수* 함수*`;

/** Terms that hold a word of a topic and mean something else; the words in them name nothing. */
export const elsewhere = `reply_in respond_in answer_in permission_bit key_binding media_key load_balanc* hot_key checkout_command charge_attack volume_slider access_log my_api_key your_api_key an_api_key api_key_is percent_sign minus_sign plus_sign equals_sign dollar_sign max_tokens max_new_tokens token_count token_limit next_token unexpected_token invalid_token syntax_token number_of_tokens count_tokens count_the_tokens token_bucket sort_key key_press arrow_key
    delete_key escape_key primary_key foreign_key react_key dictionary_key hash_map hash_table hash_router electric_charge point_charge free_of_charge in_charge battery_charge charge_level charge_carrier
    function_signature method_signature type_signature pay_attention permission_denied file_permission security_guard security_camera social_security national_security dependency_injection fuel_injection
    drop_support drop_shadow drag_and_drop drop_duplicates drop_rows table_of_contents merge_conflict production_build production_mode production-ready git_checkout checkout_action checkout_branch event_subscription
    store_subscription constructor_injection password_manager identity_matrix identity_function session_title birth_certificate training_session business_card index_card playing_card gift_idea health_potion secret_santa`;

/** Verbs that order a change of software or of data. */
export const changing = `add adds fix fixes implement* change changes changing chang* create remove delete drop use store switch move replace rotat* block prevent stop ensure
    update upgrade migrat* write build integrat* allow require enforce restrict revok* encrypt* hash limit throttl* lock unlock refund charge issue send cancel retry handle grant set put get_rid purg* wip* truncat* eras*
    reset clean clear apply run merge swap split close disabl* enabl* secur* harden* mask hide invalidat* expir* support introduc* make let patch sanitiz* sanitis* escap* redact* deploy* configur* wire hook bump extend
    rework rewrite redirect return reject deny prorat* reconcil* generat* scope protect* restor* archiv* consolidat* port adopt sign verify validat* check validat* tighten strip log record save persist cache refactor
    force only never must should shouldn_t needs need want wants has_to have_to has_to_be no_longer instead_of stop nuke destroy* flush prune scrub pull push ship roll rollback turn_on turn_off bring kick sort_out
    bug broken fails failing wrong leak* doesn_t don_t isn_t aren_t can_t cannot still bypass* allowed exposed missing lets vulnerab*
    füge behebe* beheb* implementier* ändere änder* lösche* lösch* entfern* ersetze* ersetz* stelle stell richte baue bau führe sperr* verschlüssel* rotier* aktivier* deaktivier* erneuer* setze setz mach mache soll sollen muss müssen dürfen darf begrenz* lass* verhinder* erlaub* speicher* migrier* hinzufüg* umstell* leere leer* bereinig* schütz* widerruf* storniere* erstatt*
    voeg verwijder* wijzig* vervang* maak zorg beperk* blokkeer* lägg ta_bort ändra byt gör se_till
    ajoute* corrige* implémente* supprim* mets mettre remplac* change* modifi* chiffr* crée* empêch* bloqu* révoqu* active désactive limite* migr* fais faut doit doivent permets permet vide efface* rembours* sécuris* stocke utilise
    añad* agreg* arregl* corrig* implement* borr* elimin* cambi* reemplaz* modific* cifr* crea* haz impid* bloque* revoc* activ* desactiv* limit* migr* debe deben permit* vací* pon guard* usa reembols*
    adicion* troc* substitu* remov* apag* mud* alter* exclu* impeç* faç* deve devem coloc* use limp* aggiung* rimuov* sostitui* elimin* cambi* modific* cifra crea* fai impedis* blocc* revoc* attiv* disattiv* deve devono svuot* usa cancell*
    добав* исправ* сделай* сделать удали* замени* измени* реализ* перевед* зашифр* запрет* отключ* включ* ограничь* огранич* мигрир* очист* должн* нужно поменя* настро* закрой додай виправ* зроби видал* зміни* потрібно
    dodaj* popraw* usuń zmień zamień zrób wprowadź zaszyfruj zablokuj wyłącz włącz ogranicz ma_być powin* ekle* düzelt* sil siln* değiştir* yap uygula* kaldır* şifrele* engelle* sınırla* taşı* olmalı gerek*
    जोड़* हटा* बदल* ठीक बना* लागू कर* चाहिए أضف احذف غيّر أصلح استبدل امنع اجعل نفّذ شفّر يجب thêm xóa xoá sửa thay đổi chặn mã_hóa triển_khai phải tambah* hapus ubah perbaiki ganti buat terapkan cegah enkripsi harus
    修复 修改 添加 增加 删除 移除 实现 替换 更换 轮换 改成 改为 迁移 加密 禁止 限制 启用 禁用 清空 清理 清掉 删掉 加上 接入 支持 防止 重置 吊销 撤销 必须 需要 把 将 让
    追加 修正 直し 変更 削除 置き換え 実装 移行 暗号化 禁止 制限 有効 無効 クリア 対応 してください して ように べき 추가* 수정* 고쳐* 삭제* 변경* 교체* 구현* 이전* 암호화* 막아* 제한* 지워* 바꿔* 적용* 해줘 해주세요 해야`;

/** Verbs that have a text treated: what the text says is nobody's order. */
export const treatingWords = `bullet_points bullets intent order_from rank order_these compare_the_two compare_these based_on_the_above put_this cut_this cut_that cut_down shorten_this what_is_the_customer how_likely write_a_reply write_an_answer write_a_response write_back write_a_polite comprehension rewrite_this extract* parse summari* tl_dr translat* classif* categori* label tag rate score rank rewrite rephrase paraphrase reword shorten proofread correct grammar spelling polish
    anonymi* detect identify reply respond answer draft compose turn_this turn_the_following turn_into convert_this convert_the_following format_this quote route triage assign count title
    find_the find_all pull_the pull_out list_the list_all highlight sort_these sort_the_following sentiment tone which_of read_this here_is analyze_this analyse_this analyze_the analyse_the simplify reformat
    fix_the_grammar fix_grammar fix_spelling fix_the_spelling fix_typos fix_the_typos fix_the_punctuation improve_the_wording make_this make_it_sound transcribe
    extrahier* fasse zusammenfass* übersetz* klassifizier* kategorisier* bewerte* beantworte* antworte* korrigiere* formuliere* erkenne* samenvat* vertaal* beantwoord* översätt svara
    extrais extraire résum* tradui* classe* note_ce réponds répondre reformul* détecte* identifie* extrae extraer resum* traduc* traduz* clasific* responde* redact* extraia resuma responda* reescreva estrai riassum* traduc* rispondi classific* riscriv*
    извлеки* переведи_на переведи_текст перевод классифицируй ответь* оцени* перепиши* определи* витягни переклади wyodrębnij przetłumacz podsumuj odpowiedz sklasyfikuj çıkar özetle çevir yanıtla sınıflandır अनुवाद सारांश जवाब استخرج لخص ترجم صنف أجب trích tóm_tắt dịch phân_loại trả_lời terjemahkan ringkas klasifikasi balas
    提取 总结 概括 摘要 翻译 分类 归类 回复 润色 改写 抽取 抽出 要約 翻訳 分類 返信 校正 言い換え 추출* 요약* 번역* 분류* 답장* 교정*`;

/** Words for a text, and for forms of an answer about one, of the paragraph that says what is to be done with it. */
export const textWords = `text texts message messages mail mails e_mail e_mails email emails conversation transcript article review reviews ticket tickets letter sentence sentences paragraph passage comment comments
    tweet bullet bullets one_word one_line one_sentence in_one json_only yes_no duplicates complaint question_about summary translation reply answer headline sentiment tone topic tags language polite
    nachricht nachrichten satz sätze mail text_auf antwort abteilung phrase phrases texte réponse frase frases texto mensaje respuesta mensagem resposta testo messaggio risposta bericht zin tekst odpowiedź
    текст тексту текста сообщение ответ тега теги одним tekstu mesaj metin cevap नीचे संदेश نص رسالة văn_bản tin_nhắn pesan teks 文章 文本 邮件 这段 语言 回复 抜き出し 要約 文を 言語 글 문장 언어 요약`;

/** Things of somebody who speaks of their own, as customers do and developers of a program do not. */
export const personalWords = `my_account my_password my_card my_money my_subscription my_profile my_data my_order my_payment my_refund my_invoice my_deposit my_bank my_address my_login my_login_details my_access log_me_out logs_me_out give_me_back refund_me charge_me charged_me bill_me
    mein_konto meinem_konto mein_passwort mein_geld meine_daten mein_zugang meinen_zugang mon_compte mon_argent mon_mot mi_cuenta mi_dinero mi_contraseña minha_conta meu_dinheiro minha_senha mio_account il_mio_account miei_soldi
    мой_аккаунт мои_деньги мой_пароль мою_карту moje_konto moje_pieniądze hesabım hesabıma şifremi मेरा_खाता मेरे_खाते मेरे_पैसे حسابي tài_khoản_của_tôi akun_saya 我的账号 我的账户 我的密码 退款给我 私のアカウント 내_계정 제_계정`;
