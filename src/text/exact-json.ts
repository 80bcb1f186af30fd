/** JSON for document ids: no digit of a long integer is lost, in either direction. */
import { endOfString, parseBoundedJson } from './bounded-json.ts';

export type JsonValue = string | number | boolean | null | JsonValue[] | { [key: string]: JsonValue };

/**
 * Parses JSON like JSON.parse, but an integer that a double cannot hold exactly (beyond 2^53 - 1, as in 64-bit ids)
 * becomes a string of its digits. JSON.parse would round it, and a rounded id matches no judgment, or the wrong one.
 *
 * @throws SyntaxError when the text is not JSON; JsonBeyondLimit as parseBoundedJson does
 */
export function parseExactJson(text: string): JsonValue {
  const value = parseBoundedJson(text) as JsonValue;
  return /\d{16}/.test(text) ? (JSON.parse(quoteLongIntegers(text)) as JsonValue) : value;
}

/** Puts quotes around each unsafe integer of valid JSON; strings are stepped over. */
function quoteLongIntegers(json: string): string {
  const token = /"|-?\d[\d.eE+-]*/g;
  let quoted = '';
  let copied = 0;
  for (let match = token.exec(json); match !== null; match = token.exec(json)) {
    const [number] = match;
    if (number === '"') {
      token.lastIndex = endOfString(json, match.index);
    } else if (/^-?\d+$/.test(number) && !Number.isSafeInteger(Number(number))) {
      quoted += `${json.slice(copied, match.index)}"${number}"`;
      copied = token.lastIndex;
    }
  }
  return quoted + json.slice(copied);
}

/** Stands before the digits of a long integer until the quotes around it are taken away; no text of ours has it. */
const LONG_INTEGER = '\u{f8ff}long:';

/** JSON.stringify, but a bigint becomes its digits: the id of 64 bits that parseExactJson made a string of. */
export function formatExactJson(value: unknown): string {
  let hasLong = false;
  const text = JSON.stringify(value, (_key, inner: unknown) => {
    if (typeof inner !== 'bigint') return inner;
    hasLong = true;
    return `${LONG_INTEGER}${inner}`;
  });
  return hasLong ? text.replaceAll(new RegExp(`"${LONG_INTEGER}(-?\\d+)"`, 'g'), '$1') : text;
}
