/**
 * The columns and numbers of the lines of a TREC run or qrels file. A line is a range of the bytes of an
 * ASCII-compatible text (UTF-8), so that a file of a million lines is read without making a string of each.
 */

const TAB = 0x09;
const LINE_FEED = 0x0a;
const VERTICAL_TAB = 0x0b;
const FORM_FEED = 0x0c;
const CARRIAGE_RETURN = 0x0d;
const SPACE = 0x20;
const PLUS = 0x2b;
const MINUS = 0x2d;
const POINT = 0x2e;
const ZERO = 0x30;

/** What parts columns: blanks (space, tab, vertical tab, form feed), or only tabs, so that a column may hold spaces. */
export type Separator = 'blanks' | 'tabs';

const separators: Readonly<Record<Separator, readonly number[]>> = {
  blanks: [SPACE, TAB, VERTICAL_TAB, FORM_FEED],
  tabs: [TAB],
};

/** Finds the columns of one line after the other. Several separators in a row count as one. */
export class ColumnScanner {
  /** Where the columns of the last line start and end, for as many as there is room. */
  readonly starts: Int32Array;
  readonly ends: Int32Array;
  /**
   * Columns of the last line, also those beyond the room; -1 if a carriage return stands inside the line, as in a
   * file whose lines end with it alone.
   */
  count = 0;
  /** 1 for the separators and the line ends; every control character is below the space. */
  private readonly separates: Uint8Array;

  constructor(room: number, separator: Separator) {
    this.starts = new Int32Array(room);
    this.ends = new Int32Array(room);
    this.separates = new Uint8Array(SPACE + 1);
    this.separateBy(separator);
  }

  /** Changes what parts columns from the next line on. */
  separateBy(separator: Separator): void {
    this.separates.fill(0);
    for (const code of [...separators[separator], LINE_FEED, CARRIAGE_RETURN]) this.separates[code] = 1;
  }

  /** Scans the line at `start`, which ends with a line feed or with the bytes; returns where the next one starts. */
  scan(bytes: Uint8Array, start: number): number {
    const { starts, ends, separates } = this;
    let count = 0;
    let inside = false;
    let isBroken = false;
    let i = start;
    for (; i < bytes.length; i++) {
      const code = bytes[i] ?? 0;
      if (code > SPACE || separates[code] === 0) {
        if (!inside) starts[count] = i;
        inside = true;
        continue;
      }
      if (inside) ends[count++] = i;
      inside = false;
      if (code === LINE_FEED) break;
      if (code === CARRIAGE_RETURN && i + 1 < bytes.length && bytes[i + 1] !== LINE_FEED) isBroken = true;
    }
    if (inside) ends[count++] = i;
    this.count = isBroken ? -1 : count;
    return i + 1;
  }
}

/** All that a double holds exactly. */
const POWERS_OF_TEN = Float64Array.from({ length: 23 }, (_, exponent) => 10 ** exponent);
/** An integer of so many digits is exact in a double. */
const EXACT_DIGITS = 15;
/** Digits behind those: then their integer is exact as well. */
const MAX_MORE_DIGITS = 7;
const DECIMAL = /^[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?$/;

/**
 * The double that C's atof reads from a decimal number such as `12.5`, `+1`, `.5` or `1e-3`, correctly rounded.
 *
 * @returns NaN for anything else: words, infinity, hexadecimal, trailing characters, and numbers beyond a double
 */
export function parseScore(bytes: Uint8Array, start: number, end: number): number {
  // Up to 15 digits make an integer that a double holds exactly, as it holds 10^22, so that one division rounds
  // correctly (Clinger 1990). That and the quotient below spare a million short-lived strings on a large file.
  const sign = bytes[start];
  let hasDigits = false;
  let digits = 0;
  let mantissa = 0;
  let more = 0;
  let pointAt = -1;
  let i = sign === MINUS || sign === PLUS ? start + 1 : start;
  for (; i < end; i++) {
    const code = bytes[i] ?? 0;
    const digit = code - ZERO;
    if (digit >= 0 && digit <= 9) {
      hasDigits = true;
      if (digits < EXACT_DIGITS) mantissa = mantissa * 10 + digit;
      else more = more * 10 + digit;
      // Zeros in front are none of the mantissa.
      if (mantissa !== 0) digits++;
    } else if (code === POINT && pointAt === -1) {
      pointAt = i;
    } else {
      break;
    }
  }
  const decimals = pointAt === -1 ? 0 : end - 1 - pointAt;
  if (i === end && hasDigits && decimals < POWERS_OF_TEN.length && digits <= EXACT_DIGITS + MAX_MORE_DIGITS) {
    const scale = POWERS_OF_TEN[decimals] ?? 1;
    const value =
      digits <= EXACT_DIGITS
        ? mantissa / scale
        : roundedQuotient(mantissa, POWERS_OF_TEN[digits - EXACT_DIGITS] ?? 1, more, scale);
    if (!Number.isNaN(value)) return sign === MINUS ? -value : value;
  }
  let column = '';
  for (i = start; i < end; i++) column += String.fromCharCode(bytes[i] ?? 0);
  const value = DECIMAL.test(column) ? Number(column) : Number.NaN;
  return Number.isFinite(value) ? value : Number.NaN;
}

/**
 * (a * b + c) / d, correctly rounded, or NaN where too near to the middle between two doubles to tell. All four are
 * integers that a double holds exactly, c and a * b / 2^53 less than 2^52 together.
 *
 * The quotient of doubles, corrected by its remainder, which products in two parts give exactly (Dekker 1971).
 */
function roundedQuotient(a: number, b: number, c: number, d: number): number {
  const dividend = a * b;
  const small = productError(a, b, dividend) + c;
  const quotient = dividend / d;
  const product = quotient * d;
  const correction = (dividend - product - productError(quotient, d, product) + small) / d;
  const low = quotient + correction * (1 - 2 ** -40);
  return low === quotient + correction * (1 + 2 ** -40) ? low : Number.NaN;
}

/** a * b - product, where product is a * b as rounded. */
function productError(a: number, b: number, product: number): number {
  const [aHigh, bHigh] = [highPart(a), highPart(b)];
  const [aLow, bLow] = [a - aHigh, b - bHigh];
  return aLow * bLow - (product - aHigh * bHigh - aLow * bHigh - aHigh * bLow);
}

/** The upper half of the bits of a double (Veltkamp). */
function highPart(a: number): number {
  const scaled = a * (2 ** 27 + 1);
  return scaled - (scaled - a);
}

/** The integer in `bytes[start, end)`, at most 15 characters with an optional sign; NaN for anything else. */
export function parseGrade(bytes: Uint8Array, start: number, end: number): number {
  const sign = bytes[start];
  let i = sign === MINUS || sign === PLUS ? start + 1 : start;
  if (i >= end || end - start > 15) return Number.NaN;
  let grade = 0;
  for (; i < end; i++) {
    const digit = (bytes[i] ?? 0) - ZERO;
    if (!(digit >= 0 && digit <= 9)) return Number.NaN;
    grade = grade * 10 + digit;
  }
  return sign === MINUS && grade !== 0 ? -grade : grade;
}
