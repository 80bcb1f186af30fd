import { quoted } from '../../core/text/source-line.ts';
import { readGrade } from '../../math/ir/trec-line.ts';

const DECIMAL = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i;

const MISSING = /^(?:nan|none|null|nil|undefined|<na>|#?n\/?a|-|\?)?$/i;

/** True if the text is a spelling of a missing value, such as `nan` from pandas or `None` from Python. */
export function isMissing(text: string): boolean {
  return MISSING.test(text.trim());
}

/** Parses a decimal number; null for anything else, including hexadecimal numbers and infinity. */
export function decimalOf(text: string): number | null {
  const value = DECIMAL.test(text) ? Number(text) : Number.NaN;
  return Number.isFinite(value) ? value : null;
}

/**
 * Describes what is wrong with a grade that `readGrade` cannot read, and how to fix it; completes `Line 3 of FILE ...`.
 */
export function gradeTextProblem(text: string): string {
  const shown = `has the grade ${quoted(text)}, which is `;
  if (/^[+-]?\d+$/.test(text)) return `${shown}too large; use 0, 1, 2, ...`;
  if (decimalOf(text) !== null) {
    return `${shown}not a whole number; round it, or set --relevance-threshold, the minimum grade of a relevant document`;
  }
  const isOfComma = decimalOf(text.replace(',', '.')) !== null;
  const fix = isOfComma
    ? 'write a decimal point instead of the comma'
    : isMissing(text)
      ? 'remove unjudged documents'
      : 'use 0, 1, 2, ... or true and false';
  return `${shown}not a whole number; ${fix}`;
}

const NUMBER = /^[+-]?(?:\d+(?:[.,]\d*)?|[.,]\d+)(?:e[+-]?\d+)?\s?%?$/i;

/** Words and marks that mean true or false, including those that spreadsheets write in other languages. */
const TRUTH =
  /^(?:true|false|yes|no|correct|incorrect|wahr|falsch|ja|nein|vrai|faux|oui|non|verdadero|falso|sí|si|vero|waar|onwaar|[✓✔✗✘☑☒])$/iu;

const RELEVANCE = /^[\p{L}\s_-]*(?:relevan|related|pertinent)[\p{L}\s_-]*$/iu;

/** Letter pairs used as truth values. */
const TRUTH_LETTERS = [/^[yn]$/i, /^[tf]$/i, /^[jn]$/i];

/** Maximum value that counts as a grade; grade scales rarely exceed 100. */
const MAX_GRADE_LIKE = 100;

/**
 * True if a column may contain grades: apart from missing values, the column contains only small whole numbers,
 * fractions, percentages, truth values or words for relevance.
 */
export function mayHoldGrades(values: readonly string[]): boolean {
  const present = values.map((value) => value.trim()).filter((value) => !isMissing(value));
  if (present.length === 0) return false;
  if (present.every((value) => NUMBER.test(value))) {
    const whole = present.map(readGrade);
    return whole.some((grade, i) => grade === null || !/^[+-]?\d+$/.test(present[i] ?? '')) || whole.every(isSmall);
  }
  // A column of `x` and empty cells may mark the relevant rows, but a column of `x` alone distinguishes no rows.
  if (present.length < values.length && present.every((value) => /^x$/i.test(value))) return true;
  if (TRUTH_LETTERS.some((letters) => present.every((value) => letters.test(value)))) return true;
  return present.every((value) => TRUTH.test(value) || RELEVANCE.test(value) || isSmall(readGrade(value)));
}

const isSmall = (grade: number | null): boolean => grade !== null && grade >= -1 && grade <= MAX_GRADE_LIKE;
