/** A text as detectors read it, and the way back to the text as it was written. */

/**
 * `text` is the original in plain writing: full-width and styled letters and digits, digits of other scripts, dashes
 * and spaces of every kind become ASCII; invisible characters are left out. Everything else is as it was. Only
 * matching uses it: what is not redacted keeps its own characters.
 */
export interface FoldedText {
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
