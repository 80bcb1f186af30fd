/** What finds personal data and secrets in a text. */

/** Half-open range of code units. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

export interface Detector {
  /** Lower-case name under which finds are counted; its upper case is the placeholder, `email` giving `[EMAIL]`. */
  readonly kind: string;
  /** Spans in ascending order that do not overlap, in time linear in the length of a folded text. */
  readonly find: (text: string) => Span[];
}

export interface Rule {
  /**
   * With the flags `g` and `u`. A group named `value` narrows the find to it, with the flag `d`. It must not take more
   * than linear time: quantifiers are bounded, or they repeat one class and cannot be entered again within what they matched.
   */
  readonly pattern: RegExp;
  /** Part of every match, as it is written: a text without it is not searched. */
  readonly needs?: string;
  /** Whether a match is meant; left out, each is. */
  readonly accepts?: (value: string) => boolean;
  /**
   * Looks again inside a match that was not accepted, from its second character. Only for patterns whose matches are
   * bounded in length.
   */
  readonly retries?: boolean;
}

/** Whether a text has at least `fewest` digits: most texts have not, and need no search for numbers. */
export function hasDigits(text: string, fewest: number): boolean {
  let digits = 0;
  for (let index = 0; index < text.length && digits < fewest; index++) {
    const code = text.charCodeAt(index);
    if (code >= 0x30 && code <= 0x39) digits++;
  }
  return digits >= fewest;
}

/** The spans of all rules; those that overlap become one. */
export function findByRules(text: string, rules: readonly Rule[]): Span[] {
  const possible = rules.filter(({ needs }) => needs === undefined || text.includes(needs));
  const spans = possible.flatMap((rule) => findByRule(text, rule)).toSorted((a, b) => a.start - b.start);
  const merged: Span[] = [];
  for (const span of spans) {
    const last = merged.at(-1);
    if (last === undefined || span.start >= last.end) merged.push(span);
    else merged[merged.length - 1] = { start: last.start, end: Math.max(last.end, span.end) };
  }
  return merged;
}

function findByRule(text: string, { pattern, accepts, retries }: Rule): Span[] {
  const spans: Span[] = [];
  pattern.lastIndex = 0;
  for (let match = pattern.exec(text); match !== null; match = pattern.exec(text)) {
    // Reading the indices of a match costs as much as matching.
    const value = match.groups?.['value'] === undefined ? undefined : match.indices?.groups?.['value'];
    const [start, end] = value ?? [match.index, match.index + match[0].length];
    const isMeant = end > start && (accepts === undefined || accepts(text.slice(start, end)));
    if (isMeant) spans.push({ start, end });
    if (match[0] === '' || (!isMeant && retries === true))
      pattern.lastIndex = nextCharacter(text, match.index);
  }
  return spans;
}

/** A pattern in Unicode mode set between the halves of a pair would step back and match there forever. */
function nextCharacter(text: string, index: number): number {
  return index + ((text.codePointAt(index) ?? 0) > 0xffff ? 2 : 1);
}
