/** Grades as files write them: what is no grade and why, and which columns may hold some under another name. */

import { quoted } from '../../core/text/source-line.ts';
import { readGrade } from '../../math/ir/trec-line.ts';

const DECIMAL = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i;

/** How programs write that there is no value. */
const MISSING = /^(?:nan|none|null|nil|undefined|<na>|#?n\/?a|-|\?)?$/i;

/** Whether a text stands for a value that is not there, as `nan` of pandas and `None` of Python do. */
export function isMissing(text: string): boolean {
  return MISSING.test(text.trim());
}

/** A decimal number; null for anything else, which a number in hexadecimal and an infinity are too. */
export function decimalOf(text: string): number | null {
  const value = DECIMAL.test(text) ? Number(text) : Number.NaN;
  return Number.isFinite(value) ? value : null;
}

/** What is wrong with the text of a grade that `readGrade` does not read, with the fix; completes `Line 3 of FILE ...`. */
export function gradeTextProblem(text: string): string {
  const shown = `has the grade ${quoted(text)}, which is `;
  if (/^[+-]?\d+$/.test(text)) return `${shown}too large; use 0, 1, 2, ...`;
  if (decimalOf(text) !== null) {
    return `${shown}not a whole number; round it, or import it with --relevance-threshold, from which on a document is relevant`;
  }
  const isOfComma = decimalOf(text.replace(',', '.')) !== null;
  const fix = isOfComma
    ? 'write a point and no comma'
    : isMissing(text)
      ? 'leave unjudged documents out'
      : 'use 0, 1, 2, ... or true and false';
  return `${shown}not a whole number; ${fix}`;
}

const NUMBER = /^[+-]?(?:\d+(?:[.,]\d*)?|[.,]\d+)(?:e[+-]?\d+)?\s?%?$/i;

/** Truth values and marks, also those that a spreadsheet writes in other languages. */
const TRUTH =
  /^(?:true|false|yes|no|correct|incorrect|wahr|falsch|ja|nein|vrai|faux|oui|non|verdadero|falso|sí|si|vero|waar|onwaar|[✓✔✗✘☑☒])$/iu;

const RELEVANCE = /^[\p{L}\s_-]*(?:relevan|related|pertinent)[\p{L}\s_-]*$/iu;

/** Letters for truth values. */
const TRUTH_LETTERS = [/^[yn]$/i, /^[tf]$/i, /^[jn]$/i];

/** Larger scales than up to 100 are not in use. */
const MAX_GRADE_LIKE = 100;

/**
 * Whether a column of an unknown name may hold grades: small whole numbers, fractions, shares, truth values, or words for
 * relevance. Values that are missing do not count.
 */
export function mayHoldGrades(values: readonly string[]): boolean {
  const present = values.map((value) => value.trim()).filter((value) => !isMissing(value));
  if (present.length === 0) return false;
  if (present.every((value) => NUMBER.test(value))) {
    const whole = present.map(readGrade);
    return whole.some((grade, i) => grade === null || !/^[+-]?\d+$/.test(present[i] ?? '')) || whole.every(isSmall);
  }
  // A mark says nothing unless it is missing in other rows.
  if (present.length < values.length && present.every((value) => /^x$/i.test(value))) return true;
  if (TRUTH_LETTERS.some((letters) => present.every((value) => letters.test(value)))) return true;
  return present.every((value) => TRUTH.test(value) || RELEVANCE.test(value) || isSmall(readGrade(value)));
}

const isSmall = (grade: number | null): boolean => grade !== null && grade >= -1 && grade <= MAX_GRADE_LIKE;
