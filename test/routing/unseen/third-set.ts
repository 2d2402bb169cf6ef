import type { Asks } from "./asks.ts";

export const asks: Asks = {
  en: {
    guarded: [
      "Support can read every customer's messages, they should only see their own tickets",
      "Our webhook endpoint accepts anything, check who sends it",
      "Roll back the migration that dropped the emails column in prod",
    ],
    ordinary: ["Add a cancel button to the export dialog", "Sort tokens in the autocomplete by length"],
  },
  es: { guarded: ["Los reembolsos se procesan dos veces"], ordinary: ["Haz el botón de pago más grande"] },
  ja: { guarded: ["管理者以外でもユーザー一覧を閲覧できてしまうので直して"], ordinary: ["パスワード欄の幅を広げて"] },
  ko: {
    guarded: ["로그에 주민등록번호가 그대로 찍히고 있어요. 가려 주세요"],
    ordinary: ["결제 버튼을 오른쪽으로 옮겨 주세요"],
  },
  zh: { guarded: ["离职员工的账号还能登录后台"], ordinary: ["把令牌数显示在右下角"] },
  ru: { guarded: ["Уволенные сотрудники всё ещё могут войти в систему"], ordinary: ["Сделай поле пароля шире"] },
  vi: { guarded: ["Người dùng thường gọi được API của quản trị viên"], ordinary: ["Làm ô mật khẩu rộng hơn"] },
  tr: { guarded: ["Parola sıfırlama bağlantısı hiç dolmuyor"], ordinary: ["Şifre kutusunu genişlet"] },
};
