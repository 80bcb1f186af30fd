/** Phone numbers, told from years, prices, dates and ids by how people write them. */
import { type Detector, findByRules, hasDigits, type Rule } from './detector.ts';

/** Not in the middle of a word, a number, a decimal, a date, an id or a path. */
const before = '(?<![\\p{L}\\p{N}_+#$€£])(?<!\\p{N}[./:-])(?<!\\p{L}[/-])';
const after = '(?![\\p{L}\\p{N}_%€]|[.:/-]\\d)';
const extension = '(?:,? ?(?:x|ext\\.?|extension) ?\\d{1,5})?';

const callWord =
  '(?:tel|telephone|téléphone|teléfono|telefono|telefon|telefax|phone|mobile|mobil|móvil|cell|cellphone|fax|whatsapp|' +
  'handy|rufnummer|call|dial|sms|(?:text|ring|reach|contact)(?= (?:me|us|him|her|them)[ :]))';
/** Scripts without spaces, or with endings: the word may touch its neighbours. */
const callWordInside = '(?:手机|手機|电话|電話|携帯|전화|телефон\\p{L}{0,3}|тел|τηλ|هاتف)';
const gapWord = '(?:numbers?|num|no|nr|n°|is|me|us|him|her|them|at|on|号码|號碼|号|番号|是|为|번호|номер)';

/** Of the shortest number that a rule finds. */
const FEWEST_DIGITS = 7;

const rules: readonly Rule[] = [
  {
    // International with a plus sign, E.164 with any grouping: +49 (0)30 123456, +14155552671.
    pattern: new RegExp(
      `(?<![\\p{L}\\p{N}_+])\\+ ?\\(?[1-9](?:[ .()/-]{0,3}\\d){7,14}(?!\\d)${extension}`,
      'giu',
    ),
  },
  {
    // International with two zeros, in groups: 0044 20 7946 0958.
    pattern: new RegExp(`${before}00[ -]?[1-9](?:[ .()/-]{0,2}\\d){8,13}${after}`, 'gu'),
    accepts: (value) => /[ ()/-]/.test(value) && !isDate(value),
    retries: true,
  },
  {
    // France and Belgium, in five pairs: 06 12 34 56 78.
    pattern: new RegExp(`${before}0[1-9]([ .-])\\d\\d(?:\\1\\d\\d){3}${after}`, 'gu'),
  },
  {
    // National with a leading zero, 9 to 13 digits in groups: (020) 7946 0958, 030/1234567, 0171-1234567.
    pattern: new RegExp(`${before}\\(?0[1-9](?:[ ()./-]{0,2}\\d){7,11}${after}`, 'gu'),
    accepts: (value) => /\D/.test(value) && /\d{3}/.test(value) && !isDate(value),
    retries: true,
  },
  {
    // National with a leading zero, in one piece: 0612345678, 07700900123. Not what an id or an ISBN stands before.
    pattern: new RegExp(
      `${before}(?<!(?:isbn|id|order|invoice|ticket|ref|reference|case|sku|serial|account|part|model|no|nr|number)[.:=# -]{1,3})` +
        `0[1-9]\\d{8,9}${after}`,
      'giu',
    ),
  },
  {
    // North America: (415) 555-2671, 415-555-2671, 1 415.555.2671.
    pattern: new RegExp(
      `${before}(?:1[ .-]?)?(?:\\(\\d{3}\\)[ -]?|\\d{3}[ .-])\\d{3}[ .-]\\d{4}${after}${extension}`,
      'giu',
    ),
  },
  {
    // An area code in brackets that is no year: (11) 91234-5678.
    pattern: new RegExp(
      `${before}\\((?!(?:19|20)\\d\\d\\))\\d{2,5}\\) ?\\d{3,5}(?:[ -]\\d{3,5}){1,2}${after}`,
      'gu',
    ),
  },
  {
    // China: 138 1234 5678.
    pattern: new RegExp(`${before}1[3-9]\\d[ -]\\d{4}[ -]\\d{4}${after}`, 'gu'),
  },
  {
    // Any 7 to 15 digits after a word that announces a number: tel. 1234567, call me at 867-5309.
    pattern: new RegExp(
      `(?:(?<!\\p{L})${callWord}|${callWordInside})(?:[ .:#=]{0,3}${gapWord}){0,3}[ .:#=]{0,3}` +
        `(?<value>\\(?\\d(?:[ .()/-]{0,2}\\d){6,14})${after}`,
      'dgiu',
    ),
    accepts: (value) => !isDate(value),
    retries: true,
  },
];

/** Phone numbers in international and common national forms; plain digits only after a word that announces them. */
export const phone: Detector = {
  kind: 'phone',
  find: (text) => (hasDigits(text, FEWEST_DIGITS) ? findByRules(text, rules) : []),
};

/** Whether it begins as a date with a full year, such as 01.02.2024, or is one from the year on, 2024-01-02. */
function isDate(value: string): boolean {
  return /^\d{1,2}[ ./-]\d{1,2}[ ./-](?:19|20)\d\d(?!\d)|^(?:19|20)\d\d[./-]\d{1,2}[./-]\d{1,2}(?!\d)/.test(
    value,
  );
}
