/** Payment card numbers and IBANs, both told from other numbers by their check digits. */
import { type Detector, hasDigits, type Span } from './detector.ts';

const FEWEST_DIGITS = 13;
const MOST_DIGITS = 19;
/** First digits of the card schemes: 2 to 6 (Mir, Amex, Diners, JCB, Visa, Mastercard, Maestro, UnionPay), RuPay, Troy. */
const scheme = /^(?:[2-6]|8[12]|9792)/;
/** Groups of digits with one space, dash or nothing between them. */
const digitRun = /\d+(?:[ -]\d+)*/g;

/**
 * Card numbers of 13 to 19 digits, in groups set apart by single spaces or dashes or in one piece, that satisfy the
 * formula of Luhn (ISO/IEC 7812-1). A number starts and ends with a group, whatever groups stand around it.
 */
export const card: Detector = {
  kind: 'card',
  find: (text) => {
    if (!hasDigits(text, FEWEST_DIGITS)) return [];
    const spans: Span[] = [];
    for (const run of text.matchAll(digitRun)) spans.push(...cardsOfRun(run[0], run.index));
    return spans;
  },
};

/** Takes the longest number from each group on; each start looks at no more than 19 digits. */
function cardsOfRun(run: string, offset: number): Span[] {
  const spans: Span[] = [];
  const groups = [...run.matchAll(/\d+/g)].map((group) => ({ digits: group[0], start: group.index }));
  for (let first = 0; first < groups.length; first++) {
    let digits = '';
    let found: { readonly last: number; readonly end: number } | null = null;
    for (let last = first; last < groups.length; last++) {
      const group = groups[last];
      if (group === undefined || digits.length + group.digits.length > MOST_DIGITS) break;
      digits += group.digits;
      if (digits.length >= FEWEST_DIGITS && scheme.test(digits) && satisfiesLuhn(digits)) {
        found = { last, end: group.start + group.digits.length };
      }
    }
    if (found === null) continue;
    spans.push({ start: offset + (groups[first]?.start ?? 0), end: offset + found.end });
    first = found.last;
  }
  return spans;
}

/** From the right, every second digit counts double, nines cast out; the sum must be a multiple of ten. */
function satisfiesLuhn(digits: string): boolean {
  let sum = 0;
  for (let i = 0; i < digits.length; i++) {
    const digit = digits.charCodeAt(digits.length - 1 - i) - 48;
    const counted = i % 2 === 0 ? digit : digit * 2;
    sum += counted > 9 ? counted - 9 : counted;
  }
  return sum % 10 === 0 && /[1-9]/.test(digits);
}

/** Lengths by country, from the IBAN registry of SWIFT. */
const ibanLengths: ReadonlyMap<string, number> = new Map(
  (
    'AD24 AE23 AL28 AT20 AZ28 BA20 BE16 BG22 BH22 BI27 BR29 BY28 CH21 CR22 CY28 CZ24 DE22 DJ27 DK18 DO28 EE20 EG29 ' +
    'ES24 FI18 FK18 FO18 FR27 GB22 GE22 GI23 GL18 GR27 GT28 HN28 HR21 HU28 IE22 IL23 IQ23 IS26 IT27 JO30 KW30 KZ20 ' +
    'LB28 LC32 LI21 LT20 LU20 LV21 LY25 MC27 MD24 ME22 MK19 MN20 MR27 MT31 MU30 NI28 NL18 NO15 OM23 PK24 PL28 PS29 ' +
    'PT25 QA29 RO24 RS22 RU33 SA24 SC31 SD18 SE24 SI19 SK24 SM27 SO23 ST25 SV28 TL23 TN24 TR26 UA29 VA22 VG24 XK20 ' +
    'YE30'
  )
    .split(' ')
    .map((entry) => [entry.slice(0, 2), Number(entry.slice(2))]),
);

const ibanStart = /(?<![\p{L}\p{N}_])[A-Z]{2}\d{2}(?=[ -]?[A-Z0-9])/giu;
const letterOrDigit = /^[\p{L}\p{N}_]$/u;

/**
 * IBANs in one piece or in groups set apart by single spaces or dashes, of the length of their country, whose
 * remainder modulo 97 is 1 (ISO 13616, ISO 7064).
 */
export const iban: Detector = {
  kind: 'iban',
  find: (text) => {
    const spans: Span[] = [];
    let previousEnd = 0;
    for (const match of text.matchAll(ibanStart)) {
      const length = ibanLengths.get(match[0].slice(0, 2).toUpperCase());
      const end = length === undefined ? null : ibanEnd(text, match.index, length);
      if (end === null || match.index < previousEnd) continue;
      spans.push({ start: match.index, end });
      previousEnd = end;
    }
    return spans;
  },
};

/** Where the IBAN from `start` ends, or null when it is none. */
function ibanEnd(text: string, start: number, length: number): number | null {
  let account = '';
  let index = start;
  while (account.length < length) {
    const character = text.charAt(index);
    const isSeparator = character === ' ' || character === '-';
    if (isSeparator && letterOrDigit.test(text.charAt(index - 1))) index++;
    else if (/^[A-Z0-9]$/i.test(character)) {
      account += character.toUpperCase();
      index++;
    } else return null;
  }
  return letterOrDigit.test(text.charAt(index)) || remainder97(account) !== 1 ? null : index;
}

/** With the first four characters at the end and A = 10 to Z = 35, modulo 97. */
function remainder97(account: string): number {
  let remainder = 0;
  for (const character of account.slice(4) + account.slice(0, 4)) {
    const value = Number.parseInt(character, 36);
    remainder = (remainder * (value > 9 ? 100 : 10) + value) % 97;
  }
  return remainder;
}
