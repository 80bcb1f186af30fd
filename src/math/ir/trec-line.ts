/**
 * Parses lines of TREC runs and qrels as byte ranges in an ASCII-compatible text (UTF-8), to avoid creating a string
 * for each line of a file with a million lines.
 */

const [TAB, LINE_FEED, VERTICAL_TAB, FORM_FEED, CARRIAGE_RETURN, SPACE] = [0x09, 0x0a, 0x0b, 0x0c, 0x0d, 0x20] as const;
const [PLUS, MINUS, POINT, ZERO] = [0x2b, 0x2d, 0x2e, 0x30] as const;
/** A byte order mark in UTF-8. */
const [MARK_1, MARK_2, MARK_3] = [0xef, 0xbb, 0xbf] as const;

/** Column separators: `blanks` are space, tab, vertical tab and form feed; with `tabs`, a column may contain spaces. */
export type Separator = 'blanks' | 'tabs';

const separators: Readonly<Record<Separator, readonly number[]>> = {
  blanks: [SPACE, TAB, VERTICAL_TAB, FORM_FEED],
  tabs: [TAB],
};

/** Finds the columns of each line in turn. Consecutive separators count as one. */
export class ColumnScanner {
  /** Start offset of each column in the line scanned last, up to the capacity. */
  readonly starts: Int32Array;
  /** End offset (exclusive) of each column in the line scanned last, up to the capacity. */
  readonly ends: Int32Array;
  /**
   * Number of columns in the line scanned last, including columns beyond the capacity; -1 if the line contains a
   * carriage return, as in a file whose lines end with a lone carriage return.
   */
  count = 0;
  /**
   * Lookup table, indexed by byte: 1 for separators and line endings, 0 for other bytes. The table ends at the space
   * character, because no separator has a higher code.
   */
  private readonly separates: Uint8Array;

  constructor(room: number, separator: Separator) {
    this.starts = new Int32Array(room);
    this.ends = new Int32Array(room);
    this.separates = new Uint8Array(SPACE + 1);
    for (const code of [...separators[separator], LINE_FEED, CARRIAGE_RETURN]) this.separates[code] = 1;
  }

  /**
   * Scans the line at `start`, and returns the start of the next line. Skips a byte order mark at the start of any
   * line, because concatenated files may have one in the middle.
   */
  scan(bytes: Uint8Array, start: number): number {
    const { starts, ends, separates } = this;
    const { length } = bytes;
    let count = 0;
    let isBroken = false;
    let i = bytes[start] === MARK_1 && bytes[start + 1] === MARK_2 && bytes[start + 2] === MARK_3 ? start + 3 : start;
    for (;;) {
      let code = i < length ? (bytes[i] ?? 0) : LINE_FEED;
      if (code > SPACE || separates[code] === 0) {
        starts[count] = i;
        do code = ++i < length ? (bytes[i] ?? 0) : LINE_FEED;
        while (code > SPACE || separates[code] === 0);
        ends[count++] = i;
      }
      if (code === LINE_FEED) break;
      i++;
      if (code === CARRIAGE_RETURN && i < length && bytes[i] !== LINE_FEED) isBroken = true;
    }
    this.count = isBroken ? -1 : count;
    return i + 1;
  }
}

/** The powers of ten that a double represents exactly. */
const POWERS_OF_TEN = Float64Array.from({ length: 23 }, (_, exponent) => 10 ** exponent);
/** An integer with at most this many digits is exact in a double. */
const EXACT_DIGITS = 15;
/** Every integer with at most this many digits fits in 32 bits, for which arithmetic is fast. */
const GROUP_DIGITS = 9;
/** Factor that splits a double into its high and low bits (Veltkamp). */
const HALVES = 2 ** 27 + 1;
const highHalf = (value: number): number => value * HALVES - (value * HALVES - value);
const HIGH_HALVES = POWERS_OF_TEN.map(highHalf);
const DECIMAL = /^[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?$/;

/**
 * Returns the double that C's atof reads from a decimal number such as `12.5`, `+1`, `.5` or `1e-3`, correctly rounded.
 *
 * @returns NaN for anything else: words, infinity, hexadecimal, trailing characters, and numbers beyond the range of a
 * double
 */
export function parseScore(bytes: Uint8Array, start: number, end: number): number {
  // A double represents 10^22 and every integer of up to 15 digits exactly, so one division rounds correctly (Clinger
  // 1990). Neither this path nor the quotient below creates a string; creating one would be slow for a file with a
  // million scores.
  const sign = bytes[start];
  const first = sign === MINUS || sign === PLUS ? start + 1 : start;
  let head = 0;
  let tail = 0;
  let i = first;
  // Leading zeros are not significant.
  while (i < end && bytes[i] === ZERO) i++;
  let from = i;
  let headEnd = Math.min(end, from + GROUP_DIGITS);
  for (; i < headEnd; i++) {
    const digit = (bytes[i] ?? 0) - ZERO;
    if (digit < 0 || digit > 9) break;
    head = (head * 10 + digit) | 0;
  }
  let headDigits = i - from;
  let tailDigits = 0;
  let decimals = 0;
  if (i < end && bytes[i] === POINT) {
    decimals = end - 1 - i++;
    if (headDigits === 0) while (i < end && bytes[i] === ZERO) i++;
    from = i;
    headEnd = Math.min(end, from + GROUP_DIGITS - headDigits);
    for (; i < headEnd; i++) {
      const digit = (bytes[i] ?? 0) - ZERO;
      if (digit < 0 || digit > 9) break;
      head = (head * 10 + digit) | 0;
    }
    headDigits += i - from;
    if (i === headEnd) {
      const tailEnd = Math.min(end, i + GROUP_DIGITS);
      for (; i < tailEnd; i++) {
        const digit = (bytes[i] ?? 0) - ZERO;
        if (digit < 0 || digit > 9) break;
        tail = (tail * 10 + digit) | 0;
      }
      tailDigits = i - headEnd;
    }
  }
  const hasDigits = end > first && (decimals > 0 || bytes[end - 1] !== POINT || end - first > 1);
  if (i === end && hasDigits && decimals < POWERS_OF_TEN.length) {
    const value =
      headDigits + tailDigits <= EXACT_DIGITS
        ? (head * (POWERS_OF_TEN[tailDigits] ?? 1) + tail) / (POWERS_OF_TEN[decimals] ?? 1)
        : roundedQuotient(head, tailDigits, tail, decimals);
    if (!Number.isNaN(value)) return sign === MINUS ? -value : value;
  }
  let column = '';
  for (i = start; i < end; i++) column += String.fromCharCode(bytes[i] ?? 0);
  const value = DECIMAL.test(column) ? Number(column) : Number.NaN;
  return Number.isFinite(value) ? value : Number.NaN;
}

/**
 * Returns (a * 10^m + b) / 10^n, correctly rounded, or NaN if the result is so close to the midpoint between two
 * doubles that the rounding cannot be decided.
 *
 * The arguments a and b are below 10^9 and m is at most 9, so a * 5^m is below 2^51 and a * 10^m is exact; 10^n is
 * exact too. The remainder corrects the quotient of doubles. The remainder is exact, because its products are computed
 * in two parts (Dekker 1971, with Veltkamp's split). The parameters are small integers, and the function calls no other
 * function, because V8 allocates an object for each double that functions pass to each other.
 */
function roundedQuotient(a: number, m: number, b: number, n: number): number {
  const dividend = a * (POWERS_OF_TEN[m] ?? 1);
  const divisor = POWERS_OF_TEN[n] ?? 1;
  const divisorHigh = HIGH_HALVES[n] ?? 1;
  const divisorLow = divisor - divisorHigh;
  const quotient = dividend / divisor;
  const scaled = quotient * HALVES;
  const quotientHigh = scaled - (scaled - quotient);
  const quotientLow = quotient - quotientHigh;
  const product = quotient * divisor;
  const productError =
    quotientLow * divisorLow -
    (product - quotientHigh * divisorHigh - quotientLow * divisorHigh - quotientHigh * divisorLow);

  const correction = (dividend - product - productError + b) / divisor;
  const low = quotient + correction * (1 - 2 ** -40);
  return low === quotient + correction * (1 + 2 ** -40) ? low : Number.NaN;
}

/**
 * Parses the grade in `bytes[start, end)` like `readGrade`. Reads an integer with at most 15 characters without
 * creating a string.
 *
 * @returns NaN for anything else
 */
export function parseGrade(bytes: Uint8Array, start: number, end: number): number {
  const sign = bytes[start];
  let i = sign === MINUS || sign === PLUS ? start + 1 : start;
  if (i >= end || end - start > 15) return gradeOfWord(bytes, start, end);
  let grade = 0;
  for (; i < end; i++) {
    const digit = (bytes[i] ?? 0) - ZERO;
    if (!(digit >= 0 && digit <= 9)) return gradeOfWord(bytes, start, end);
    grade = grade * 10 + digit;
  }
  return sign === MINUS && grade !== 0 ? -grade : grade;
}

/** Maximum length of a grade: the length that numpy.savetxt writes, with 18 decimals and an exponent. */
const LONGEST_GRADE = 32;

function gradeOfWord(bytes: Uint8Array, start: number, end: number): number {
  if (end - start > LONGEST_GRADE) return Number.NaN;
  let word = '';
  for (let i = start; i < end; i++) word += String.fromCharCode(bytes[i] ?? 0);
  return readGrade(word) ?? Number.NaN;
}

/** Reads a grade: `2`, `+2`, `2.0`, `2e0`, `-1`, true or yes (1), false or no (0); null for anything else. */
export function readGrade(word: string): number | null {
  if (/^[+-]?\d{1,15}(\.0*)?$/.test(word)) {
    const grade = Number(word);
    return grade === 0 ? 0 : grade;
  }
  if (/^[+-]?\d{1,15}(\.\d*)?e[+-]?\d{1,3}$/i.test(word)) {
    const grade = Number(word);
    return Number.isSafeInteger(grade) ? grade + 0 : null;
  }
  if (/^(true|yes)$/i.test(word)) return 1;
  return /^(false|no)$/i.test(word) ? 0 : null;
}
