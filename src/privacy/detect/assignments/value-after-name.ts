import {
  ASTERISK,
  BACKTICK,
  CLOSE_BRACKET,
  CLOSE_PAREN,
  COLON,
  COMMA,
  DOUBLE_QUOTE,
  GREATER_THAN,
  HYPHEN,
  LESS_THAN,
  LF,
  OPEN_PAREN,
  PIPE,
  QUESTION_MARK,
  SINGLE_QUOTE,
  SPACE,
  TAB,
} from "#privacy/text/bytes.ts";
import type { NormalizedText } from "#privacy/text/normalized-text.ts";
import type { KeyReference } from "./key-reference.ts";
import { skipBlanks } from "./separators.ts";
import { valueAfterAssignment } from "./value-after-assignment.ts";
import { mayBeCall, mayBeFormInput, valueInCall, valueInFormInput } from "./value-in-call.ts";
import { valueInCsvLine, valueInMarkup, valueInPropertyList, valueInTableCell } from "./value-in-markup.ts";
import type { CandidateValue } from "./value-reader.ts";
import {
  valueInSentence,
  valueOfOption,
  valueOnNetworkDevice,
  valueWithoutSeparator,
} from "./value-without-separator.ts";

/**
 * The value beside a name. Each notation is tried only where a byte or two say that it can be there: nearly all names stand in a
 * program or a sentence, with no value beside them.
 * @param valueAt where a value behind an assignment begins, or -1
 * @param most longest value behind an assignment
 */
export function valueAfterName(
  normalized: NormalizedText,
  name: KeyReference,
  valueAt: number,
  most: number,
): CandidateValue | undefined {
  const { bytes } = normalized;
  const { from, to } = name;
  const next = bytes[to] ?? 0;
  // `arn:aws:secretsmanager:…:secret:prod/db`
  if (next === COLON && bytes[from - 1] === COLON && name.key.kind === "secret") return undefined;
  // `"AWS::IAM::AccessKey": …`, a type
  if (next === DOUBLE_QUOTE && bytes[from - 1] === COLON && bytes[from - 2] === COLON) return undefined;
  if (valueAt >= 0) {
    const value = valueAfterAssignment(normalized, name, valueAt, most);
    if (value !== null) return value;
  }
  if (next === LESS_THAN) return valueInPropertyList(normalized, name);
  const quoted = next === DOUBLE_QUOTE || next === SINGLE_QUOTE;
  const blank = next === SPACE || next === TAB;
  // What stands behind the quote and the blanks.
  const lead = blank || quoted ? (bytes[skipBlanks(bytes, to + 1, 40)] ?? 0) : 0;
  if (next === CLOSE_BRACKET || next === CLOSE_PAREN || (quoted && mayBeFormInput(bytes[to + 1] ?? 0))) {
    const value = valueInFormInput(normalized, name);
    if (value !== undefined) return value;
  }
  if (next === GREATER_THAN || next === LF || next === COMMA || quoted) {
    const value = valueInMarkup(normalized, name);
    if (value !== undefined) return value;
  }
  if (next === OPEN_PAREN || next === COMMA || (quoted && mayBeCall(lead))) {
    const value = valueInCall(normalized, name);
    if (value !== undefined) return value;
  }
  if (mayEndCell(next) || lead === PIPE || (quoted && bytes[to + 1] === TAB)) {
    const value = valueInTableCell(normalized, name);
    if (value !== undefined) return value;
  }
  if (next === COMMA && (from === 0 || bytes[from - 1] === LF)) {
    const value = valueInCsvLine(normalized, name);
    if (value !== undefined) return value;
  }
  if (lead === HYPHEN) {
    const value = valueOfOption(normalized, name);
    if (value !== undefined) return value;
  }
  if (blank) {
    const value =
      valueOnNetworkDevice(normalized, name) ?? valueWithoutSeparator(normalized, name, skipBlanks(bytes, to, 8));
    if (value !== undefined) return value;
  }
  const mayBeSentence = blank || quoted || next === ASTERISK || next === BACKTICK || next === QUESTION_MARK;
  return mayBeSentence ? valueInSentence(normalized, name) : undefined;
}

function mayEndCell(c: number): boolean {
  return c === TAB || c === PIPE || c === BACKTICK || c === ASTERISK;
}
