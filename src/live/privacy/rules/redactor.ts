/**
 * Redacts personal data and secrets from a text before it is stored, queued or logged, or replaces the text with a
 * keyed hash. Equal texts have equal hashes. Without the key, the text behind a hash cannot be guessed.
 */
import { createHmac } from 'node:crypto';
import {
  type CustomPattern,
  customDetector,
  type Detector,
  patternProblem,
  placeholderOf,
  replaceSpans,
  type Span,
} from './detector.ts';
import { card, email, iban, ip, phone } from './personal-detectors.ts';
import { credentials, privateKey, secret, token } from './secret-detectors.ts';

const notAscii = /[\u0080-\uffff]/;
/** Zero-width characters, soft hyphens, direction marks, variation selectors and the grapheme joiner. */
const invisible = /^(?:\p{Cf}|\p{Variation_Selector}|\u034f)$/u;
const space = /^\p{Zs}$/u;
const dash = /^[\p{Pd}\u2212]$/u;
const decimalDigit = /^\p{Nd}$/u;
const printableAscii = /^[!-~]$/;

/**
 * Normalizes a text for matching only, in linear time. Maps full-width and styled letters and digits, digits of other
 * scripts, dashes and spaces to ASCII, and removes invisible characters. Text that is not redacted keeps its original
 * characters.
 *
 * @returns `originalSpan`: the part of the original that corresponds to `text.slice(start, end)`; `start < end`
 */
export function foldText(original: string) {
  if (!notAscii.test(original))
    return { text: original, originalSpan: (start: number, end: number) => ({ start, end }) };
  const parts: string[] = [];
  // For each code unit of the folded text: the start of its source in the original text.
  const origins: number[] = [];
  const known = new Map<string, string>();
  let position = 0;
  for (const character of original) {
    const folded = known.get(character) ?? foldCharacter(character);
    known.set(character, folded);
    parts.push(folded);
    for (let unit = 0; unit < folded.length; unit++) {
      origins.push(folded === character ? position + unit : position);
    }
    position += character.length;
  }
  const originalSpan = (start: number, end: number) => {
    const last = origins[end - 1] ?? 0;
    return { start: origins[start] ?? 0, end: last + ((original.codePointAt(last) ?? 0) > 0xffff ? 2 : 1) };
  };
  return { text: parts.join(''), originalSpan };
}

function foldCharacter(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  if (code < 0x80) return character;
  if (invisible.test(character)) return '';
  if (space.test(character)) return ' ';
  if (dash.test(character)) return '-';
  const compatible = character.normalize('NFKC');
  if (printableAscii.test(compatible)) return compatible;
  return decimalDigit.test(character) ? digitValue(code) : character;
}

/** Unicode encodes the decimal digits of a script as ten consecutive characters, from zero to nine. */
function digitValue(code: number): string {
  let value = 0;
  while (value < 9 && decimalDigit.test(String.fromCodePoint(code - value - 1))) value++;
  return String(value);
}

export type Redactor = (text: string) => string;

/** Detectors in order of application: text redacted by one detector is hidden from later detectors. */
const detectors: readonly Detector[] = [privateKey, credentials, token, secret, email, iban, card, ip, phone];

/**
 * Minimum length of a gap that can contain a match of a built-in detector. Shorter gaps are not searched, because a
 * long list of matches has thousands of short gaps.
 */
const MIN_GAP = 5;

/** Kind in the placeholder that replaces a whole text: `[REDACTED]`. */
const WHOLE = 'redacted';

/**
 * Maximum number of redaction passes. Redaction changes the context of neighboring text, which may then match too;
 * ordinary text needs two passes.
 */
const MAX_PASSES = 6;

/**
 * Creates a redactor for e-mail addresses, phone numbers, payment cards, IBANs, IP addresses, keys, tokens, passwords,
 * credentials in URLs, and the configured patterns, which are applied last. Each match is replaced with its kind, such
 * as `[EMAIL]`; other text is unchanged.
 *
 * The redactor runs in linear time (for custom patterns see `customDetector`), is idempotent, and never throws. If the
 * redactor fails, or if new matches keep appearing, it replaces the whole text with `[REDACTED]`.
 *
 * @param patterns configured patterns in which `patternProblems` finds no problem
 */
export function createRedactor(patterns: readonly CustomPattern[] = []): Redactor {
  const all = [...detectors, ...patterns.map(customDetector)];
  const kinds = [...all.map(({ kind }) => kind), WHOLE];
  const placeholders = new RegExp(kinds.map((kind) => `\\[${kind.toUpperCase()}\\]`).join('|'), 'g');
  return (text) => {
    try {
      return redactUntilStable(text, all, placeholders) ?? placeholderOf(WHOLE);
    } catch {
      return placeholderOf(WHOLE);
    }
  };
}

/**
 * Describes what is wrong with each pattern, in words that continue a sentence after "The pattern"; null for a valid
 * pattern.
 */
export function patternProblems(patterns: readonly CustomPattern[]): (string | null)[] {
  const taken = new Set([...detectors.map(({ kind }) => kind), WHOLE]);
  return patterns.map((pattern) => {
    const problem = patternProblem(pattern, taken);
    taken.add(pattern.name);
    return problem;
  });
}

function redactUntilStable(text: string, all: readonly Detector[], placeholders: RegExp): string | null {
  let current = text;
  for (let pass = 0; pass < MAX_PASSES; pass++) {
    const redacted = redactOnce(current, all, placeholders);
    if (redacted === null) return current;
    current = redacted;
  }
  return null;
}

interface Find extends Span {
  readonly kind: string;
}

/** Replaces all matches in a single pass; null if there are no matches. */
function redactOnce(text: string, all: readonly Detector[], placeholders: RegExp): string | null {
  const folded = foldText(text);
  // Placeholders from an earlier pass or from another redactor are hidden from all detectors.
  let taken: Span[] = Array.from(folded.text.matchAll(placeholders), (match) => ({
    start: match.index,
    end: match.index + match[0].length,
  }));
  let gaps = gapsBetween(taken, folded.text.length);
  let finds: Find[] = [];
  for (const detector of all) {
    const { kind, find } = detector;
    const minGap = detectors.includes(detector) ? MIN_GAP : 1;
    const found: Find[] = [];
    for (const gap of gaps) {
      if (gap.end - gap.start < minGap) continue;
      for (const { start, end } of find(folded.text.slice(gap.start, gap.end))) {
        found.push({ kind, start: gap.start + start, end: gap.start + end });
      }
    }
    if (found.length === 0) continue;
    finds = finds.concat(found);
    taken = taken.concat(found).toSorted((a, b) => a.start - b.start);
    gaps = gapsBetween(taken, folded.text.length);
  }
  if (finds.length === 0) return null;
  const ascending = finds.toSorted((a, b) => a.start - b.start);
  return replaceSpans(
    text,
    ascending.map(({ kind, start, end }) => ({ kind, ...folded.originalSpan(start, end) })),
  );
}

/** Returns the gaps between ascending spans. */
function gapsBetween(spans: readonly Span[], length: number): Span[] {
  const gaps: Span[] = [];
  let start = 0;
  for (const span of spans) {
    if (span.start > start) gaps.push({ start, end: span.start });
    start = span.end;
  }
  if (length > start) gaps.push({ start, end: length });
  return gaps;
}

/**
 * Returns the HMAC-SHA-256 of a query text. Pipelines that do not store texts store this hash instead, so that equal
 * queries can still be counted. Texts that differ only in case, Unicode normalization (NFC) or surrounding white space
 * have the same hash.
 *
 * @param key secret of this installation; the config requires at least 16 bytes
 * @returns 64 hexadecimal digits
 */
export function textHash(text: string, key: string): string {
  return keyedHash('recalld/text/v1', foldCase(text.normalize('NFC').trim()).normalize('NFC'), key);
}

/**
 * Returns the HMAC-SHA-256 of a user id; the id itself is never stored. When a user is erased, the user's rows are
 * found by this hash.
 *
 * @returns 64 hexadecimal digits, different from the `textHash` of the same text
 */
export function userIdHmac(userId: string, key: string): string {
  return keyedHash('recalld/user/v1', userId, key);
}

function keyedHash(domain: string, value: string, key: string): string {
  return createHmac('sha256', key).update(`${domain}\0`).update(value).digest('hex');
}

/** Folds case via upper case, because lower case alone does not unify ß and SS. */
function foldCase(text: string): string {
  return text.toLowerCase().toUpperCase().toLowerCase();
}
