import type { Asks } from "./asks.ts";

/** A second set, written after the rules had been changed for the first. */
export const asks: Asks = {
  en: {
    guarded: [
      "Contractors keep their access after their contract ends",
      "the invoice job sends the same refund again on retry",
      "Secrets show up in the build output, hide them",
    ],
    ordinary: ["Move the sign-out link to the right", "Which key opens the command palette?"],
  },
  ja: { guarded: ["解約したユーザーのトークンがまだ使えるので無効にして"], ordinary: ["請求書のPDFの余白を広げて"] },
  ko: {
    guarded: ["퇴사자 계정으로 아직 로그인이 됩니다. 막아 주세요"],
    ordinary: ["비밀번호 입력란의 글자 크기를 키워 주세요"],
  },
  zh: {
    guarded: ["日志里打印了用户的身份证号，去掉", "退款接口被调用两次会退两次钱"],
    ordinary: ["把支付按钮移到右边"],
  },
  ar: {
    guarded: ["رابط إعادة تعيين كلمة المرور يعمل أكثر من مرة", "احذف الطلبات القديمة من قاعدة بيانات الإنتاج"],
    ordinary: ["انقل زر الدفع إلى اليمين"],
  },
  hi: { guarded: ["नौकरी छोड़ चुके लोग अब भी लॉगिन कर पा रहे हैं, रोको"], ordinary: ["पासवर्ड बॉक्स का फ़ॉन्ट बड़ा करो"] },
  vi: {
    guarded: ["Khóa API bị ghi vào log, hãy che đi", "Hoàn tiền bị thực hiện hai lần"],
    ordinary: ["Chuyển nút thanh toán sang bên phải"],
  },
  pl: { guarded: ["Klucz API trafia do logów, ukryj go"], ordinary: ["Powiększ czcionkę w polu hasła"] },
  tr: { guarded: ["API anahtarı loglara yazılıyor, gizle"], ordinary: ["Ödeme düğmesini sağa taşı"] },
  fr: {
    guarded: ["Le lien de partage marche encore après la suppression de l'accès"],
    ordinary: ["Agrandis le champ du mot de passe"],
  },
  id: {
    guarded: ["Pelanggan ditagih dua kali saat menekan ulang tombol bayar"],
    ordinary: ["Pindahkan tombol bayar ke kanan"],
  },
};
