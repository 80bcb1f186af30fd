/** Detectors of personal data and secrets, and redaction of the entities that a service detected. */
export interface CustomPattern {
  /**
   * Name, in lower-case letters, digits and underscores. Matches of `employee_id` are replaced with `[EMPLOYEE_ID]`.
   */
  readonly name: string;
  /** JavaScript regular expression, matched with the flags g and u against the folded text (`foldText`). */
  readonly regex: string;
}

const MAX_SOURCE = 500;
/**
 * Flags of configured patterns: d reports the positions of groups, g finds all matches, and u matches whole code
 * points.
 */
const FLAGS = 'dgu';

/**
 * Creates the detector for a configured pattern, which must be valid (see `patternProblem`). If the pattern has a group
 * named `value`, only that group is redacted.
 *
 * `patternProblem` rejects unbounded repetitions inside another repetition, such as `(a+)+`, because a hostile text
 * could make such a pattern run for years. Other slow forms, such as `\d*\d*\d*x` and `(a|a)*`, are not detected. To
 * avoid slow forms, bound each repetition (`\d{4,12}`), and make each alternative start with a different character.
 */
export function customDetector({ name, regex }: CustomPattern): Detector {
  const rules = [{ pattern: new RegExp(regex, FLAGS) }];
  return { kind: name, find: (text) => findByRules(text, rules) };
}

/**
 * Describes what is wrong with a pattern, in words that continue a sentence after `The redaction pattern "x"`; null if
 * the pattern is valid.
 */
export function patternProblem({ name, regex }: CustomPattern, taken: ReadonlySet<string>): string | null {
  return nameProblem(name, taken) ?? sourceProblem(regex);
}

function nameProblem(name: string, taken: ReadonlySet<string>): string | null {
  if (!/^[a-z][a-z0-9_]{0,31}$/.test(name)) {
    return 'needs a name of 1 to 32 lower-case letters, digits and underscores that starts with a letter';
  }
  return taken.has(name) ? 'has a name that is already in use; choose another' : null;
}

function sourceProblem(source: string): string | null {
  if (source.length > MAX_SOURCE) {
    return `has ${source.length} characters; use at most ${MAX_SOURCE}, or split it into several patterns`;
  }
  try {
    if (new RegExp(source, FLAGS).test('')) {
      return 'matches the empty text; require at least one character';
    }
  } catch (error) {
    return `cannot be read (${error instanceof Error ? error.message : String(error)}); correct the regular expression`;
  }
  if (!hasNestedRepetition(source)) return null;
  return 'has an unbounded repetition inside a repetition, which can take forever; limit the inner repetition, for example with {1,20}';
}

/** True if a repeated group contains an unbounded repetition. The source must be a valid expression. */
function hasNestedRepetition(source: string): boolean {
  /** For each open group: true if the part read so far contains an unbounded repetition. */
  const open = [false];
  let rest = source;
  while (rest !== '') {
    const atom = /^(?:\\.|\[(?:\\.|[^\]\\])*\]|[^])/u.exec(rest)?.[0] ?? rest;
    rest = rest.slice(atom.length);
    if (atom === '(') {
      open.push(false);
      continue;
    }
    const holdsUnbounded = atom === ')' && open.pop() === true;
    const quantifier = /^(?:[*+]|\{(?<min>\d+)(?<comma>,?)(?<max>\d*)\})/.exec(rest);
    const times = quantifier === null ? 1 : maxTimes(quantifier.groups ?? {});
    if (holdsUnbounded && times > 1) return true;
    if (holdsUnbounded || times === Number.POSITIVE_INFINITY) open[open.length - 1] = true;
    rest = rest.slice(quantifier?.[0].length ?? 0);
  }
  return false;
}

function maxTimes({ min, comma, max }: Readonly<Record<string, string | undefined>>): number {
  if (min === undefined) return Number.POSITIVE_INFINITY;
  if (comma === '') return Number(min);
  return max === '' ? Number.POSITIVE_INFINITY : Number(max);
}

/** Half-open range of code units. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

export interface Detector {
  /** Lower-case name for counts. The placeholder is the name in upper case: `[EMAIL]` for `email`. */
  readonly kind: string;
  /** Returns ascending, disjoint spans of a folded text, in linear time. */
  readonly find: (text: string) => Span[];
}

export interface Rule {
  /**
   * A regular expression with the flags `g` and `u`. If the pattern has a group named `value` (and flag `d`), only that
   * group is a match. The pattern must run in linear time: each quantifier must be bounded, or must repeat a single
   * character class in such a way that no match can start inside the repeated characters.
   */
  readonly pattern: RegExp;
  /** Literal part of every match; texts without it are skipped. */
  readonly needs?: string;
  /** Filters matches; default: accept all. */
  readonly accepts?: (value: string) => boolean;
  /**
   * True if the search continues after the first character of a rejected match. Allowed only for patterns whose matches
   * have a bounded length.
   */
  readonly retries?: boolean;
}

/** True if a text has at least `min` digits. Most texts have fewer digits and can be skipped quickly. */
export function hasDigits(text: string, min: number): boolean {
  let digits = 0;
  for (let index = 0; index < text.length && digits < min; index++) {
    const code = text.charCodeAt(index);
    if (code >= 0x30 && code <= 0x39) digits++;
  }
  return digits >= min;
}

/** Returns the spans of all rules; overlapping spans are merged. */
export function findByRules(text: string, rules: readonly Rule[]): Span[] {
  const possible = rules.filter(({ needs }) => needs === undefined || text.includes(needs));
  const spans = possible.flatMap((rule) => findByRule(text, rule));
  return mergeOverlapping(spans, (first) => first);
}

/**
 * Returns ascending, disjoint spans. Overlapping spans are merged into one span, whose other properties come from the
 * span that `choose` returns.
 */
function mergeOverlapping<Item extends Span>(
  spans: readonly Item[],
  choose: (first: Item, next: Item) => Item,
): Item[] {
  const merged: Item[] = [];
  for (const span of spans.toSorted((a, b) => a.start - b.start)) {
    const last = merged.at(-1);
    if (last === undefined || span.start >= last.end) merged.push(span);
    else merged[merged.length - 1] = { ...choose(last, span), start: last.start, end: Math.max(last.end, span.end) };
  }
  return merged;
}

function findByRule(text: string, { pattern, accepts, retries }: Rule): Span[] {
  const spans: Span[] = [];
  pattern.lastIndex = 0;
  for (let match = pattern.exec(text); match !== null; match = pattern.exec(text)) {
    // Reads the indices only when needed, because computing them costs as much as matching.
    const value = match.groups?.['value'] === undefined ? undefined : match.indices?.groups?.['value'];
    const [start, end] = value ?? [match.index, match.index + match[0].length];
    const isMeant = end > start && (accepts === undefined || accepts(text.slice(start, end)));
    if (isMeant) spans.push({ start, end });
    if (match[0] === '' || (!isMeant && retries === true)) pattern.lastIndex = nextCharacter(text, match.index);
  }
  return spans;
}

/** Skips surrogate pairs, because a Unicode pattern that starts inside a pair would step back and loop forever. */
function nextCharacter(text: string, index: number): number {
  return index + ((text.codePointAt(index) ?? 0) > 0xffff ? 2 : 1);
}

/** An entity in Presidio's response. Offsets count code points from 0; `end` is exclusive. */
export interface FoundEntity {
  /** Entity type, such as PERSON. */
  readonly entityType: string;
  readonly start: number;
  readonly end: number;
  readonly score: number;
}

/** An entity with offsets in UTF-16 code units instead of code points. */
type Region = FoundEntity;

const typeName = /^[A-Za-z][A-Za-z0-9_]{0,63}$/;
const placeholder = /\[[A-Z][A-Z0-9_]*\]/g;

/**
 * Replaces each entity with its type, such as `[PERSON]`. Overlapping entities are merged and get the type with the
 * highest score. An entity that overlaps the placeholder of an earlier redaction is extended to cover the whole
 * placeholder.
 *
 * @returns null if an entity does not fit the text (invalid offsets or type), because then no entity can be trusted
 */
export function redactFound(text: string, found: readonly FoundEntity[]): string | null {
  if (found.length === 0) return text;
  const offsets = codeUnitOffsets(text);
  const last = offsets.length - 1;
  const regions: Region[] = [];
  for (const { entityType, start, end, score } of found) {
    const fits = Number.isInteger(start) && Number.isInteger(end) && start >= 0 && start < end && end <= last;
    if (!fits || !typeName.test(entityType) || Number.isNaN(score)) return null;
    regions.push({ start: offsets[start] ?? 0, end: offsets[end] ?? 0, entityType, score });
  }
  return replaceSpans(
    text,
    mergeRegions(text, regions).map(({ entityType: kind, ...span }) => ({ ...span, kind })),
  );
}

/** Replaces ascending, disjoint spans with the placeholders of their kinds. */
export function replaceSpans(text: string, spans: readonly (Span & { readonly kind: string })[]): string {
  const parts: string[] = [];
  let position = 0;
  for (const { start, end, kind } of spans) {
    parts.push(text.slice(position, start), placeholderOf(kind));
    position = end;
  }
  return parts.join('') + text.slice(position);
}

export function placeholderOf(kind: string): string {
  return `[${kind.toUpperCase()}]`;
}

/** Returns the code unit offset of each code point, and the end of the text. */
function codeUnitOffsets(text: string): number[] {
  const offsets: number[] = [];
  let position = 0;
  for (const character of text) {
    offsets.push(position);
    position += character.length;
  }
  offsets.push(position);
  return offsets;
}

/** Returns ascending, disjoint regions, none of which ends inside a placeholder. */
function mergeRegions(text: string, regions: readonly Region[]): Region[] {
  const fixed = Array.from(text.matchAll(placeholder), ({ index, 0: match }) => ({
    start: index,
    end: index + match.length,
    entityType: '',
    score: Number.NEGATIVE_INFINITY,
  }));
  const merged = mergeOverlapping([...regions, ...fixed], (first, next) => (next.score > first.score ? next : first));
  return merged.filter(({ entityType }) => entityType !== '');
}
