/** Detectors of e-mail addresses, phone numbers, payment cards, IBANs and IP addresses. */
import { type Detector, findByRules, hasDigits, type Rule, type Span } from './detector.ts';

/** RFC 5321 allows 64 characters before the at sign and 255 after it. */
const MAX_LOCAL = 64;
const MAX_DOMAIN = 255;

/** Letters of scripts that separate words with spaces. In other scripts, an address may directly follow a word. */
const spacedLetters = '\\p{Script=Latin}\\p{Script=Greek}\\p{Script=Cyrillic}';
const anyLetters = '\\p{L}\\p{M}';
/** Characters of RFC 5322 that are common in local parts; the other characters delimit addresses in URLs and code. */
const local = [spacedLetters, anyLetters].map((letters) => new RegExp(`^[${letters}0-9.!#$%'+_~-]$`, 'u'));
const domain = [spacedLetters, anyLetters].map((letters) => new RegExp(`^[${letters}0-9.-]$`, 'u'));
/** Top-level domain: letters, or Punycode. */
const topLevel = /^(?:xn--[0-9a-z-]{1,59}|[\p{L}\p{M}]{2,63})/iu;

/**
 * Detects addresses `local@domain.tld` with letters of any script, and quoted local parts. The domain must contain a
 * dot, because `a@b` is common in code. Examines each `@` once, with at most 64 characters before and 255 after it.
 */
export const email: Detector = {
  kind: 'email',
  find: (text) => {
    const spans: Span[] = [];
    let previousEnd = 0;
    for (let at = text.indexOf('@'); at !== -1; at = text.indexOf('@', at + 1)) {
      const start = Math.max(previousEnd, localStart(text, at));
      const end = domainEnd(text, at + 1);
      if (start === at || end === null) continue;
      spans.push({ start, end });
      previousEnd = end;
    }
    return spans;
  },
};

function localStart(text: string, at: number): number {
  if (text[at - 1] === '"') {
    const quote = text.slice(Math.max(0, at - MAX_LOCAL), at - 1).lastIndexOf('"');
    if (quote !== -1) return Math.max(0, at - MAX_LOCAL) + quote;
  }
  const start = reach(text, at, -1, MAX_LOCAL, local);
  // Strips quotation marks, list markers and punctuation before the address.
  const lead = /^['.!#~-]+/.exec(text.slice(start, at));
  return start + (lead?.[0].length ?? 0);
}

/** Returns the end of the last label in the domain that can be a top-level domain; null if there is none. */
function domainEnd(text: string, start: number): number | null {
  const stop = reach(text, start, 1, MAX_DOMAIN, domain);
  let end: number | null = null;
  let position = start;
  for (const [index, label] of text.slice(start, stop).split('.').entries()) {
    if (label === '') break;
    const match = index > 0 ? topLevel.exec(label) : null;
    if (match !== null) end = position + match[0].length;
    position += label.length + 1;
  }
  return end;
}

/**
 * Steps from `from` forward (1) or backward (-1) over at most `max` characters, and returns the index where it stops.
 * All these characters match the same pattern: the first pattern that matches the character next to `from`.
 */
function reach(text: string, from: number, step: 1 | -1, max: number, patterns: readonly RegExp[]): number {
  let index = from;
  const offset = step === 1 ? 0 : -1;
  for (const pattern of patterns) {
    while (Math.abs(index - from) < max && pattern.test(text.charAt(index + offset))) index += step;
    if (index !== from) break;
  }
  return index;
}

/** Start of a phone number: not inside a word, number, decimal, date, id or path. */
const phoneStart = '(?<![\\p{L}\\p{N}_+#$€£])(?<!\\p{N}[./:-])(?<!\\p{L}[/-])';
const phoneEnd = '(?![\\p{L}\\p{N}_%€]|[.:/-]\\d)';
const extension = '(?:,? ?(?:x|ext\\.?|extension) ?\\d{1,5})?';

const callWord =
  '(?:tel|telephone|téléphone|teléfono|telefono|telefon|telefax|phone|mobile|mobil|móvil|cell|cellphone|fax|whatsapp|' +
  'handy|rufnummer|call|dial|sms|(?:text|ring|reach|contact)(?= (?:me|us|him|her|them)[ :]))';
/**
 * Words that announce a phone number. Letters may directly follow these words, because their script has no spaces, or
 * because the words can take an inflectional ending.
 */
const callWordInside = '(?:手机|手機|电话|電話|携帯|전화|телефон\\p{L}{0,3}|тел|τηλ|هاتف)';
const gapWord = '(?:numbers?|num|no|nr|n°|is|me|us|him|her|them|at|on|号码|號碼|号|番号|是|为|번호|номер)';

/** Number of digits in the shortest phone number that a rule matches. */
const MIN_PHONE_DIGITS = 7;

const phoneRules: readonly Rule[] = [
  {
    // International number with a plus sign (E.164) and digits grouped in any way: +49 (0)30 123456, +14155552671.
    pattern: new RegExp(`(?<![\\p{L}\\p{N}_+])\\+ ?\\(?[1-9](?:[ .()/-]{0,3}\\d){7,14}(?!\\d)${extension}`, 'giu'),
  },
  {
    // International number that starts with two zeros, in groups: 0044 20 7946 0958.
    pattern: new RegExp(`${phoneStart}00[ -]?[1-9](?:[ .()/-]{0,2}\\d){8,13}${phoneEnd}`, 'gu'),
    accepts: (value) => /[ ()/-]/.test(value) && !isDate(value),
    retries: true,
  },
  {
    // French or Belgian number, in five pairs of digits: 06 12 34 56 78.
    pattern: new RegExp(`${phoneStart}0[1-9]([ .-])\\d\\d(?:\\1\\d\\d){3}${phoneEnd}`, 'gu'),
  },
  {
    // National number of 9 to 13 digits that starts with a zero, in groups: (020) 7946 0958, 030/1234567, 0171-1234567.
    pattern: new RegExp(`${phoneStart}\\(?0[1-9](?:[ ()./-]{0,2}\\d){7,11}${phoneEnd}`, 'gu'),
    accepts: (value) => /\D/.test(value) && /\d{3}/.test(value) && !isDate(value),
    retries: true,
  },
  {
    // National number with a leading zero, without separators: 0612345678, 07700900123. The number must not follow a
    // word such as id or ISBN.
    pattern: new RegExp(
      `${phoneStart}(?<!(?:isbn|id|order|invoice|ticket|ref|reference|case|sku|serial|account|part|model|no|nr|number)[.:=# -]{1,3})` +
        `0[1-9]\\d{8,9}${phoneEnd}`,
      'giu',
    ),
  },
  {
    // North American number: (415) 555-2671, 415-555-2671, 1 415.555.2671.
    pattern: new RegExp(
      `${phoneStart}(?:1[ .-]?)?(?:\\(\\d{3}\\)[ -]?|\\d{3}[ .-])\\d{3}[ .-]\\d{4}${phoneEnd}${extension}`,
      'giu',
    ),
  },
  {
    // Number with an area code in parentheses, unless the code could be a year: (11) 91234-5678.
    pattern: new RegExp(
      `${phoneStart}\\((?!(?:19|20)\\d\\d\\))\\d{2,5}\\) ?\\d{3,5}(?:[ -]\\d{3,5}){1,2}${phoneEnd}`,
      'gu',
    ),
  },
  {
    // Chinese mobile number in groups: 138 1234 5678.
    pattern: new RegExp(`${phoneStart}1[3-9]\\d[ -]\\d{4}[ -]\\d{4}${phoneEnd}`, 'gu'),
  },
  {
    // Any 7 to 15 digits after a word that announces a number: tel. 1234567, call me at 867-5309.
    pattern: new RegExp(
      `(?:(?<!\\p{L})${callWord}|${callWordInside})(?:[ .:#=]{0,3}${gapWord}){0,3}[ .:#=]{0,3}` +
        `(?<value>\\(?\\d(?:[ .()/-]{0,2}\\d){6,14})${phoneEnd}`,
      'dgiu',
    ),
    accepts: (value) => !isDate(value),
    retries: true,
  },
];

/**
 * Detects phone numbers in international and common national formats, and plain digits after a word such as "call". The
 * formatting distinguishes phone numbers from years, prices, dates and ids.
 */
export const phone: Detector = {
  kind: 'phone',
  find: (text) => (hasDigits(text, MIN_PHONE_DIGITS) ? findByRules(text, phoneRules) : []),
};

/** True if a text starts with a date that has a four-digit year, such as 01.02.2024 or 2024-01-02. */
function isDate(value: string): boolean {
  return /^\d{1,2}[ ./-]\d{1,2}[ ./-](?:19|20)\d\d(?!\d)|^(?:19|20)\d\d[./-]\d{1,2}[./-]\d{1,2}(?!\d)/.test(value);
}

const MIN_CARD_DIGITS = 13;
const MAX_CARD_DIGITS = 19;
/**
 * Prefixes of card schemes: 2 to 6 for Mir, Amex, Diners, JCB, Visa, Mastercard, Maestro and UnionPay, 81 and 82 for
 * RuPay, and 9792 for Troy.
 */
const cardScheme = /^(?:[2-6]|8[12]|9792)/;
/** Groups of digits separated by single spaces or dashes. */
const digitRun = /\d+(?:[ -]\d+)*/g;

/**
 * Detects card numbers of 13 to 19 digits without separators, or in groups separated by single spaces or dashes. A card
 * number must satisfy the Luhn formula (ISO/IEC 7812-1). A card number consists of whole groups, and other groups may
 * precede or follow it.
 */
export const card: Detector = {
  kind: 'card',
  find: (text) => {
    if (!hasDigits(text, MIN_CARD_DIGITS)) return [];
    const spans: Span[] = [];
    for (const run of text.matchAll(digitRun)) spans.push(...cardsOfRun(run[0], run.index));
    return spans;
  },
};

/** Finds, for each group, the longest card number of at most 19 digits that starts at the group. */
function cardsOfRun(run: string, offset: number): Span[] {
  const spans: Span[] = [];
  const groups = [...run.matchAll(/\d+/g)].map((group) => ({ digits: group[0], start: group.index }));
  for (let first = 0; first < groups.length; first++) {
    let digits = '';
    let found: { readonly last: number; readonly end: number } | null = null;
    for (let last = first; last < groups.length; last++) {
      const group = groups[last];
      if (group === undefined || digits.length + group.digits.length > MAX_CARD_DIGITS) break;
      digits += group.digits;
      if (digits.length >= MIN_CARD_DIGITS && cardScheme.test(digits) && satisfiesLuhn(digits)) {
        found = { last, end: group.start + group.digits.length };
      }
    }
    if (found === null) continue;
    spans.push({ start: offset + (groups[first]?.start ?? 0), end: offset + found.end });
    first = found.last;
  }
  return spans;
}

/**
 * Luhn: doubles every second digit from the right and subtracts 9 from results above 9. The sum must be a multiple of
 * 10.
 */
function satisfiesLuhn(digits: string): boolean {
  let sum = 0;
  for (let i = 0; i < digits.length; i++) {
    const digit = digits.charCodeAt(digits.length - 1 - i) - 48;
    const counted = i % 2 === 0 ? digit : digit * 2;
    sum += counted > 9 ? counted - 9 : counted;
  }
  return sum % 10 === 0 && /[1-9]/.test(digits);
}

/** IBAN lengths by country, from the SWIFT IBAN registry. */
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
 * Detects IBANs without separators, or in groups separated by single spaces or dashes. An IBAN must have the length
 * defined for its country and leave the remainder 1 modulo 97 (ISO 13616, ISO 7064).
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

/** Returns the end of the IBAN at `start`; null if it is not an IBAN. */
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

/**
 * Moves the first four characters to the end, replaces the letters A to Z with the numbers 10 to 35, and returns the
 * remainder modulo 97.
 */
function remainder97(account: string): number {
  let remainder = 0;
  for (const character of account.slice(4) + account.slice(0, 4)) {
    const value = Number.parseInt(character, 36);
    remainder = (remainder * (value > 9 ? 100 : 10) + value) % 97;
  }
  return remainder;
}

const octet = '(?:25[0-5]|2[0-4]\\d|1\\d\\d|[1-9]?\\d)';
/** Four numbers separated by dots are not an IP address if one of these words precedes them. */
const numbered = '(?:versions?|ver|v|release|build|firmware|section|chapter|clause|paragraph|§)\\.?';

const addressRules: readonly Rule[] = [
  {
    // Four octets that are not part of a longer sequence (1.3.6.1.4.1), a version (v1.2.3.4, 1.2.3.4-rc1) or a name.
    pattern: new RegExp(
      `(?<![\\p{L}\\p{N}_.-])(?<!(?<!\\p{L})${numbered}[ :=]{1,2})(?:${octet}\\.){3}${octet}(?![\\p{L}\\p{N}_]|\\.\\d|-\\p{L})`,
      'giu',
    ),
    needs: '.',
  },
  {
    needs: ':',
    pattern:
      /(?<![\p{L}\p{N}_:.])(?<value>[0-9a-f:]{2,45}(?<![^:]:)(?:\.\d{1,3}){0,3})(?:%[0-9a-z]{1,16})?(?![\p{L}\p{N}_])/dgiu,
    accepts: isIpv6,
  },
];

/**
 * Detects dotted IPv4 addresses, and IPv6 addresses in all forms of RFC 4291 except short ones that may be code (`::1`,
 * `a::b`, `[1::2]`).
 */
export const ip: Detector = { kind: 'ip', find: (text) => findByRules(text, addressRules) };

/**
 * Accepts eight groups of up to four hex digits, or fewer with one `::`. An IPv4 address may replace the last two
 * groups.
 */
function isIpv6(value: string): boolean {
  const dotted = /^(.*:)(\d{1,3}(?:\.\d{1,3}){3})$/.exec(value);
  if (dotted !== null && !new RegExp(`^(?:${octet}\\.){3}${octet}$`).test(dotted[2] ?? '')) return false;
  const groupsOnly = dotted === null ? value : `${dotted[1] ?? ''}ffff:ffff`;
  const halves = groupsOnly.split('::');
  if (halves.length > 2) return false;
  const groups = halves.flatMap((half) => (half === '' ? [] : half.split(':')));
  if (groups.some((group) => !/^[0-9a-f]{1,4}$/i.test(group))) return false;
  if (halves.length === 1) return groups.length === 8;
  const isPlain = groups.length >= 4 || groups.some((group) => group.length >= 3);
  return groups.length <= 7 && isPlain && /\d/.test(value);
}
