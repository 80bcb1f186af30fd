/**
 * Takes personal data and secrets out of a text before anything stores, queues or logs it, or puts a stand-in in its
 * place: the same input gives the same one, and without the key nobody can guess.
 */
import { createHmac } from 'node:crypto';
import { type CustomPattern, customDetector, type Detector, patternProblem, type Span } from './detector.ts';
import { card, email, iban, ip, phone } from './personal-detectors.ts';
import { credentials, privateKey, secret, token } from './secret-detectors.ts';

/**
 * `text` is the original in plain writing: full-width and styled letters and digits, digits of other scripts, dashes
 * and spaces of every kind become ASCII; invisible characters are left out. Everything else is as it was. Only
 * matching uses it: what is not redacted keeps its own characters.
 */
interface FoldedText {
  readonly text: string;
  /** The part of the original that `text.slice(start, end)` stands for; `start < end`. */
  readonly originalSpan: (start: number, end: number) => { readonly start: number; readonly end: number };
}

const notAscii = /[\u0080-\uffff]/;
/** Zero-width characters, soft hyphens, marks of direction, variation selectors, the grapheme joiner. */
const invisible = /^(?:\p{Cf}|\p{Variation_Selector}|\u034f)$/u;
const space = /^\p{Zs}$/u;
const dash = /^[\p{Pd}\u2212]$/u;
const decimalDigit = /^\p{Nd}$/u;
const printableAscii = /^[!-~]$/;

/** Folds a text in one pass, linear in its length. */
export function foldText(original: string): FoldedText {
  if (!notAscii.test(original)) return { text: original, originalSpan: (start, end) => ({ start, end }) };
  const parts: string[] = [];
  // Where each code unit of the folded text begins in the original.
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

/** Unicode encodes the decimal digits of a script as ten characters in a row, from zero to nine. */
function digitValue(code: number): string {
  let value = 0;
  while (value < 9 && decimalDigit.test(String.fromCodePoint(code - value - 1))) value++;
  return String(value);
}

interface Redaction {
  readonly text: string;
  /** Finds by kind; only kinds that were found. */
  readonly counts: Readonly<Record<string, number>>;
}

export type Redactor = (text: string) => Redaction;

/** In order: what is found first is out of reach of those after it. */
const detectors: readonly Detector[] = [privateKey, credentials, token, secret, email, iban, card, ip, phone];

/** In less there is nothing to find for them; between the finds of a long list there are thousands of such places. */
const SHORTEST = 5;

/** Kind of a text that was replaced as a whole. */
const WHOLE = 'redacted';

/** Taking something out changes what stands beside it, which may then be found too; ordinary text settles in two. */
const MAX_PASSES = 6;

/**
 * A redactor of e-mail addresses, phone numbers, payment cards, IBANs, IP addresses, keys, tokens and passwords,
 * credentials in URLs, and of the patterns of the config, which come last. Each find is replaced by its kind, such as
 * `[EMAIL]`; the rest of the text keeps its characters.
 *
 * The redactor takes time linear in the length of the text (custom patterns: see `customDetector`), finds nothing more
 * in what it returned, and never throws: if it fails, or if finds keep appearing, it returns `[REDACTED]` for the text
 * as a whole, never a text that it did not finish.
 *
 * @throws RecalldError `config_invalid` for a pattern that cannot be used; the redactor itself throws nothing
 */
export function createRedactor(options: { readonly patterns?: readonly CustomPattern[] } = {}): Redactor {
  const taken = takenNames();
  const all = [...detectors];
  for (const pattern of options.patterns ?? []) {
    all.push(customDetector(pattern, taken));
    taken.add(pattern.name);
  }
  const placeholders = new RegExp([...taken].map((kind) => `\\[${kind.toUpperCase()}\\]`).join('|'), 'g');
  return (text) => {
    try {
      return redactUntilSettled(text, all, placeholders) ?? wholeRedacted();
    } catch {
      return wholeRedacted();
    }
  };
}

/** Names that no pattern of the config may have. */
function takenNames(): Set<string> {
  return new Set([...detectors.map(({ kind }) => kind), WHOLE]);
}

/** What is wrong with each pattern, to complete "The pattern ..."; null for one that can be used. */
export function patternProblems(patterns: readonly CustomPattern[]): (string | null)[] {
  const taken = takenNames();
  return patterns.map((pattern) => {
    const problem = patternProblem(pattern, taken);
    taken.add(pattern.name);
    return problem;
  });
}

function wholeRedacted(): Redaction {
  return { text: placeholderOf(WHOLE), counts: { [WHOLE]: 1 } };
}

function redactUntilSettled(text: string, all: readonly Detector[], placeholders: RegExp): Redaction | null {
  const counts: Record<string, number> = {};
  let current = text;
  for (let pass = 0; pass < MAX_PASSES; pass++) {
    const { finds, redacted } = redactOnce(current, all, placeholders);
    if (finds.length === 0) return { text: current, counts };
    for (const { kind } of finds) counts[kind] = (counts[kind] ?? 0) + 1;
    current = redacted;
  }
  return null;
}

interface Find extends Span {
  readonly kind: string;
}

function redactOnce(text: string, all: readonly Detector[], placeholders: RegExp): { finds: Find[]; redacted: string } {
  const folded = foldText(text);
  // Placeholders of an earlier pass, or of an earlier redactor, are out of reach of every detector.
  let taken: Span[] = Array.from(folded.text.matchAll(placeholders), (match) => ({
    start: match.index,
    end: match.index + match[0].length,
  }));
  let gaps = gapsBetween(taken, folded.text.length);
  let finds: Find[] = [];
  for (const detector of all) {
    const { kind, find } = detector;
    const shortest = detectors.includes(detector) ? SHORTEST : 1;
    const found: Find[] = [];
    for (const gap of gaps) {
      if (gap.end - gap.start < shortest) continue;
      for (const { start, end } of find(folded.text.slice(gap.start, gap.end))) {
        found.push({ kind, start: gap.start + start, end: gap.start + end });
      }
    }
    if (found.length === 0) continue;
    finds = finds.concat(found);
    taken = taken.concat(found).toSorted((a, b) => a.start - b.start);
    gaps = gapsBetween(taken, folded.text.length);
  }
  if (finds.length === 0) return { finds, redacted: text };
  const parts: string[] = [];
  let position = 0;
  for (const { kind, start, end } of finds.toSorted((a, b) => a.start - b.start)) {
    const original = folded.originalSpan(start, end);
    parts.push(text.slice(position, original.start), placeholderOf(kind));
    position = original.end;
  }
  parts.push(text.slice(position));
  return { finds, redacted: parts.join('') };
}

/** What lies between spans in ascending order. */
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

function placeholderOf(kind: string): string {
  return `[${kind.toUpperCase()}]`;
}

/** Fewer bytes could be tried out. */
const MIN_KEY_BYTES = 16;

/**
 * HMAC-SHA-256 of a query text, for pipelines that keep no text: equal questions stay countable. Texts are equal when
 * they are so after Unicode normalisation (NFC), without white space at either end and without regard to case.
 *
 * @param key the secret of this installation, at least 16 bytes; another key gives unrelated hashes
 * @returns 64 hexadecimal digits
 * @throws RangeError for a shorter key, which the config schema refuses
 */
export function textHash(text: string, key: string): string {
  return keyedHash('recalld/text/v1', foldCase(text.normalize('NFC').trim()).normalize('NFC'), key);
}

/**
 * HMAC-SHA-256 of a user id as it stands; the id itself is never stored. Erasure of a user finds rows by it.
 *
 * @param key as for `textHash`, from which it is separated: a text that is an id has another hash
 * @returns 64 hexadecimal digits
 * @throws RangeError for a shorter key, which the config schema refuses
 */
export function userIdHmac(userId: string, key: string): string {
  return keyedHash('recalld/user/v1', userId, key);
}

function keyedHash(domain: string, value: string, key: string): string {
  if (Buffer.byteLength(key) < MIN_KEY_BYTES) {
    throw new RangeError(`The key of hashes must have at least ${MIN_KEY_BYTES} bytes.`);
  }
  return createHmac('sha256', key).update(`${domain}\0`).update(value).digest('hex');
}

/** Upper case in between brings together what lower case alone keeps apart, such as ß and SS. */
function foldCase(text: string): string {
  return text.toLowerCase().toUpperCase().toLowerCase();
}
