import { describe, expect, test } from "bun:test";
import { assessed } from "#pipeline/assess/fixtures.ts";

const kindOf = (ask: string) => assessed({ ask }).task.kind;

describe("concepts that make an ask guarded together", () => {
  test.each([
    ["sensitive values that are logged", "Stop logging sensitive fields of the patient form"],
    ["in German", "Vertrauliche Felder dürfen nicht protokolliert werden"],
    ["in Spanish", "No registres datos sensibles en los logs"],
    ["what others upload", "Limit which file types members may upload to the wiki"],
    ["in French", "Limiter les types autorisés pour l'envoi de fichiers"],
    ["in Japanese", "アップロードできるファイルの種類を制限してください"],
    ["who may reach the network", "Add a firewall rule for the metrics host"],
    ["in Polish", "Otwórz port w zaporze dla serwera metryk"],
    ["a certificate that is not looked at", "Add a flag to skip certificate checks in the sync client"],
    ["values in a template", "Escape the names that we put into the HTML of the digest"],
    ["in Chinese", "渲染模板时请转义用户名"],
    ["kinds of files, in few words", "the file upload accepts .php, only allow images"],
    ["in Portuguese, in the repository", "A senha do banco está no repositório, troque a senha"],
    ["files that lie open", "Make the bucket with the scanned contracts private"],
    ["what a request claims of itself", "the report service trusts the user id from the query string"],
    ["in German", "Der Dienst vertraut der Kopfzeile mit der Kundennummer blind"],
    ["what separates customers", "Search results are cross-tenant, scope the index"],
    ["a secret that a console shows", "The access key is showing in the console of the worker"],
    ["in German, a log", "Zugangsdaten nicht mitloggen"],
    ["settings that a page shows", "error pages print env vars to the browser, stop it"],
    ["secure as a verb", "secure the certificates on the build host"],
    ["a container with all rights", "our worker pods are running as root"],
    ["a door without a lock", "redis answers the whole office without a password"],
    ["in Russian, a key in an image", "в образе лежит приватный ключ, перевыпусти"],
    ["random numbers that can be guessed", "reset codes come from Math.random"],
    [
      "settings with secrets that were committed",
      "the prod env got pushed to the repo last night, what now. rotate it all",
    ],
  ])("SECURITY: %s", (_, ask) => {
    expect(kindOf(ask)).toBe("SECURITY");
  });

  test.each([
    ["an account that was closed", "A deactivated user keeps the access he had until logout"],
    ["in German", "Gesperrte Nutzer bleiben noch eingeloggt, ihre Sitzung muss enden"],
    ["in Portuguese", "Contas desativadas ainda conseguem acessar o painel, corrija"],
    ["who stands above whom", "Moderators cannot demote admins any more, restore that permission"],
    ["the address by which one gets back in", "Changing the email must be confirmed from the old inbox"],
    ["in Russian", "Смена почты должна подтверждаться со старого адреса"],
    ["in Korean", "이메일 변경 시 기존 주소에서 확인을 받도록 해 줘"],
    ["how far a token opens the door", "Tokens with read-only scope can still push, stop that"],
    ["a link that goes on to work", "our invite emails contain a link that logs you in, and it never stops working"],
    ["in Arabic, before a comma", "أي شخص يمكنه رؤية فواتير العملاء الآخرين، أصلح ذلك"],
    ["a check that is missing", "The unsubscribe route takes an id and never checks whose it is"],
    ["in German, the same", "Der Export prüft nicht, wem die Datei gehört, bitte beheben"],
    ["what is another's, without a subject", "他人の注文をURLを変えるだけで見られるので直して"],
    ["in Italian", "Chi non ha effettuato l'accesso riesce ad aprire il pannello di amministrazione"],
    ["in Portuguese, fetched", "Qualquer pessoa consegue baixar os contratos dos outros clientes pelo link"],
    ["in Turkish", "Salt okunur jetonlar, yani bu belirteçler yazma yapamasın"],
    ["what ends up with another", "uploads of the scanner app land in the wrong account and members see them"],
    ["who is named by a letter", "project members of org A can open boards of org B"],
    ["an account that was deleted", "deleted members can still use their api token for a day"],
    ["in German, the same", "Gelöschte Nutzer müssen überall sofort abgemeldet werden"],
    ["more rights than are needed", "the backup service account is overly permissive, give it only what it needs"],
    ["in French, the same", "Le compte de service du déploiement a trop de droits, réduis-les"],
    ["who has not signed in", "anonymous visitors can hit the export"],
    ["the password that is replaced", "ask for the current password before an account gets a new one"],
    ["in German, who has left", "ehemalige Mitarbeiter kommen noch ins System"],
    ["somebody who has left", "people who left the project keep seeing its files: they still have access"],
    ["one's own requests", "buyers must not approve their own purchase requests"],
    ["one's own rights", "whoever accepts an invite can set their own role"],
    ["a check that is missing, for anybody", "the download never checks anything, any member can get at the file"],
    ["how often a code may be wrong", "three wrong PINs should block the terminal"],
    ["what others have to themselves", "assistants can open the private calendar of doctors"],
    ["keys that are carried along", "ask for a security key at login"],
    ["what outlives its replacement", "requests signed with the previous key are still accepted"],
  ])("AUTH: %s", (_, ask) => {
    expect(kindOf(ask)).toBe("AUTH");
  });

  test.each([
    ["a balance that two requests use at once", "Two concurrent withdrawals take more than the balance"],
    ["in French", "Deux retraits simultanés passent et le solde devient négatif"],
    ["a discount that is used again", "A voucher can be applied as many times as the shopper likes"],
    ["in Italian", "Il coupon sconto si può usare più volte: deve valere una sola volta, niente duplicati"],
    ["fractions of a cent", "VAT is rounded per line, it should be rounded on the sum of the invoice"],
    ["in German", "Die Mehrwertsteuer wird je Zeile gerundet, sie soll auf die Rechnung gerundet werden"],
    ["in Chinese", "发票的税额要按总额四舍五入"],
    ["what browsers send is paid", "the cart total is calculated client-side, calculate it on the server"],
    ["a tax that is worked out wrongly", "Incorrect VAT amount on credit notes"],
    ["in German, the same sum", "Die Steuer auf der Rechnung wird falsch berechnet"],
    ["what goes on after the end", "cancelled members still get charged"],
    ["a discount after its day", "expired vouchers are still taken at the till, expired means expired"],
    ["in Spanish, more than there is", "Se puede retirar más que el saldo disponible si llegan dos peticiones"],
  ])("PAYMENT: %s", (_, ask) => {
    expect(kindOf(ask)).toBe("PAYMENT");
  });

  test.each([
    ["by the clock", "Nightly job that purges patients nobody has seen for a year from the customer table"],
    ["in Spanish", "Tarea que elimina automáticamente los registros de clientes cada noche"],
    ["a part of the shape of data", "Drop the nickname column, no release reads it"],
    ["all that belongs to somebody", "Delete the stored data of a tenant when its workspace is removed"],
    ["written anew while it is in use", "Change the type of the id column to bigint with zero downtime"],
    ["rows that are merged", "merge the duplicate customer rows in prod and keep the oldest"],
    ["columns in use", "Move orders to the new schema without downtime: copy the rows, then remove the old columns"],
    ["in Japanese", "無停止で users テーブルの列の型を変更する"],
    ["a column that is renamed in use", "rename the column mail to contact_mail on the live table"],
    ["two that become one", "merge the workspaces of both teams in production"],
    ["what is switched off for good", "decommission the old prod cluster and its snapshots"],
  ])("DESTRUCTIVE_MIGRATION: %s", (_, ask) => {
    expect(kindOf(ask)).toBe("DESTRUCTIVE_MIGRATION");
  });
});

test.each([
  "Das Token zum Zurücksetzen läuft nie ab, ändere das",
  "Après un changement de mot de passe, toutes les sessions doivent être invalidées",
  "Al cambiar la contraseña deben cerrarse todas las sesiones",
  "Depois da troca de senha todas as sessões devem ser encerradas",
  "Na een wachtwoordwijziging moeten alle sessies vervallen",
  "После смены пароля все сессии должны становиться недействительными",
  "Correggi la SQL injection nella ricerca clienti",
  "Cambiando il percorso si leggono i file di altri utenti, chiudi la falla",
  "Zmieniając ścieżkę można czytać cudze pliki, załataj tę lukę",
  "경로를 바꾸면 남의 파일을 읽을 수 있으니 막아 줘",
  "ディスクにある身分証の画像を暗号化して",
  "Klient jest obciążany dwa razy, gdy kliknie dwukrotnie",
  "Верни клиенту только сумму отменённой позиции",
  "用户点两次就被扣两次款",
  "İki yıldır etkin olmayan tüm hesapları veritabanından sil",
  "二年間使われていないアカウントをデータベースから全部消して",
  "2년 동안 쓰지 않은 계정을 데이터베이스에서 모두 지워 줘",
])("guarded in any language: %s", (ask) => {
  expect(["SECURITY", "AUTH", "PAYMENT", "DESTRUCTIVE_MIGRATION"]).toContain(kindOf(ask));
});

test.each([
  "Show how many files were uploaded this week",
  "Round the averages on the dashboard to two decimal places",
  "Make the keys of this type readonly",
  "Escape closes the dialog, make it also clear the search",
  "Sort the moderators by name",
  "Run the benchmark every night",
  "Drop duplicates from the dataframe column",
  "Add a discount banner to the home page",
  "Change the column width of the orders table",
  "Delete trailing whitespace in src/auth",
  "Make test_discount pass.",
  "Change the heading of the payment page to “Checkout”",
  "把支付页面的标题改成“结算”",
  "Check that the owner field is shown",
  "Make the method private",
  "align the fields of the sign in and the password reset page",
  "Why do we need the CSRF token here?",
  "use the new logger in the payment service",
  "purge unused classes in the prod build",
  "Approve button: make it green",
  "merge main into the release branch",
  "Implement a function that validates an IBAN",
  "Improve logging of session ids",
  "Fix the git checkout of tags in the release job",
  "Bump tracing-subscriber to 0.3.20",
  "Add the session id to the title of the chat",
  "聊天会话列表按时间排序",
  "Address the review comments on the permission table",
  "Write the release notes: new checkout page, faster exports",
  "Where in the code do we check the permissions? Only name the file.",
  "Was bedeutet eigentlich CSRF?",
  "¿Qué significa XSS en este informe?",
  "Can you give me an example of a PayPal webhook body?",
  "Add a storybook page for CreditCardForm",
  "In login.py change the return type to str",
  "Fix the docker image of the sandbox",
  "The list of permissions should be sorted by name",
  "extract the refund table markup into its own component",
  "the build is red, please fix\n\n[INFO] Compiling module security-core\n[INFO] Compiling module payment-api\n[ERROR] cannot find symbol",
  "why do I get this?\n2026-11-02 10:11:12 INFO auth token refresh ok\n2026-11-02 10:11:12 ERROR payment refund failed",
])("one concept alone guards nothing: %s", (ask) => {
  expect(["SECURITY", "AUTH", "PAYMENT", "DESTRUCTIVE_MIGRATION"]).not.toContain(kindOf(ask));
});
