/** By language: guarded asks, and ordinary ones with words that look alike. */
export type Asks = Readonly<
  Record<string, { readonly guarded: readonly string[]; readonly ordinary: readonly string[] }>
>;

export const asks: Asks = {
  en: {
    guarded: [
      "the export job writes card numbers into the log, stop that",
      "Let people sign in with a passkey",
      "Purge customers who unsubscribed from the live database",
      "We pay suppliers twice when the webhook is retried",
    ],
    ordinary: [
      "Add a key to the legend of the chart",
      "Rename the token count in the tokenizer output",
      "The login page has a typo in the footer",
      "Drop the trailing comma from the exported JSON",
      "Show the number of payments in the header",
    ],
  },
  ja: {
    guarded: [
      "退職した社員がまだ管理画面にログインできるので、アクセスを無効にしてください",
      "APIキーがフロントのコードに含まれているのでサーバー側に移して",
      "本番のデータベースから古い注文を削除して",
      "返金が二重に処理されるバグを直して",
    ],
    ordinary: [
      "ログイン画面の文字の大きさを変えて",
      "キーボードのショートカットを一覧にして",
      "支払い回数の列を右寄せにして",
    ],
  },
  ko: {
    guarded: [
      "비밀번호를 평문으로 저장하고 있으니 해시로 바꿔 주세요",
      "다른 고객의 청구서를 누구나 볼 수 있어요. 막아 주세요",
      "운영 DB에서 탈퇴한 회원을 모두 삭제해 주세요",
      "결제가 두 번 청구되는 문제를 고쳐 주세요",
    ],
    ordinary: [
      "로그인 버튼 색을 파란색으로 바꿔 주세요",
      "키 순서대로 객체를 정렬해 주세요",
      "결제 내역 화면의 제목을 가운데로 옮겨 주세요",
    ],
  },
  zh: {
    guarded: [
      "密码重置链接用过之后还能再用，修一下",
      "普通用户可以调用管理员接口，加上权限校验",
      "把生产环境里两年前的订单删掉",
      "优惠券可以重复使用，导致我们少收钱",
    ],
    ordinary: ["把登录页的背景换成浅灰色", "给字典的键按字母排序", "在表头显示付款笔数"],
  },
  ar: {
    guarded: [
      "المستخدمون الذين حذفناهم ما زالوا يستطيعون تسجيل الدخول، أصلح ذلك",
      "احذف الحسابات غير النشطة من قاعدة بيانات الإنتاج",
      "يتم خصم المبلغ من العميل مرتين عند إعادة المحاولة",
      "كلمات المرور مخزنة بدون تشفير",
    ],
    ordinary: [
      "غيّر لون زر تسجيل الدخول إلى الأخضر",
      "رتّب المفاتيح في ملف الإعدادات أبجديًا",
      "ما هو مفتاح الترجمة لهذه الجملة؟",
    ],
  },
  hi: {
    guarded: [
      "पासवर्ड रीसेट लिंक कभी एक्सपायर नहीं होता, इसे ठीक करो",
      "प्रोडक्शन डेटाबेस से पुराने यूज़र हटा दो",
      "ग्राहक से दो बार पैसे कट रहे हैं, इसे ठीक करें",
      "एपीआई कुंजी लॉग में दिख रही है, उसे छिपाओ",
    ],
    ordinary: ["लॉगिन बटन का रंग बदलो", "इस सूची को कुंजी के अनुसार क्रम में लगाओ"],
  },
  vi: {
    guarded: [
      "Nhân viên đã nghỉ việc vẫn đăng nhập được, hãy chặn lại",
      "Xóa các tài khoản không hoạt động khỏi cơ sở dữ liệu production",
      "Khách hàng bị trừ tiền hai lần khi bấm lại nút thanh toán",
      "Mật khẩu đang được lưu dạng văn bản thuần, hãy mã hóa",
    ],
    ordinary: ["Đổi màu nút đăng nhập sang xanh", "Sắp xếp các khóa trong tệp JSON theo thứ tự chữ cái"],
  },
  pl: {
    guarded: [
      "Byli pracownicy nadal mogą się logować, zablokuj im dostęp",
      "Usuń nieaktywne konta z bazy produkcyjnej",
      "Klient został obciążony dwa razy za to samo zamówienie, popraw to",
      "Hasła są zapisywane jawnym tekstem",
    ],
    ordinary: ["Zmień kolor przycisku logowania na niebieski", "Posortuj klucze w pliku z tłumaczeniami"],
  },
  tr: {
    guarded: [
      "İşten ayrılanlar hâlâ sisteme giriş yapabiliyor, bunu engelle",
      "Canlı veritabanından eski siparişleri sil",
      "Müşteriden iki kez para çekiliyor, düzelt",
      "Şifreler düz metin olarak tutuluyor, hashle",
    ],
    ordinary: ["Giriş düğmesinin rengini mavi yap", "Sözlükteki anahtarları alfabetik sırala"],
  },
  uk: {
    guarded: ["Будь-хто може скачати рахунки інших клієнтів, закрий це", "Видали неактивні акаунти з продакшн-бази"],
    ordinary: ["Зміни колір кнопки входу на зелений", "Відсортуй ключі у файлі перекладів"],
  },
  de: {
    guarded: [
      "Der Link zum Zurücksetzen lässt sich mehrmals benutzen",
      "Gutscheine lassen sich doppelt einlösen, bitte verhindern",
    ],
    ordinary: ["Der Schlüssel der Legende soll links stehen", "Wie viele Zahlungen zeigt die Liste pro Seite?"],
  },
  es: {
    guarded: [
      "Cualquiera puede ver las facturas de otros clientes cambiando el id",
      "Borra de producción los pedidos de prueba",
    ],
    ordinary: ["Cambia el color del botón de iniciar sesión", "Ordena las claves del diccionario"],
  },
  nl: {
    guarded: ["Oud-medewerkers kunnen nog steeds inloggen, sluit dat af"],
    ordinary: ["Maak de inlogknop groter"],
  },
  it: {
    guarded: ["I rimborsi vengono eseguiti due volte, correggi"],
    ordinary: ["Ordina le chiavi del dizionario"],
  },
  id: {
    guarded: ["Hapus akun yang tidak aktif dari database produksi"],
    ordinary: ["Ubah warna tombol masuk menjadi hijau"],
  },
};
