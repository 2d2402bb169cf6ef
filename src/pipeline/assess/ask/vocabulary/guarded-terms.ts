/**
 * Concepts whose combinations show that an ask changes what is guarded, in the notation of `topic-terms.ts`: no single one means
 * anything by itself. A password is named in many asks, and many things are logged; a password that is logged is a leak.
 * A line for each group of languages: English; Germanic; Romance; Slavic; Turkish and Hindi; Chinese, Japanese and Korean.
 */
export const guardedTerms = {
  /** What only its owner may know or hold. */
  secret: `
    password* passwd passphrase* credential* creds secret secrets apikey* api-key* api_key* env_file dotenv vault hmac cipher* tls ssl openssl certificate* card_number* cvv ssn authorization_header* authorization_headers personal_data pii private_data private_key* ssh_key* signing_key* access_key* encryption_key* aws_key* pan the_pan
    passwort* passwört* kennwort* kennwört* zugangsdaten geheimnis* api-schlüssel* wachtwoord* api-sleutel* geheimen lösenord*
    mot_de_passe mots_de_passe clé_api clés_api clés_d'api identifiants contraseña* claves_de credencial* secretos senha senhas chaves_de segredos chiavi_api segreti credenziali
    парол* api-ключ* ключи_доступа секрет* учётные_данные учетные_данные hasł* haseł sekret* klucze_api пароль
    parola* şifre* api_anahtar* पासवर्ड कुंजी
    密码 密钥 口令 凭证 秘钥 密碼 身份证号 银行卡号 パスワード 秘密鍵 apiキー シークレット 認証情報 個人情報 비밀번호* 패스워드* 시크릿* api_키* 자격_증명* 개인정보*
    claves_de_la_api claves_api chaves_de_api chaves_da_api clés_de_l'api ключи_api api_ключ* chiavi_delle_api ключи_апи signing_key
    sensitive sensitive_data sensitive_information sensitive_values sensitive_fields confidential credit_card_number* personal_information
    vertraulich* sensible_daten persönliche_daten données_sensibles données_personnelles datos_sensibles datos_personales dados_sensíveis dados_pessoais dati_sensibili dati_personali gevoelige_gegevens персональн* конфиденциальн* dane_osobowe poufn* hassas kişisel_veri* 敏感 隐私 個人データ 機密 민감* 기밀*
    كلمة_المرور كلمات_المرور مفتاح_api مفاتيح_api بيانات_حساسة mật_khẩu khóa_api khoá_api kata_sandi kunci_api एपीआई_कुंजी api_कुंजी klucz_api 주민등록번호*
    passport* id_card* identity_document* ausweis* reisepässe identiteitsbewij* pièces_d'identité documentos_de_identi* documenti_d'identità dowodów_osobistych skany_dowod* паспорт* kimlik_belge* 身份证 身分証 신분증* 여권*
    prod_env production_env dot_env env_committed env_to_the env_in_git env_in_the env_into_git env_was env_got env_ended
    bank_details social_security_number* health_data medical_record* patient_data tax_id
    private_signing приватный_ключ приватного_ключа приватные_ключи закрытый_ключ закрытого_ключа klucz_prywatny klucza_prywatnego clé_privée clave_privada chave_privada chiave_privata privater_schlüssel privaten_schlüssel özel_anahtar* 私钥`,
  /** The same in words with other meanings. */
  secretWeak: `
    key keys token tokens signature signatures session_id* cookie cookies jwt* schlüssel* sleutel* nyckel* token* jeton* clé clés clef clefs clave claves chave chaves chiave chiavi
    ключ ключи ключей ключа токен* klucz* токени anahtar* टोकन 令牌 签名 トークン 鍵 署名 토큰* 키 키를 서명*
    env_vars env_variables environment_variables umgebungsvariablen variables_de_entorno 环境变量 環境変数 환경_변수*
    iban ibans`,
  /** Where others see it. */
  exposed: `
    leak leaks leaked leaking exposed exposes exposing committed_to was_committed were_committed got_committed is_committed pushed_to plaintext plain_text plain-text clear_text cleartext in_the_clear unencrypted unhashed
      we_log logs_the log_full gets_logged is_logged are_logged get_logged in_the_logs in_our_logs in_logs to_the_logs world-readable publicly hardcoded hard-coded hard_coded in_the_repo in_the_repository in_git from_history git_history compromised stolen gitleaks trufflehog pastebin
    klartext im_log geleakt offengelegt gestohlen hartkodiert hartcodiert verrät preisgeben preisgibt gelekt i_klartext
    en_clair fuité fuite fuites divulgu* exposé exposée exposés texto_plano en_claro filtró filtraron filtrad* filtradas expuest* texto_puro em_claro vazou vazaram vazad* expost* in_chiaro trapelat* espost*
    открытом_виде в_открытую утек* утёк* слиты слил засвет* otwartym_tekstem jawnym_tekstem wyciek* w_repozytorium w_logach у_відкритому
    düz_metin açık_metin sızdı sızan sızdır* ifşa सादे_टेक्स्ट लीक
    明文 泄露 泄漏 暴露 硬编码 平文 漏洩 流出 漏れ ログに出 ハードコード 평문* 유출* 노출* 하드코딩*
    nos_logs nei_log en_los_logs en_el_log dans_les_logs dans_le_log in_den_logs im_logfile in_logfiles in_de_logs в_логах в_лог w_logu loglarda loglara 日志里 日志中 ログに 로그에 открытым_текстом in_slack in_the_bundle browser_bundle in_config sin_cifrar sem_criptografia non_chiffré* unverschlüsselt* nezašifr* niezaszyfrowan* незашифров* in_the_url in_the_browser in_screenshots
    im_quellcode im_quelltext im_code in_code in_de_code en_el_código no_código nel_codice dans_le_code в_коде в_исходник* w_kodzie kodun_içinde kodda koda_göm* 代码里 代码中 コードに 直書き ソースに 코드에 कोड_में in_the_code in_source in_the_source in_source_code source_code
    logging logged printed_in output_to_log* in_log_files log_output in_error_messages protokolliert journalisé* registrad*_en_logs логир* logowan* 出力される 로깅*
    onversleuteld*
    to_sentry to_datadog to_third_parties request_dumps dans_les_journaux dans_le_journal no_repositório en_el_repositorio dans_le_dépôt nel_repository im_repository im_repo in_de_repo
    into_the_log into_the_logs into_logs into_our_logs in_log_files بدون_تشفير غير_مشفرة نص_واضح في_السجلات مكشوفة văn_bản_thuần không_mã_hóa bị_lộ trong_log lộ_ra teks_biasa tanpa_enkripsi bocor di_log लॉग_में लॉग्स_में do_logów vào_log ke_log show_up_in shows_up_in 그대로_찍*
    committed_the committed_a committed_our pushed_the checked_in_the in_the_git_history git-history from_git_history in_the_history visible_in_the
    from_logs from_log from_the_logs from_the_log from_our_logs from_log_output showing_in shows_in shown_in visible_in appears_in appear_in printed_to in_console in_the_console console_log to_the_client to_clients to_the_browser on_web_ui on_the_web_ui screen_sharing in_stack_traces
    loggen mitloggen ins_log aus_dem_log du_log des_logs de_los_logs dai_log из_логов z_logów ログから 로그에서
    in_plain in_the_image from_the_image docker_image in_the_container_image из_образа в_образе im_image dans_l'image en_la_imagen na_imagem`,
  /** Verbs that are mostly said of making something safe. */
  securing: `
    rotate rotating revoke* revoking sanitis* sanitiz* redact* encrypt* rehash* salted scrub harden* remediat* mitigat* constant_time constant-time timing-safe lock_down lock_out locks_out close_that_hole close_the_hole plug_the_hole patch_the invalidat* safe_loader blacklist allowlist
    absicher* abdicht* abzudichten verschlüssel* maskier* rotier* rotiere widerruf* beveilig* versleutel*
    sécuris* chiffr* hacher hache révoqu* rotar rota rotación cifra* ofusc* revoc* proteg* criptograf* revog* maschera* sanitizza*
    зашифр* захешир* замаск* отзыв* отозв* отзывать экранир* закрой_дыр* zaszyfr* zahasz* zamask* unieważn* zabezpiecz* załat*
    şifrele* maskele* एन्क्रिप्ट सुरक्षित_करो सुरक्षित_करें
    加密 脱敏 吊销 轮换 验签 堵上 封堵 マスク 暗号化 ハッシュ化 失効 塞 마스킹* 암호화* 해시* 폐기*
    mã_hóa mã_hoá băm شفّر شفر تشفير enkripsi छिपाओ छिपाएं
    перевыпус* reissue reissues neu_ausstell* réémett* reemit*`,
  /** The same in words with other meanings. */
  curbing: `
    escape escaping mask masks masked masking hash hashing hashed signed verify verifies verifying restrict* block blocks blocking lock locks lockout patch refuse* forbid* deny denies reject* rate_limit* rate-limit* rate_limiting throttl* expire expires plug ban protect* prevent* validate validates validating upgrade rotation move_them store_only mandatory
    sperre sperren sperrt blockier* einschränk* verhinder* hashen   schließ* schliess* prüf* blokkeer* intrekken
    masqu* bloqu* restreindre restreins validez valider vérifi* empêch*  hacher limite* restring* valida* bloquea* bloquear impide* impedir bloquei* bloqueia restrinj* validar valide blocca* bloccare limita*
    скрой скрыть заблокир* блокир* огранич* запрет* провер* закрой закрыть zablok* blokuj blokow* ogranicz* cofnij sprawdz* wymień 
    engelle* iptal_et* kısıtla* doğrula* kapat* sınırla* मास्क ब्लॉक रोको रोकें जांच
    屏蔽 撤销 失效 限制 校验 哈希 防止 禁止 拦截 無効化 制限 検証 防ぎ 防ぐ 防止 禁止 ブロック 무효화* 차단* 제한* 검증* 막아* 방지* 금지*
    cancel* suspend* freeze freezes deactivat* disable disables limit limits limiter begrenz* beschränk* annul* suspend* congel* odwoł* anuluj* отмен* приостанов* iptal 取消 冻结 停用 キャンセル 停止 凍結 취소* 정지*
    only_allow only_accept allow_only accept_only
    sign_the sign_all sign_each sign_every sign_our sign_outgoing sign_requests sign_webhooks sign_responses
    secure secures securing`,
  /** Ways in for an attacker: code that is run, input that is not checked, attacks by name. */
  danger: `
    attacker* malicious untrusted hacker* hacked adversary arbitrary_code arbitrary_command* arbitrary_file* arbitrary_url* remote_code rce code_exec eval(* unpickl* pickle.load* untrusted_pickle* yaml.load* unserialize deserializing_untrusted deserialise* shell=true innerhtml dangerouslysetinnerhtml raw_html renders_raw unescaped inline_script* onerror script_tag* etc/passwd 169.254.169.254 metadata_endpoint path_traversal directory_traversal zip_slip prototype_pollution log4j log4shell concatenates_the
      sql_injection command_injection code_injection html_injection header_injection template_injection script_injection prompt_injection tamper* forged forgery spoof* bypass* backdoor* security_hole cve cves cve-* ghsa semgrep trivy snyk codeql gitleaks pentest* pen_test* pen-test* content_security_policy csrf xsrf xss ssrf sqli xxe without_signature unsigned_request* unsigned_webhook* unauthenticated without_authentication without_auth without_being_logged brute-forc* brute_forc* bruteforc* credential_stuffing weak_cipher* vulnerab* trust_the_client privilege_escalation security_flaw*
    angreifer* sicherheitslücke* sql-injektion* schadcode ohne_signatur ohne_anmeldung aanvaller beveiligingslek* kwetsba* sårbar* angripare
    attaquant* faille* n'importe_quel_fichier sans_signature sans_authentification atacante* agujero_de_seguridad inyección* inyectar cualquier_archivo sin_firma sin_autenticar sin_autenticación brecha_de_seguridad invasor* brecha_de_segurança injeção* qualquer_arquivo sem_assinatura sem_autenticação attaccante* iniezion* qualsiasi_file senza_firma senza_autenticazione
    злоумышленник* дыра дыру дырка дырку уязвим* любой_файл инъекц* без_подписи без_авторизации atakując* dziura_w dziurę_w lukę_w podatnoś* wstrzyk* dowolny_plik bez_podpisu bez_autoryzacji вразлив*
    saldırgan* güvenlik_açığ* açığı açığını zafiyet* enjeksiyon* imzasız हमलावर इंजेक्शन सुरक्षा_खामी
    攻击者 漏洞 注入 任意文件 任意代码 越权 未授权 未验证 未签名 绕过 反序列化 攻撃者 脆弱性 インジェクション 任意のファイル 任意のコード 署名なし 認証なし 공격자* 취약점* 인젝션* 임의의* 서명_없이* 우회* 인증_없이*
    mass_assignment mass-assignment httponly http-only samesite same-site secure_flag* secure-flag alg_none internal_host* internal_network* internal_address* open_to_the_internet open_to_the_world
    bucket_is_public bucket_public publicly_readable publicly_accessible publicly_writable parameterized_quer* parametrized_quer* prepared_statement* escape_the_user* escape_user* escape_html html_escape* denial_of_service dos_attack* redos  executable_type* malware directory_listing server_version account_takeover takeover unverified_email mtls mutual_tls man-in-the-middle man_in_the_middle replay_attack* insecure unsafe_deserial* open_redirect* clickjack* directory_index cors_wildcard
    flood_of_requests flooded_with
    firewall* security_groups security_group_rule* ingress_rule* ingress_port* inbound_rule* inbound_traffic open_port* open_the_port* ssh_access bastion network_polic* source_range* unrestricted_upload* unrestricted_file script_files executable_files executables path_injection idor unauthorised_access unauthorized_access pare-feu cortafuego* межсетев* фаервол* брандмауэр* zapor* güvenlik_duvarı* 防火墙 安全组 ファイアウォール セキュリティグループ 방화벽* 보안_그룹*
    skip_certificate* skip_server_certificate* skip_ssl* skip_tls* skip_verification skip_signature* skipping_certificate* disable_certificate* disable_ssl disable_tls disable_verification ignore_certificate* ignore_ssl* ignore_validation verify=false insecureskipverify certificate_verification certificate_validation certificate_revalidation zertifikatsprüfung* vérification_du_certificat verificación_del_certificado verificação_do_certificado verifica_del_certificato проверку_сертификат* weryfikacj*_certyfikat* sertifika_doğrulama* 证书校验 证书验证 証明書の検証 인증서_검증* accepts_anything who_sends_it
    trust_the_client trusts_the_client trusts_the_caller client-controlled client_controlled caller-controlled user-controlled user_controlled client-supplied client_supplied caller-supplied spoofable spoofed cross-tenant cross_tenant tenant_isolation data_isolation tenant_leak* without_a_signature
    administratoraccess poweruseraccess cluster-admin cluster_admin full_admin run_as_root runs_as_root running_as_root privileged_container* privileged_mode docker.sock without_password without_a_password user_enumeration username_enumeration email_enumeration math.random predictable_id* sequential_id* guessable_id* insecure_random* weak_random* default_password* default_credential* debug_endpoint* zip_bomb* billion_laughs external_entit* xml_entit* unpinned_action*
    ohne_passwort sans_mot_de_passe sin_contraseña sem_senha senza_password без_пароля bez_hasła şifresiz 没有密码 无密码 パスワードなし 비밀번호_없이`,
  /** To take somebody's word for it. */
  trusting: `
    trust trusts trusted trusting blindly believes relies_on relying_on taken_from takes_the_user reads_the_user comes_from_the spoof spoofs
    vertrau* fait_confiance faire_confiance confía confían confiar confia fida fidarsi vertrouwt ufa доверя* güven* 信任 信頼 신뢰*`,
  /** What anybody may claim in a request. */
  claimed: `
    header headers x-forwarded-for x-forwarded x-user* x-real-ip request_body query_param* query_string hidden_field* form_field* client-side from_the_client from_the_browser from_the_request from_the_body by_the_client by_the_browser user_id user-id userid price_field
    kopfzeile* en-tête* entête* cabecera* cabeçalho* intestazion* nagłówk* заголовк* 请求头 请求体 ヘッダー ヘッダ 헤더*`,
  /** Where the caller has it in the hand. */
  callerSide: `
    localstorage local_storage sessionstorage in_the_browser devtools dev_tools client-side client_side in_the_request hidden_input hidden_form server-side server_side on_the_server
    im_browser serverseitig clientseitig côté_client côté_serveur en_el_cliente en_el_servidor no_cliente no_servidor lato_client lato_server в_запросе на_сервере на_клиенте w_przeglądarce 前端传 服务端计算 クライアント側 サーバー側 클라이언트에서 서버에서`,
  /** To say yes to what others asked for, and to what is one's own. */
  approving: `
    approve approves approved approving approval approvals freigeben freigabe* genehmig* approuv* aproba* aprova* approva* одобр* утвержд* zatwierdz* onayla* 审批 批准 承認 승인*`,
  ownThing: `
    their_own his_own her_own your_own my_own own_request* own_timesheet* own_expense* eigene eigenen leurs_propres propias próprios propri свои własne kendi 自己的 自分の 자신의 본인의`,
  /** Two that become one. */
  merging:
    "merge merges merging consolidate fold zusammenführ* fusionn* fusiona* unir unisci объедин* scal* birleştir* 合并 統合 병합*",
  /** Not as it should be. */
  wrong: `
    wrong incorrect incorrectly mistake mistakes not_correct isn't_correct inaccurate miscalculat* fixes fix
    falsch* faux fausse* erroné* incorrecte* incorrecto* incorreto* erróne* errad* sbagliat* verkeerd* неверн* неправильн* błędn* yanlış* 不对 算错 間違 誤り 잘못*
    should_be_before should_be_after should_be_calculated should_be_computed instead_of`,
  /** Sums as they are worked out. */
  reckoning: `
    calculation calculations calculate calculates calculated calculating compute computes computed amount amounts total totals
    berechn* betrag* summe* calcul calculs calcule montant* cálculo* importe* calcolo calcoli calcola importo berekening* расчёт* расчет* сумм* obliczan* kwot* hesapla* tutar* 计算 金额 総額 計算 合計 계산* 합계*`,
  /** Who comes in without a special right. */
  actor: `
    anyone anybody everyone everybody user users viewer viewers guest guests visitor* member members customer customers tenant tenants client clients student* employee* editor non-admin* non_admin* stranger* outsider* unauthorized unauthorised unprivileged somebody someone
    jeder nutzer benutzer kunde kunden gast gäste mitglied* mitarbeiter* iedereen gebruiker* klant* alla användare kunder
    n'importe_qui utilisateur* client clients visiteur* invité* employé* cualquiera usuario* cliente* invitado* empleado* qualquer_pessoa qualquer_um usuário* convidado* chiunque utente utenti ospite clienti
    любой пользовател* клиент* гость гости кто_угодно każdy użytkownik* klient* gość користувач*
    herkes kullanıcı* müşteri* misafir* कोई_भी उपयोगकर्ता यूज़र यूजर ग्राहक*
    任何人 用户 客户 访客 普通用户 一般ユーザー 誰でも ユーザー 顧客 会員 누구나 사용자* 유저* 고객* 회원* 비회원*
    nobody no_one agents admin admins administrator* former_employee* ehemalige
    anonymous anonymous_visitors support_agents another_company
    chi_non quien_no quienes_no quem_não wer_nicht wie_niet kto_nie biri birisi
    أي_شخص المستخدم المستخدمين người_dùng
    teacher teachers pupil pupils doctor doctors nurse nurses patients manager managers driver drivers vendor vendors partners contractor contractors intern interns reviewers parents subscribers resellers supporters operators regular_users normal_users basic_users lehrer* schüler* arzt ärzte patienten enseignant* élève* médecin* profesor* alumno* médico* professor* aluno* docent* учител* врач* nauczyciel* lekarz* öğretmen* 老师 学生 医生 教師 生徒 선생님 학생*
    helpdesk help_desk support_staff`,
  /** What an actor then does. */
  accessing: `
    can_see can_read can_open can_access can_view can_edit can_delete can_call can_patch can_download can_post can_change can_reach can_modify could_see could_read could_access able_to_view able_to_see able_to_access able_to_read able_to_edit able_to_delete able_to_change allowed_to access accesses directly_access impersonat* escalat* promote_them* belong_to belonging_to visible_to permitted
    sehen einsehen zugreif* zugriff abrufen aufrufen lesen bearbeiten zien toegang inzien kan_se
    voir accéd* accès consulter modifier lire  acced* acceso leer modificar descargar acess* acesso ler alterar vedere acced* accesso leggere modificare
    видеть видит видят получить_доступ открыть открывает читать прочитать доступ редактировать zobaczyć widzi widzą dostęp odczytać wejść edytować бачити
    görebil* görüyor erişebil* erişiyor okuyabil* açabil* देख_सकता देख_सकते देख_पा एक्सेस खोल_सकता पढ़_सकता
    看到 访问 查看 读取 叩け 見え 見れ 見られ アクセス 閲覧 読め 編集でき 볼_수 보여요 보입니다 접근* 조회* 열람* 호출*
    can_set can_list can_export can_log_in can_still_log can_enumerate can_send guessing lets_them lets_anyone lets_users lets_everyone sees vê vês veem ve ven voit voient vede vedono sieht sehen_kann
    kann können peut peuvent puede pueden pode podem conseguem può possono может могут może mogą can_hit can_get can_use 能访问 能看 できてしまう 할_수 可以访问 可以看
    be_read be_seen be_accessed be_opened be_viewed be_edited be_downloaded accessible readable_by viewable grant grants granted revoke promote promotes demote demotes elevate cannot_access can_not_edit can_not_access can_remove can_add can_grant make_themselves belongs_to not_belong
    herunterladen einloggen télécharger ouvrir abrir baixar conseguir consegue scaricare aprire riesce downloaden openen pobrać otworzyć скачать indirebil* 下载 打开 ダウンロード 開け 다운로드*
    رؤية يرى الوصول يمكنه gọi_được
    leggono si_legge czytać leest lees kun_je_lezen lê leem qualquer_um_lê 읽을_수 読める 読めて 読めてしまう 能读到
    people_see ppl_see others_see users_see customers_see guests_see members_see see_other see_others see_each see_someone see_their get_at read_files see_files open_files
    lets_you lets_u let_you lets_him demoted promoted demotion keeps_editing keep_editing 返らない 返さない 返ってくる
    get_into gets_into get_in gets_in kommen_noch kommt_noch reinkomm* ins_system entrent_encore siguen_entrando ainda_entram entrano_ancora заходят`,
  /** Where only some may go. */
  restricted: `
    admin admins administrator* superuser owners other_users other_users' other_user's another_user another_user's another_person* another_tenant other_tenants other_customers other_people someone_else someone_else's another_customer another_account own_account own_data created_by_them staff-only role roles privileg* tenancy without_permission other_sites themselves_to
    anderer anderen_kunden anderer_kunden fremde fremder fremden administrator* adminbereich andermans beheerder* andras
    d'autrui d'autres des_autres administrateur* de_otros de_otro de_otra ajeno ajenos ajenas administrador* de_outros de_outro de_outra alheio* di_altri degli_altri altrui amministrator*
    чужой чужие чужих чужую чужое других_пользовател* другого_пользовател* админк* администратор* cudze cudzych innych_użytkownik* innego_użytkownik* administrator*
    başkasının başkalarının diğer_kullanıcı* yönetici* दूसरे_यूज़र दूसरों_का दूसरे_ग्राहक किसी_और एडमिन
    别人 他人 其他用户 用户b 管理员 后台 管理后台 越权 他人の 他のユーザー 他社 管理画面 管理者 다른_사용자* 다른_사람* 다른_회원* 타인* 남의 관리자*
    of_others other_teams other_orgs other_companies other_organi* not_belong internal_host* full_admin* dos_outros das_outras de_los_demás de_los_otros des_autres_clients autres_clients autres_utilisateurs otros_usuarios otros_clientes outros_usuários outros_clientes altri_utenti altri_clienti
    another_compan* another_org* another_team* another_workspace sem_permissão sin_permiso* sans_permission ohne_berechtigung ohne_rechte senza_permess* без_прав bez_uprawnień yetkisi_olmayan yetkisiz 没有权限 无权限 権限のない 権限なし 권한_없는 권한이_없는 अनुमति_के_बिना
    moderator* mods permission permissions permission_group* privilege* ownership acl acls rbac access_control other_organi* another_organi* other_workspaces other_clients private_document* private_file* private_area* unpublished_draft* regardless_of_the_permission* direct_link berechtigung* rechte_von rolle rollen permissões permisos permessi uprawnie* разрешени* права_ роли роль yetki* roller 权限 角色 版主 権限 モデレーター 권한* 역할*
    d'un_autre d'une_autre panneau_d'administration panel_de_administración de_otra_persona painel_de_administração painel_administrativo pannello_di_amministrazione area_riservata adminpanel beheerpaneel yönetim_panel* panel_administra* панел*_администратор* 管理面板 관리_페이지*
    الآخرين every_customer's every_user's everyone's quản_trị_viên
    other_ppl others_data workspace_filter tenant_filter organization_filter org_filter is_staff staff_only staff_members superadmin* super-admin* super_admin* managers_of their_own_team their_team own_team
    of_other of_another from_other belonging_to_other superusers user_admin users_admin make_user administrators administration-role admin_role admin_rights admin_privilege*
    anonymous anonymously not_logged_in every_account every_customer all_accounts to_owner to_admin anonyme anónimo* anônimo* anonimo* анонимн* anonimow* anonim* 匿名 익명*`,
  /** What belongs to somebody else. */
  othersOwn: `
    someone_else's somebody_else's another_user's other_user's other_users' another_customer's other_customers' other_people's another_tenant's
    fremde fremder fremden andermans andras d'autrui ajeno ajenos ajena ajenas alheio alheios alheia alheias altrui
    чужой чужие чужих чужую чужое cudze cudzych cudzy cudzą başkasının başkalarının
    别人的 他人的 其他用户的 他人の 他のユーザーの 他の会員の 남의 타인의 다른_사람의 다른_사용자의 다른_회원의 दूसरे_यूज़र दूसरों_का
    andere_nutzer d'autres_utilisateurs de_otros de_outros altri_utenti van_anderen innych_użytkowników başkalarının_dosyaları
    tenant_b org_b organization_b workspace_b company_b customer_b user_b account_b team_b client_b project_b other_tenant's other_tenants' another_org's another_organization's another_company's another_workspace's wrong_account wrong_customer wrong_user wrong_tenant wrong_person wrong_patient
    mandant_b kunde_b falschen_kunden falschen_konto falsche_konto falschen_nutzer mauvais_compte mauvais_client mauvais_utilisateur cuenta_equivocada usuario_equivocado cliente_equivocado conta_errada usuário_errado cliente_errado account_sbagliato utente_sbagliato verkeerde_account verkeerde_klant не_тому_пользовател* не_тому_клиент* niewłaściwego_użytkownik* yanlış_kullanıcı* yanlış_müşteri* 其他租户 别的租户 租户b 別のテナント 他テナント 다른_테넌트* 다른_회사*`,
  /** A check that is missing. */
  unchecked: `
    never_checks never_check doesn't_check does_not_check don't_check do_not_check isn't_checked is_not_checked without_checking never_verifies doesn't_verify does_not_verify without_verifying never_validates without_a_check no_check
    prüft_nicht nicht_geprüft ohne_zu_prüfen ohne_prüfung controleert_niet zonder_te_controleren kontrollerar_inte
    ne_vérifie_pas ne_vérifie_jamais sans_vérifier no_comprueba no_verifica sin_comprobar sin_verificar não_verifica não_checa sem_verificar non_controlla non_verifica senza_controllare
    не_проверяет не_проверяется не_проверяем без_проверки nie_sprawdza bez_sprawdzenia kontrol_etmiyor kontrol_edilmiyor
    不检查 没检查 没有检查 没有校验 未校验 没有验证 チェックしていな チェックせず 確認していな 検証していな 확인하지_않* 검사하지_않* 검증하지_않*
    has_no_permission no_permission_check* no_auth_check missing_permission* missing_authorization missing_auth ohne_berechtigungsprüfung 没做权限 没有做权限 没有权限校验`,
  /** To whom something belongs. */
  ownership: `
    whose who_owns owner owners ownership belongs belong_to who_it_belongs
    wem gehört* besitzer* eigentümer* eigenaar* à_qui appartien* propriétaire* de_quién pertenec* propietari* dueño* de_quem pertence* dono di_chi proprietari*
    чей чья чьё чьи кому_принадлежит владел* czyj czyja czyje do_kogo_należy właściciel* kime_ait sahib* 谁的 归属 属于 誰の 所有者 누구의 소유자* 소유*
    sea_del sea_de es_del es_de_su del_usuario du_client dell'utente do_usuário des_benutzers пользователя użytkownika`,
  /** By what somebody is known from one request to the next. */
  credential: `
    session sessions cookie cookies bearer jwt* token tokens login logins sign-in signin sign_in magic_link* reset_link* reset_url* invite_link* share_link* password passwords api_key* logged_in account accounts logout log_out idp identity_provider user_id* link links
    sitzung* anmeldung token tokens konto konten zurücksetzen sessie* wachtwoord* inlog* inloggning*
    session sessions jeton* lien connexion mot_de_passe compte comptes sesión sesiones enlace contraseña* cuenta cuentas sessão sessões senha* link conta contas sessione sessioni password link account
    сесси* сеанс* токен* ссылк* парол* аккаунт* учётн* логин* sesj* token* link hasł* haseł konto kont konta logowani* сесі*
    oturum* belirteç* bağlantı* parola* şifre* hesap hesab* token* सत्र सेशन टोकन लॉगिन पासवर्ड खाता
    会话 令牌 链接 登录 token 密码 账号 账户 帐号 セッション トークン リンク パスワード ログイン アカウント 세션* 토큰* 링크* 비밀번호* 로그인* 계정*
    signed_url* signed_download download_link* download_url* signed_link* invitation* invite invites einladung* invitación invitation* convite* invito приглаш* zaproszen* davet* 邀请 招待 초대* sign_out sign-out remember_me
    log_everyone log_users_out
    تسجيل_الدخول كلمة_المرور كلمات_المرور الجلسة رابط الرابط đăng_nhập mật_khẩu liên_kết logować zalogować giriş_yap* giriş_yapabil* masuk kata_sandi tautan लिंक
    reset-token* jeton_de_réinitialisation token_di_reimpostazione
    logging_in log_in loggt_sich se_connecter iniciar_sesión api_token* access_token* refresh_token* signing_key* old_key previous_key alten_schlüssel ancienne_clé clave_antigua chave_antiga старый_ключ 旧密钥 古い鍵
    pin pins passcode* token_audience`,
  /** The address by which somebody gets back into an account. */
  recoveryAddress: `
    email_change e-mail_change change_email change_e-mail changing_email changing_the_email changing_e-mail changes_their_email change_their_email change_the_email changes_an_email email_address_change e-mail_address_change new_email_address new_e-mail_address email_verification e-mail_verification verify_email verify_their_email verified_email unverified_email phone_number_change change_phone recovery_email
    e-mail-adresse_ändern e-mail-änderung* adresse_e-mail cambiar_el_correo cambio_de_correo alterar_o_e-mail alteração_de_e-mail cambio_email смен* смену_почты zmiana_adresu zmianie_adresu e-posta_değiş* 修改邮箱 更换邮箱 邮箱验证 メールアドレス変更 メールアドレスの変更 이메일_변경* 이메일_인증*`,
  /** To make sure of something before it holds. */
  confirming: `
    confirm confirmed confirms confirmation verify verified verifies verification require_verification re-authenticat* reauthenticat* current_password old_address original_address insecure secure unverified enforce
    bestätig* bestätigung* confirmer confirmation vérifi* confirmar confirmación confirmação conferma подтвержд* potwierdz* onayla* doğrula* 确认 验证 確認 認証 확인* 인증*`,
  /** To show what somebody has sent without running it. */
  escaping: `
    escape escapes escaping escaped auto-escap* autoescap* unescaped sanitis* sanitiz* encode_output
    maskier* échapp* escapa* escapar экранир* ucieczk* kaçış* 转义 エスケープ 이스케이프*`,
  /** Where it would run. */
  rendered: `
    html template templates templating markup innerhtml markdown rendered renders rendering user_input user-input user_supplied user-supplied query queries shell
    vorlage* modèle* gabarit* plantilla* modelo_html шаблон* szablon* şablon* 模板 テンプレート 템플릿*
    excel spreadsheet spreadsheets`,
  /** All that belongs to a group of people. */
  container: `
    workspace workspaces tenant tenants organization organizations organisation organisations account accounts project_data team_data mailbox*
    arbeitsbereich* mandant* espace_de_travail espaces_de_travail espacio_de_trabajo espaço_de_trabalho рабочее_пространство przestrzeń_robocz* çalışma_alan* 工作区 租户 ワークスペース テナント 워크스페이스* 테넌트*`,
  /** What opens an interface to a program, and how far. */
  accessToken: `
    token tokens access_token* personal_access_token* pat pats api_key* api_keys api-key* oauth service_account* deploy_key*
    zugriffstoken* zugangstoken* jeton jetons токен* tokeny anahtar* belirteç* 令牌 トークン 토큰*
    service_principal* iam iam_role* iam_polic* role_binding* rolebinding* clusterrole* workload_identity deploy_user* ci_user* bot_user* db_user* database_user* dienstkonto* servicekonto* compte_de_service comptes_de_service cuenta_de_servicio conta_de_serviço account_di_servizio сервисный_аккаунт* konto_serwisow* hizmet_hesab* 服务账号 サービスアカウント 서비스_계정*`,
  scope: `
    read-only read_only readonly write_access read_access read_and_write read/write scope scopes scoped full_access admin_access least_privilege
    nur_lesen schreibzugriff* leserecht* lecture_seule en_lecture_seule sólo_lectura solo_lectura somente_leitura sola_lettura только_для_чтения tylko_do_odczytu salt_okunur 只读 読み取り専用 읽기_전용*
    least-privilege least_permission* minimal_permission* minimum_permission* minimum_required too_broad overly_broad overly_permissive too_permissive over-privileged overprivileged excessive_permission* excess_permission* excess_privilege* what_it_needs what_they_need only_needs has_owner as_owner owner_on owner_role owner_rights has_admin admin_on admin_rights root_rights wildcard_permission* full_control
    zu_viele_rechte mehr_rechte_als trop_de_droits trop_de_permissions demasiados_permisos permisos_excesivos permissões_demais excesso_de_permissões troppi_permessi te_veel_rechten слишком_много_прав лишние_права za_duże_uprawnienia zbyt_szerokie fazla_yetki* 权限过大 最小权限 権限が広すぎ 最小権限 과도한_권한*`,
  /** Money in fractions that do not exist. */
  rounding: `
    rounding rounded rounds round_up round_down round_half decimal_places a_cent one_cent a_penny cents_off
    rundung* gerundet rundet arrondi* redonde* arredond* arrotond* округл* zaokrągl* yuvarla* 四舍五入 舍入 四捨五入 端数 丸め 반올림*`,
  /** Sums that somebody owes by law or contract. */
  duty: `
    tax taxes vat sales_tax invoice invoices subtotal subtotals surcharge* commission* exchange_rate*
    steuer* mehrwertsteuer* rechnung* taxe taxes tva facture* impuesto* iva factura* imposto* fatura* imposta imposte fattur* ндс налог* счет счёт vat_u podatk* faktur* vergi* kdv 税 发票 消費税 請求書 세금* 부가세* 청구서*`,
  /** A change of the shape of stored data that writes all of it anew. */
  reshaping: `
    column_type column_types type_of_the_column change_the_type change_type type_change alter_column alter_table widen narrow convert converts split_the_table transform_columns
    spaltentyp* typ_der_spalte type_de_la_colonne type_de_colonne tipo_de_la_columna tipo_de_columna tipo_da_coluna tipo_della_colonna тип_столбца тип_колонки typ_kolumny sütun_tip* 列类型 字段类型 カラムの型 列の型 컬럼_타입*
    rename_column* rename_the_column rename_a_column rename_table* rename_the_table change_the_primary primary_key_from spalte_umbenennen renommer_la_colonne renombrar_la_columna renomear_a_coluna переименуй_колонк*`,
  /** While it is in use. */
  inUse: `
    without_downtime zero-downtime zero_downtime no_downtime live online migration migrations rows_are_written while_traffic
    ohne_ausfall* im_betrieb sans_interruption sin_interrupción sin_caída sem_interrupção senza_interruzione без_простоя bez_przestoju kesintisiz 不停机 在线迁移 無停止 無停止で 무중단*`,
  /** What lowers a price. */
  reduction: `
    discount discounts coupon coupons voucher* promo promos promo_code* promotion_code* gift_card* store_credit*
    rabatt* gutschein* remise* réduction* descuento* cupón cupones desconto* cupom cupons sconto sconti скидк* промокод* купон* zniżk* rabat* kupon* indirim* 优惠券 折扣 クーポン 割引 쿠폰* 할인*`,
  /** An account that shall not be used any more. */
  closedAccount: `
    disabled_user* disabled_account* disabled_member* deactivated_user* deactivated_account* deactivated_employee* suspended_user* suspended_account* banned_user* blocked_user* revoked_user* disable_an_account disable_a_user disable_the_account disabling_a_user disabling_an_account disabling_logged user_is_disabled account_is_disabled account_was_disabled been_disabled been_deactivated been_suspended been_banned user_is_deactivated user_is_banned former_employee* ex-employee*
    gesperrte_nutzer* gesperrte_konten deaktivierte_nutzer* deaktivierte_konten ehemalige_mitarbeiter* compte_désactivé comptes_désactivés anciens_employés cuenta_desactivada cuentas_desactivadas usuarios_desactivados antiguos_empleados conta_desativada contas_desativadas usuários_desativados account_disattivat* utenti_disattivati
    заблокированн* деактивирован* отключённ* zablokowan* dezaktywowan* devre_dışı* eski_çalışan* 被禁用 停用的 离职员工 無効化された 停止された 退職者 비활성화된* 정지된* 퇴사자*
    we_removed_them people_who_left who_has_left leavers ex-staff ausgeschieden* oud-medewerker* ex-medewerker* voormalige_medewerker* ex-employé* ex-salarié* ex-empleado* byli_pracown* byłych_pracown* byłym_pracown* zwolnieni zwolnionych бывшие_сотрудник* бывших_сотрудник* уволенн* уволивш* колишні_співробітник* колишніх_співробітник* звільнен* işten_ayrıl* işten_çık* ayrılan_çalışan* eski_personel حذفناهم الموظفون_السابقون الموظفين_السابقين المحذوفين đã_nghỉ_việc nhân_viên_cũ tài_khoản_bị_khóa tài_khoản_đã_khóa पूर्व_कर्मचारी निकाले_गए नौकरी_छोड़* mantan_karyawan karyawan_yang_keluar 离职的 已离职 退職した 退職済 辞めた 퇴사한* contract_ends contract_has_ended
    deleted_user* deleted_account* deleted_member* deleted_employee* removed_user* removed_member* user_is_deleted user_was_deleted account_is_deleted account_was_deleted been_deleted are_deleted terminated_employee* offboarded ex_employee* ex_staff left_the_company
    gelöschte_benutzer* gelöschte_nutzer* gelöschte_konten gelöschter_benutzer gekündigte_mitarbeiter* utilisateurs_supprimés comptes_supprimés compte_supprimé usuarios_eliminados usuarios_borrados cuentas_eliminadas usuários_excluídos usuários_removidos contas_excluídas utenti_eliminati verwijderde_gebruikers verwijderde_accounts удаленные_пользователи удалённые_пользователи удаленный_пользователь удалённый_пользователь usunięci_użytkownicy usunięte_konta silinen_kullanıcı* 已删除的用户 被删除的用户 已注销 削除されたユーザー 削除済みユーザー 退会した 삭제된_사용자* 탈퇴한*
    they_left he_left she_left left_the_team left_the_project left_the_workspace left_the_group who_left have_left has_left ex-member* former_member* ehemalige_mitglieder* anciens_membres antiguos_miembros antigos_membros бывшие_участник* byli_członk* eski_üye* 已退出的成员 元メンバー 탈퇴_멤버*`,
  /** How long, how often and whether it opens the door. */
  lifetime: `
    expir* single_use single-use one-time one_time only_once works_once work_once used_twice used_again still_valid still_works still_work still_working never_expire* lifetime idle inactivity valid_for stays_valid remains_valid remain_valid invalidat* invalid_after revoke* revocation after_logout after_log_out after_logging_out log_out_everywhere all_devices other_devices server_side server-side password_change* change_password password_is_changed password_was_changed changes_their_password changes_his_password renewed force_logout sign_out_everywhere lockout lock_out lock_the_account locked_after wrong_passwords failed_attempt* too_many_attempts rate_limit* rate-limit* brute_forc* kicked_out fixation
    abläuft ablaufen ablaufzeit bleibt_gültig noch_gültig gültig_bleib* einmalig nur_einmal fehlversuch* verfällt ungültig auf_allen_geräten verlopen blijft_geldig ongeldig
    expir* reste_valide toujours_valide encore_valide périm* une_seule_fois révoqu* tous_les_appareils caduc* sigue_válid* sigue_siendo sigue_funcionando una_sola_vez todos_los_dispositivos revoc* cierra_la_sesión cerrar_la_sesión continua_válid* uma_única_vez todos_os_dispositivos revog* scad* resta_valid* ancora_valid* una_sola_volta tutti_i_dispositivi
    истека* истёк* действует_после остаётся_действ* остается_действ* остаётся_рабоч* остается_рабоч* после_выхода одноразов* отзыв* отозв* всех_устройств просроч* wygas* nadal_ważn* jednoraz* unieważn* po_wylogowaniu wszystkich_urządz* błędnych nieudanych
    geçersiz süresi_dol* sona_er* tek_kullanım* bir_kez_kullan* çıkış_yap* tüm_cihaz* समाप्त एक्सपायर एक_बार
    过期 失效 有效期 仍然有效 还能用 一次性 注销后 退出后 所有设备 単回 有効期限 有効なまま 無効 失効 使い捨て 一度だけ 全端末 만료* 유효* 무효* 일회용* 한_번만 로그아웃해도 모든_기기*
    attempts remember_me tentatives intentos tentativas tentativi попыт* prób deneme* 尝试 試行 시도* caduq* never_expir* sign_out_other log_out_other
    stay_logged stays_logged remain_logged remains_logged log_everyone_out log_users_out log_all_users predictable guessable can_be_guessed vorhersagbar erratbar 期限切れ never_ends never_time_out nie_ablauf* laufen_nie_ab
    until_logout until_they_log_out continue_to_work continues_to_work still_perform still_be_used still_active still_logged lock_user_out lock_the_user_out lock_them_out locked_out noch_einloggen noch_anmelden peut_encore puede_seguir ainda_pode всё_ещё_может все_еще_может nadal_może hâlâ 仍可 仍然可以 まだ使え まだログイン 여전히*
    funktioniert_noch funktioniert_auch_noch fonctionne_encore fonctionne_toujours marche_encore todavía_funciona aún_funciona ainda_funciona funziona_ancora werkt_nog nadal_działa wciąż_działa всё_ещё_работает все_еще_работает по-прежнему_работает hâlâ_çalış* 还有效
    never_stops_working never_stops 一回限り 一度限り 1回限り 何度でも 只能用一次 反复使用 여러_번_사용*
    can_still_open can_still_access can_still_use can_still_view can_still_see mehrmals_benutz* mehrmals_verwend* mehrfach_benutz* ما_زال ما_زالوا لا_تنتهي لا_ينتهي vẫn_đăng_nhập vẫn_dùng vẫn_còn không_hết_hạn masih_bisa 还能再用 还可以用 仍能 أكثر_من_مرة keep_their_access keeps_access dolmuyor
    läuft_nie läuft_nicht_ab vervallen vervalt verloopt invalidée* invalidé* cerrarse cerrar_todas caducar encerradas encerrados encerrar недействительн* аннулир* invalidate invalidati invalidare invalidadas
    still_accepted still_accepts still_accept still_honored still_honoured still_authenticated still_lets still_let stays_signed keeps_working keep_working immediately_logged logged_out_immediately log_them_out log_him_out kick_them kicks_them kick_out kicked_off stays_alive after_rotation after_the_rotation until_it_expires never_die never_dies
    ausgeloggt ausloggen abgemeldet gültig déconnect* desconect* disconnett* uitgelogd uitloggen разлогин* выкин* wyloguj* wylogowan* 踢下线 強制ログアウト ログアウトさせ 강제_로그아웃*
    min_length minimum_length password_polic* password_strength breached haveibeenpwned pwned weak_password* common_password* password_history wrong_pin wrong_pins wrong_code wrong_codes pin_attempt* whose_aud whose_audience aud_claim issuer_claim token_claims mindestlänge longueur_minimale longitud_mínima comprimento_mínimo lunghezza_minima
    after_expiry after_expiration abgelaufen* nach_ablauf après_expiration tras_vencer
    current_password only_work only_works only_valid works_only valid_only work_only`,
  /** The same again, though it must happen once; or the wrong amount of it. */
  amiss: `
    twice double doubly doubled double-* duplicate* second_time two_times multiple_times more_than_once several_times below_zero negative overcharg* undercharg* idempot* ran_twice
    doppelt* zweimal zwei_mal mehrfach dubbel* twee_keer dubbelt två_gånger
    deux_fois double doublon* plusieurs_fois dos_veces doble duplicad* varias_veces negativ* duas_vezes dobro duplicidade due_volte doppi* duplicat*
    дважды второй_раз два_раза повторно повторн* двойн* задвои* dwa_razy dwukrotn* podwójn* двічі
    iki_kere iki_kez iki_defa mükerrer दो_बार दोबारा
    重复 两次 二次 多次 幂等 二重 2回 2度 重複 두_번 두번 중복* 이중* 2번
    more_than_once rounds_down rounds_up rounding_error wrong_amount lose_a loses_a lose_money loses_money a_cent too_much too_little miscalculat* falsch_berechnet zu_viel zu_wenig de_más de_menos в_минус
    incorrect_amount*  wrong_price charged_wrong  off_by_a_factor
    charged_incorrect* repeated_charges repeated_payments repeated_billing
    balance_goes_negative negative_balance more_than_the_balance more_than_their_balance more_than_balance in_parallel concurrent* simultaneous* race_condition* race below_balance insufficient_funds overdraw* overdraft* not_in_agreement discrepanc* mismatch* inconsistent reconcil* off_by_one gleichzeitig en_même_temps simultané* simultáne* simultâne* одновремен* jednocześnie równocześnie aynı_anda 同时 并发 同時 동시*
    applied_once only_once many_times as_many_times again_and_again repeatedly not_enforced unlimited_times completely_free for_free free_items below_cost more_than_the_price stack stacks stacked stacking combine_with einmal_anwend* mehrmals неоднократно wielokrotnie birden_fazla_kez 無制限 여러_번*
    مرتين مكرر مكررة hai_lần trùng_lặp dua_kali ganda
    mais_do_que_o_saldo mais_que_o_saldo más_que_el_saldo más_del_saldo más_de_lo_que_tien* plus_que_le_solde plus_que_son_solde più_del_saldo più_di_quanto_ha mehr_als_das_guthaben mehr_als_guthaben mehr_als_er_hat meer_dan_het_saldo больше_чем_есть больше_баланса więcej_niż_saldo więcej_niż_ma bakiyeden_fazla 超过余额 超出余额 残高以上 残高を超え 잔액보다* full_amount_again wrong_currency charged_the_wrong charges_the_wrong billed_the_wrong wrong_plan wrong_total instead_of_the_remaining
    overbill* underbill* still_get still_gets still_getting not_deducted not_reduced never_deducted isn't_deducted not_refunded not_credited credited_twice without_being_deducted`,
  /** Money moves. */
  paying: `
    charge charged charges charging bill bills billed billing double-bill* pay pays paid payment* payout* pay_out refund* reimburse* debit* debited deduct* withdraw* settlement disburse* send_money transfer_money prorat* checkout stripe paypal adyen klarna undercharge* overcharge*
    abbuch* abgebucht abgerechnet zahlung* zahlen bezahl* erstatt* rückerstatt* kassier* afschrij* afgeschreven betaal* betaling* terugbetal* betalning*
    débit* factur* payer paie paye paiement* rembours* encaiss* prélev* cobra cobran cobrar cobro* pagar pago pagos paga pagamento* reembols* factur* cobranç* estorn* addebit* pagament* pagare rimbors* fattur*
    списыва* списан* списать плат* оплат* оплач* возврат* płac* płat* zapłac* pobier* pobran* obciąż* zwrot* zwróc* сплат*
    ödeme* ödüyor tahsil* çekiliyor iade* ücretlendir* भुगतान पेमेंट कट_जाता कटता रिफंड रिफ़ंड चार्ज
    扣款 扣费 收费 支付 付款 退款 到账 提现 结算 计费 決済 課金 請求 返金 引き落と 支払 コンビニ払い 後払い 前払い 分割払い 一括払い 着払い 代引き 결제* 환불* 청구* 과금* 출금* 이체*
    списа* çekildi çekil* redeem* monetary billed_monthly belaste* belastet débité*
    declined declines cobrad* zwróć वापस abgelehnt 返金 退钱 geri_öde* iade_et* parayı_iade reembolse
    withdrawal* deposit deposits top-up* topup* cash_out cashout wire_transfer* bank_transfer* money_transfer* renewal* overpay* underpay* double-spend* double_spend* spending auszahlung* retrait* retiro* saque* prelievo* вывод_средств снятие wypłat* para_çekme* 提现 転送 출금*
    خصم يتم_خصم خصمنا استرداد_المبلغ trừ_tiền bị_trừ thu_tiền thanh_toán hoàn_tiền ditagih didebit dibayar pengembalian_dana पैसे_कट*
    верни_клиенту верни_сумму верни_деньги вернуть_деньги 退还 退钱 被扣 扣两次 扣了两次 多扣
    sacar sacan sacado retirar retiran abheben abgehoben снимать снять_деньг* wypłaca* para_çek* instalment* installment* recurring_payment* payroll salary salaries wage wages
    overbill* underbill* deduction cashback`,
  /** What is paid, with what, for what. */
  money: `
    money card cards price prices amount amounts balance balances wallet* order orders total totals cart basket coupon* voucher* discount* invoice* credit_note* currency currencies vat sales_tax taxes plan plans trial trials subscription* membership* customer customers people webhook webhooks merchant* seller sellers gift_card* ledger fee fees commission* stripe paypal apple_pay google_pay
    geld karte* preis* betrag* beträge guthaben gutschein* rabatt* rechnung* bestellung* warenkorb kunde kunden abo paypal kaart prijs* bedrag* saldo bestelling* pengar pris* belopp
    argent carte* prix montant* solde* panier commande* facture* abonnement* client clients dinero tarjeta* precio* importe* saldo* pedido* carrito factura* suscripc* usuario cliente* dinheiro cartão cartões preço* saldo pedido* carrinho fatura* assinatura* denaro soldi carta carte prezz* importo saldo ordin* carrello fattur* abbonament* rate
    деньг* денег карт* цен* сумм* баланс* заказ* корзин* счет* счёт* подписк* тариф* вебхук* купон* pieniądz* pieniędzy kart* kwot* saldo zamówieni* koszyk* faktur* subskrypcj* klient* гроші
    para kart* fiyat* tutar* bakiye* sipariş* sepet* fatura* abonelik* kupon* ücret* müşteri* पैसा पैसे कार्ड कीमत राशि ऑर्डर ग्राहक*
    钱 银行卡 价格 金额 余额 订单 购物车 优惠券 发票 订阅 微信支付 支付宝 回调 お金 カード 価格 金額 残高 注文 カート クーポン 請求書 定期 サブスク 돈 카드* 가격* 금액* 잔액* 주문* 장바구니* 쿠폰* 구독* 정기*
    credits tax declined_card unpaid billing_address
    funds escrow liquidity deposit_account fee_amount vat_rate tax_rate balances payout* refund* invoice* transactions sold_tickets stock_value cost costs price_difference guthaben fonds fondos fundos средств środki bakiye 资金 資金 자금*
    المبلغ العميل العملاء الطلب khách_hàng đơn_hàng số_tiền pelanggan pesanan 
    loyalty_point* loyalty bonus_point* points_balance point_balance cashback referral_bonus* seat_count iban credit_limit* spending_limit*`,
  /** Doing away with something, large or small. */
  discarding: `
    delete deletes deleting deletion remove removes removing drop drops dropping truncate purge purges purging wipe wipes wiping erase erases erasing nuke nukes destroy destroys flush flushes clear clears clearing clear_out clean_up cleanup cleaning get_rid_of throw_away throw_out shred prune prunes empty reformat reformats overwrite overwrites hard-delete* hard_delete* rm expunge
    lösch* entfern* rauswerf* wegwerf* leere leeren leert vernicht* bereinig* aufräum* tilg* tilge verwijder* wis wissen opruim* weggooi* radera rensa töm ta_bort
    supprim* effac* vide vider purg* détruis* détruire nettoi* élimin* enlev* borra* elimin* vacía* vaciar limpia* destruye* suprim* quita* apag* exclu* remov* limp* esvazi* expurg* cancell* svuot* ripul* rimuov* distrugg* butta*
    удал* снес* стер* сотр* очист* вычист* вычищ* почист* выкин* уничтож* зачист* убер* usuń usun* skasuj kasuj* wyczyść czyść wyrzuć opróżnij zlikwiduj wymaż wywal видал*
    sil silin silme silen silip silinsin kaldır* temizle* boşalt* मिटा मिटाओ मिटाएं मिटाना हटा हटाओ हटाएं हटाना डिलीट
    删除 删掉 删 清空 清掉 清理 清除 移除 销毁 抹掉 干掉 刪除 削除 消去 消し 消す 破棄 空に クリア 삭제* 지워* 지우* 제거* 비워* 비우* 날려* 파기*
    tear_down tears_down teardown abreiß* abbauen
    reset resets dropped
    merge_the_duplicate* merge_duplicate* dedupe dedup deduplicate*
    احذف حذف امسح xóa xoá hapus
    kill kills kill_off decommission* sunset retire retires scrap vaporize bin_the abschalten stilllegen mettre_hors_service dar_de_baja desmantel* dismett* buitengebruik* вывести_из_эксплуатации wycofaj 下线 下架 廃止
    squash`,
  /** Stored data, where losing it hurts. */
  stored: `
    table tables database databases db dbs schema schemas rows records columns postgres postgresql mysql mariadb mongo mongodb redis dynamodb cassandra elasticsearch rds s3 bucket buckets snapshot snapshots backup backups volume volumes pvc dump dev/sd* customer_data user_data personal_data data accounts customers tenant tenants soft-deleted soft_deleted chat_logs history events sequences column alembic flyway liquibase migration migrations
    tabelle* datenbank* daten datensätz* sicherung* spalte* kunden bestellung* testkunden konten nutzerdaten kundendaten tabel* database* gegevens klanten databas* tabell*
    table tables base_de_données bases_de_données données sauvegarde* utilisateurs clients commandes colonne* tabla tablas base_de_datos bases_de_datos datos respaldo* usuarios clientes pedidos registros columna* tabela tabelas banco banco_de_dados dados usuários coluna* tabell* dati ordini utenti clienti backup colonn*
    таблиц* баз* данные данных клиент* пользовател* заказ* запис* бэкап* колонк* столб* tabel* baz* dane danych kolumn* klient* użytkownik* zamówie* rekord* kopi*
    tablo* veritaban* kayıt* müşteri* kullanıcı* yedek* sütun* veri veriler* डेटाबेस डेटा टेबल ग्राहकों रिकॉर्ड
    数据库 数据 表 库 备份 用户 客户 记录 订单 データベース db テーブル データ ユーザー 顧客 バックアップ レコード カラム マイグレーション 데이터* db에서 db 테이블* 백업* 회원* 사용자* 고객* 레코드* 컬럼*
    ऑर्डर 注文データ clusters cluster
    customer_info customer_information user_info personal_information data_transfer_columns facility_data customer_records user_records accounts_table users_table orders_table customers_table uploaded_files attachments tenants'_data
    la_base
    قاعدة_البيانات قاعدة_بيانات الحسابات cơ_sở_dữ_liệu tài_khoản basis_data akun
    hesapları hesaplarını учётные_записи учетные_записи аккаунт* konta 账号 账户 アカウント 계정*
    rds_instance* db_instance* database_instance* postgres prod_database* prod-db* replica replicas read_replica* firestore bigquery snowflake warehouse dataset datasets volumes pvcs
    orders`,
  /** Where it is the real thing. */
  live: `
    prod production live_database live_db live_system live_data the_live_* the_primary on_live real_customer* prod_db production_db
    live-datenbank* live-system* live-db produktiv* produktion* produktionsdaten* echtsystem* productie* skarpa
    en_prod en_production de_production de_prod base_live producción produção em_prod database_live produzione live
    прод прода проде продакш* боев* produkcj* produkcyjn* canlı* प्रोडक्शन
    线上 生产 正式环境 现网 本番 운영_db 운영* 프로덕션* 실서버*
    الإنتاج  produksi`,
  /** With nobody looking on: at night, by the clock, by itself. */
  unattended: `
    cron cronjob cron_job nightly automatically scheduled periodically every_night every_day once_a_day daily weekly
    automatisch nachts täglich jede_nacht automatiquement chaque_nuit automáticamente cada_noche automaticamente toda_noite todas_as_noites ogni_notte
    автоматически каждую_ночь ежедневно automatycznie co_noc codziennie otomatik her_gece 自动 定时 每天 自動で 毎晩 毎日 자동으로* 매일* 매일_밤*`,
  /** Of the shape of stored data: what is dropped of it is gone with its values. */
  schemaPart: `
    column columns table tables schema spalte spalten tabelle tabellen colonne* columna* tabla tablas coluna* tabela* tabella tabelle kolom* tabel* kolumn* столб* колонк* таблиц* sütun* tablo* 列 表 字段 カラム テーブル 컬럼* 테이블*`,
  dropping: "drop drops dropped dropping",
  /** Where files lie that others may fetch. */
  fileStore: `
    bucket buckets s3 blob_storage storage_account object_storage shared_folder file_share minio 存储桶 バケット 버킷*`,
  /** Not for everybody. */
  notPublic: `
    private privat privates privé privée privés privado privada privato privata prywatn* приватн* özel 私有 非公開 비공개*`,
  /** Files that others send, and what kinds of them. */
  upload: `
    file_type file_types mime_type* mimetype* file_extension* upload uploads uploaded uploading dateityp* dateiendung* hochgeladen* téléversé* téléversement* envoi_de_fichiers archivos_subidos subida_de_archivos envio_de_arquivos caricament* загруж* загрузк* przesłan* przesyłan* yükle* 上传 アップロード 업로드*`,
  /** Law and duty by which data is erased. */
  erasure: `
    gdpr right_to_be_forgotten right_to_erasure lgpd ccpa data_subject data_retention retention_job retention_policy dsgvo rgpd löschfrist* aufbewahrungsfrist* droit_à_l'oubli derecho_al_olvido direito_ao_esquecimento diritto_all'oblio rodo 个人信息保护法
    s_data their_account_and
    lose_rows lose_data lose_any_data data_loss without_losing can't_lose restore_it_from restore_from_backup restore_the_backup restore_the_dump restores_the_dump
    retention_polic* retention_period* retention_and retention_rule*`,
  /** Work on words about something. */
  wording: `
    docs documentation docstring* readme document documenting tutorial walkthrough changelog diagram newsletter slogan names_for wording phrasing typo typos grammar jsdoc faq runbook slides
    doku dokumentation* dokumentiere anleitung documentatie dokumentera documenter documentación documenta documentação documente documentazione
    документац* документир* dokumentacj* udokumentuj dokümantasyon* belgele* दस्तावेज़ डॉक्यूमेंटेशन 文档 文章 文案 注释 ドキュメント 文言 문서* 문구*
    release_notes release_note patch_notes announcement* press_release* storybook`,
  /** Who may and who may not. */
  permitting: `
    restricted_to limited_to reserved_for only_for only_by only may may_not must_not should_not shouldn't mustn't not_be_able allowed_to is_allowed are_allowed permitted
    nur dürfen darf alleen mogen mag endast får seuls seul seulement uniquement solo sólo únicamente apenas somente só soltanto
    только лишь tylko sadece yalnızca केवल सिर्फ 只有 只能 仅 だけ のみ 만_ 만이`,
  /** Deeds that leave what they are done to as it is: names, orders, lists, counts. */
  light: `
    rename renaming sort sorts sorted sortable reorder show display list_all count counts print paginat* highlight group_the format format_the translate translated prefix pluraliz* draw plot chart landscape portrait
    benenne umbenennen benenn* sortier* zeige zeig anzeigen zähle formatiere hernoem* sorteer* toon tel byt_namn sortera visa
    renomme* trie trier affiche* compte_le compte_les renombr* ordena* muestra mostrar cuenta_cuántos renomei* ordene mostra* conte rinomina* ordina* mostra conta_quanti formata* formatea*
    переимен* отсортир* сортир* покажи показ* посчитай подсчит* поменяй_порядок zmień_nazw* posortuj* sortow* pokaż* policz*
    adlandır* sırala* göster* say नाम_बदल* क्रमबद्ध दिखाओ दिखाएं गिनो
    重命名 改名 排序 显示 统计 列出 名前順 名前を変更 並べ 並び替え ソート 表示 数える 数え 이름을 이름_변경* 정렬* 보여줘 표시* 세는 개수*
    types_to add_types type_hints type_annotations aria comment commonjs esm log_the logs_the_duration fake dummy tipos tipi типы_в тип типов tip_ekle kommentar kommentiere commentaire comentario comentário commento комментар* komentarz* yorum_ekle 注释 类型 型を コメント 타입* 주석* where_is où_est où_sont wo_wird wo_ist dónde_está onde_está dov'è где_ gdzie_jest nerede 在哪里 どこ 어디* wyświetl* el_nombre_de le_nom_de o_nome_d* il_nome_d* den_namen
    sorting filtering column_label
    whitespace trailing_whitespace trailing_spaces indentation leerzeichen espaces_inutiles espacios_en_blanco espaços_em_branco spazi_finali spaties spacje пробел* boşlukları 空格 空白 공백*
    zeigt shows
    storybook translations i18n l10n localiz* localis* list_the list_every list_which where_in where_do where_does where_are where_is_the which_file which_files find_where tell_me_where tell_me_the_file wo_im wo_in_dem dónde_en où_dans 哪个文件 哪些文件 どのファイル 어느_파일* списком перечисли enumera énumère liste_auf zähle_auf elenca wypisz listele*
    logger imports swap_imports reorder_imports`,
  /** A question on how something is done, or how much of it there is. */
  asking: `
    how_can_i how_could_i how_do_i how_to how_would_i how_much how_many wie_kann_ich wie_viel comment_puis-je combien cómo_puedo cuánto como_posso quanto сколько как_мне jak_mogę ile nasıl kaç कितना 怎么 如何 多少 いくら 何個 어떻게 얼마
    is_this are_these is_it_possible is_it_safe
    wie_viele`,
  /** A question on somebody at the beginning, and elsewhere what tells somebody from others. */
  person: "who whose",
  /** What is seen on a page. */
  appearance: `
    colour colors blue aligned align centre center centered border borders shadow spinner icons pixel* z-index dark_mode animation animated mobile_view mobile_layout greyed
    farbe* ausricht* zentrier* rahmen knopf schaltfläche* abgeschnitten überschrift* kleur knop färg knapp
    couleur* bordure* bouton* centre centrer color azul borde bordes botón cor borda botão alinha* colore bordo pulsante allinea* tendina
    цвет* кнопк* рамк* вырав* съехал* отступ* заголов* kolor* przycisk* wyrówn* ramk* nagłów* колір
    renk* düğme* buton* ortala* hizala* kenarlık* başlığ* नीला रंग बटन
    颜色 背景色 按钮 居中 对齐 边框 色を ボタン 中央 揃え 색상* 버튼* 정렬* 테두리* 가운데*
    ui placeholder autofocus tooltip plural modal subtitle heading headings title titles titel titelzeile beschriftung texto textos texte testo tekst* текст* tytuł* título* titolo titre metin metni ipucu tipo_de_letra spelling misspelled tippfehler digitação erratum error_de_tipeo опечат* literówk* 标题 文字 文本 样式 テキスト 見出し タイトル 제목 텍스트* mobile responsive avatar banner badge sidebar navbar dropdown landscape sortable searchable filterable collapsible
    レイアウト 레이아웃* लेआउट 布局 layout_of mise_en_page diseño_de_la_página yerleşim wyrównanie aria-label* first_load
    sorting column_width* column_header* columns
    markup
    右寄せ 左寄せ 中央寄せ لون زر عنوان màu nút tiêu_đề warna tombol judul  шире wider breiter genişlet`,
} as const;
