/** Guarded asks in twelve languages, written for this project: one ask for each guarded kind, in the order of `guardedKinds`. */
export const guardedKinds = ["SECURITY", "AUTH", "PAYMENT", "DESTRUCTIVE_MIGRATION"] as const;

type Asks = readonly [security: string, auth: string, payment: string, destruction: string];

/** The vocabulary was chosen with these in view. */
export const guardedAsks: Readonly<Record<string, Asks>> = {
  German: [
    "Behebe die SQL-Injection im Such-Endpunkt",
    "Füge der Anmeldung eine Zwei-Faktor-Authentifizierung hinzu",
    "Implementiere Rückerstattungen für Kartenzahlungen",
    "Lösche alle inaktiven Benutzer aus der Produktionsdatenbank",
  ],
  French: [
    "Corrige l'injection SQL dans le point d'accès de recherche",
    "Ajoute l'authentification à deux facteurs à la connexion",
    "Implémente les remboursements pour les paiements par carte",
    "Supprime tous les utilisateurs inactifs de la base de données de production",
  ],
  Spanish: [
    "Corrige la inyección SQL en el endpoint de búsqueda",
    "Añade autenticación de dos factores al inicio de sesión",
    "Implementa reembolsos para los pagos con tarjeta",
    "Borra todos los usuarios inactivos de la base de datos de producción",
  ],
  Portuguese: [
    "Corrija a injeção de SQL no endpoint de busca",
    "Adicione autenticação de dois fatores ao login",
    "Implemente reembolsos para pagamentos com cartão",
    "Apague todos os usuários inativos do banco de dados de produção",
  ],
  Italian: [
    "Correggi la SQL injection nell'endpoint di ricerca",
    "Aggiungi l'autenticazione a due fattori al login",
    "Implementa i rimborsi per i pagamenti con carta",
    "Elimina tutti gli utenti inattivi dal database di produzione",
  ],
  Dutch: [
    "Los de SQL-injectie in het zoek-endpoint op",
    "Voeg tweefactorauthenticatie toe aan het inloggen",
    "Implementeer terugbetalingen voor kaartbetalingen",
    "Verwijder alle inactieve gebruikers uit de productiedatabase",
  ],
  Polish: [
    "Napraw podatność na wstrzyknięcie SQL w wyszukiwarce",
    "Dodaj uwierzytelnianie dwuskładnikowe do logowania",
    "Zaimplementuj zwroty dla płatności kartą",
    "Usuń wszystkich nieaktywnych użytkowników z produkcyjnej bazy danych",
  ],
  Russian: [
    "Исправь SQL-инъекцию в поисковом эндпоинте",
    "Добавь двухфакторную аутентификацию при входе",
    "Реализуй возвраты для платежей по карте",
    "Удали всех неактивных пользователей из продакшн базы данных",
  ],
  Turkish: [
    "Arama uç noktasındaki SQL enjeksiyonunu düzelt",
    "Oturum açmaya iki faktörlü kimlik doğrulama ekle",
    "Kart ödemeleri için iade işlemini uygula",
    "Üretim veritabanından tüm etkin olmayan kullanıcıları sil",
  ],
  Chinese: [
    "修复搜索接口中的 SQL 注入漏洞",
    "给登录添加双因素认证",
    "实现银行卡支付的退款功能",
    "从生产环境数据库中删除所有不活跃的用户",
  ],
  Japanese: [
    "検索エンドポイントのSQLインジェクションを修正してください",
    "ログインに二要素認証を追加してください",
    "カード決済の返金処理を実装してください",
    "本番データベースから非アクティブなユーザーをすべて削除してください",
  ],
  Korean: [
    "검색 엔드포인트의 SQL 인젝션을 수정해 줘",
    "로그인에 이중 인증을 추가해 줘",
    "카드 결제 환불 기능을 구현해 줘",
    "프로덕션 데이터베이스에서 비활성 사용자를 모두 삭제해 줘",
  ],
};

/** Written before the vocabulary was chosen, and not looked at during the choice. */
export const heldOutGuardedAsks: Readonly<Record<string, Asks>> = {
  German: [
    "Schließe die Sicherheitslücke im Datei-Upload",
    "Rotiere die Refresh-Tokens und mache gestohlene Sitzungen ungültig",
    "Erzeuge nach jeder erfolgreichen Zahlung eine Rechnung",
    "Entferne die Tabelle orders_old und leere den Bucket mit den Backups",
  ],
  French: [
    "Comble la faille de sécurité dans l'envoi de fichiers",
    "Fais tourner les jetons d'accès et invalide les sessions volées",
    "Génère une facture après chaque paiement réussi",
    "Efface la table orders_old et vide le bucket des sauvegardes",
  ],
  Spanish: [
    "Cierra la vulnerabilidad en la subida de archivos",
    "Rota los tokens de acceso e invalida las sesiones robadas",
    "Genera una factura después de cada cobro exitoso",
    "Elimina la tabla orders_old y vacía el bucket de copias de seguridad",
  ],
  Portuguese: [
    "Feche a vulnerabilidade no envio de arquivos",
    "Faça a rotação dos tokens de acesso e invalide sessões roubadas",
    "Gere uma fatura após cada cobrança bem-sucedida",
    "Exclua a tabela orders_old e esvazie o bucket de backups",
  ],
  Italian: [
    "Chiudi la vulnerabilità nel caricamento dei file",
    "Ruota i token di accesso e invalida le sessioni rubate",
    "Genera una fattura dopo ogni pagamento riuscito",
    "Cancella la tabella orders_old e svuota il bucket dei backup",
  ],
  Dutch: [
    "Dicht het beveiligingslek in de bestandsupload",
    "Vernieuw de toegangstokens en maak gestolen sessies ongeldig",
    "Maak een factuur aan na elke geslaagde betaling",
    "Gooi de tabel orders_old weg en leeg de bucket met back-ups",
  ],
  Polish: [
    "Załataj lukę bezpieczeństwa w przesyłaniu plików",
    "Rotuj tokeny dostępu i unieważnij skradzione sesje",
    "Wystaw fakturę po każdej udanej płatności",
    "Skasuj tabelę orders_old i wyczyść bucket z kopiami zapasowymi",
  ],
  Russian: [
    "Закрой уязвимость в загрузке файлов",
    "Меняй токены доступа и аннулируй украденные сессии",
    "Выставляй счёт после каждого успешного платежа",
    "Снеси таблицу orders_old и очисти бакет с резервными копиями",
  ],
  Turkish: [
    "Dosya yüklemedeki güvenlik açığını kapat",
    "Erişim belirteçlerini döndür ve çalınan oturumları geçersiz kıl",
    "Her başarılı ödemeden sonra fatura oluştur",
    "orders_old tablosunu kaldır ve yedek kovasını boşalt",
  ],
  Chinese: [
    "修补文件上传中的安全漏洞",
    "轮换访问令牌并使被盗会话失效",
    "每次付款成功后生成发票",
    "删除 orders_old 表并清空备份存储桶",
  ],
  Japanese: [
    "ファイルアップロードの脆弱性を塞いでください",
    "アクセストークンをローテーションし、盗まれたセッションを無効化してください",
    "支払いが成功するたびに請求書を発行してください",
    "orders_old テーブルを削除し、バックアップのバケットを空にしてください",
  ],
  Korean: [
    "파일 업로드의 보안 취약점을 막아 줘",
    "액세스 토큰을 교체하고 도난당한 세션을 무효화해 줘",
    "결제가 성공할 때마다 청구서를 발행해 줘",
    "orders_old 테이블을 삭제하고 백업 버킷을 비워 줘",
  ],
};
