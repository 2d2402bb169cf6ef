/** Why a chat request is refused: 400 for an unsupported shape, 413 for too many values, 422 for an invalid field. */
export interface Problem {
  readonly kind: "refused";
  readonly status: 400 | 413 | 422;
  readonly detail: string;
  /** The field or header at fault. */
  readonly param?: string;
}

export function refused(status: 400 | 413 | 422, param: string | undefined, detail: string): Problem {
  return { kind: "refused", status, detail, ...(param === undefined ? {} : { param }) };
}

/** 422: names the field and says what it must be. Never repeats the value, which may be a prompt or a secret. */
export function invalidField(param: string, mustBe: string): Problem {
  return refused(422, param, `${param} ${mustBe}.`);
}
