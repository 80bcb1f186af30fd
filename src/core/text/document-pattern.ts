/**
 * Patterns for document ids and field values. Patterns in isolation rules state which documents a query may return;
 * patterns in golden queries state which documents a query must not return.
 *
 * - `{{tenant}}` is replaced by the literal value of the query's segment `tenant`: a `*` or a separator in the value
 * has no special meaning and never widens the pattern.
 * - A `*` at the end matches any suffix. Anywhere else, `*` is an ordinary character.
 * - All other text is compared exactly, case-sensitively and without normalization. Two well-formed strings are equal
 *   if and only if their UTF-8 bytes are equal, so a composed `é` does not equal a decomposed `é`.
 * - If the query lacks a segment of the pattern, or the segment's value is empty, the pattern matches nothing.
 */
export interface DocumentPattern {
  /** The literal text before, between and after the segments; there is one more literal than there are segments. */
  readonly literals: readonly string[];
  /** Segment keys in order of occurrence. */
  readonly segments: readonly string[];
  readonly isPrefix: boolean;
}

export interface FilledPattern {
  readonly text: string;
  readonly isPrefix: boolean;
}

const placeholder = /\{\{\s*([^{}]*?)\s*\}\}/;

export function parsePattern(pattern: string): DocumentPattern {
  const isPrefix = pattern.endsWith('*');
  // `split` returns literals and keys alternately, because the expression has a capturing group.
  const parts = (isPrefix ? pattern.slice(0, -1) : pattern).split(placeholder);
  return {
    literals: parts.filter((_, index) => index % 2 === 0),
    segments: parts.filter((_, index) => index % 2 === 1),
    isPrefix,
  };
}

/** Replaces the segments of a pattern with the values of a query; null if a value is missing or empty. */
export function fillPattern(
  { literals, segments, isPrefix }: DocumentPattern,
  values: Readonly<Record<string, string>>,
): FilledPattern | null {
  let text = literals[0] ?? '';
  for (let index = 0; index < segments.length; index++) {
    const value = segmentValue(values, segments[index] ?? '');
    if (value === null) return null;
    text += value + (literals[index + 1] ?? '');
  }
  return { text, isPrefix };
}

/** Returns the value of a segment; null if it is missing or empty. */
export function segmentValue(values: Readonly<Record<string, string>>, key: string): string | null {
  const value: unknown = values[key];
  // An inherited property, such as `constructor`, needs no separate check, because it is never a string.
  return typeof value === 'string' && value !== '' ? value : null;
}

export function matchesPattern({ text, isPrefix }: FilledPattern, value: string): boolean {
  return isPrefix ? value.startsWith(text) : value === text;
}

/**
 * Returns the reason why a pattern in an isolation rule does not separate the values of `segment`; null if the pattern
 * separates them.
 */
export function patternProblem(pattern: string, segment: string): string | null {
  const { literals, segments, isPrefix } = parsePattern(pattern);
  if (pattern === '' || /^\*+$/.test(pattern)) return 'allows every document; write a prefix before the *';
  const star = literals.findIndex((literal) => literal.includes('*'));
  if (star !== -1) return 'has a * before its end; a * is a wildcard only at the end';
  if (literals.some((literal) => literal.includes('{{') || literal.includes('}}')))
    return `has braces that do not name a segment; write {{${segment}}}`;
  const other = segments.find((key) => key !== segment);
  if (other !== undefined)
    return `names {{${other}}}, but the rule is about the segment ${segment}; write {{${segment}}}`;
  if (isPrefix && segments.length > 0 && literals.at(-1) === '')
    return `also allows documents of every ${segment} whose name starts with {{${segment}}}; put a separator before the *, such as {{${segment}}}/*`;
  return null;
}
