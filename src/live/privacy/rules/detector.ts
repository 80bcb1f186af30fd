/** What finds personal data and secrets in a text, and how what a service found is taken out of it. */
import { RecalldError } from '../../../core/errors.ts';

export interface CustomPattern {
  /** Lower-case letters, digits and underscores; `employee_id` is replaced by `[EMPLOYEE_ID]`. */
  readonly name: string;
  /** A regular expression of JavaScript, matched with the flags g and u against the folded text (`foldText`). */
  readonly source: string;
}

const MAX_SOURCE = 500;
/** Positions of groups, all matches, whole characters. */
const FLAGS = 'dgu';

/**
 * The detector of a pattern of the config. A group named `value` narrows a find to it.
 *
 * A repetition without bound inside another repetition, such as `(a+)+`, is refused, because a hostile text can make
 * it run for years. Other slow forms exist, `\d*\d*\d*x` and `(a|a)*` among them, and no cheap check finds them all:
 * give repetitions a bound (`\d{4,12}`), and let alternatives begin differently.
 *
 * @param taken names that are in use, the built-in kinds among them
 * @throws RecalldError `config_invalid` with the pattern's name for a name or a source that cannot be used
 */
export function customDetector({ name, source }: CustomPattern, taken: ReadonlySet<string>): Detector {
  const problem = patternProblem({ name, source }, taken);
  if (problem !== null) {
    throw new RecalldError('config_invalid', `The redaction pattern ${JSON.stringify(name)} ${problem}.`);
  }
  const rules = [{ pattern: new RegExp(source, FLAGS) }];
  return { kind: name, find: (text) => findByRules(text, rules) };
}

/** What is wrong with a pattern, to complete `The redaction pattern "x" ...`; null when it can be used. */
export function patternProblem({ name, source }: CustomPattern, taken: ReadonlySet<string>): string | null {
  return nameProblem(name, taken) ?? sourceProblem(source);
}

function nameProblem(name: string, taken: ReadonlySet<string>): string | null {
  if (!/^[a-z][a-z0-9_]{0,31}$/.test(name)) {
    return 'needs a name of 1 to 32 lower-case letters, digits and underscores that begins with a letter';
  }
  return taken.has(name) ? 'has a name that is taken; choose another' : null;
}

function sourceProblem(source: string): string | null {
  if (source.length > MAX_SOURCE) {
    return `has ${source.length} characters; use at most ${MAX_SOURCE}, or split it into several patterns`;
  }
  try {
    if (new RegExp(source, FLAGS).test('')) {
      return 'matches the empty text; let it need at least one character';
    }
  } catch (error) {
    return `cannot be read (${error instanceof Error ? error.message : String(error)}); correct the regular expression`;
  }
  if (!hasNestedRepetition(source)) return null;
  return 'repeats without bound inside a repetition, which can take forever; give the inner one a bound such as {1,20}';
}

/** Whether a group that may be repeated holds a repetition without bound. The source is a valid expression. */
function hasNestedRepetition(source: string): boolean {
  /** For each open group, whether it holds a repetition without bound so far. */
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
    const quantifier = /^(?:[*+]|\{(?<least>\d+)(?<comma>,?)(?<most>\d*)\})/.exec(rest);
    const times = quantifier === null ? 1 : mostTimes(quantifier.groups ?? {});
    if (holdsUnbounded && times > 1) return true;
    if (holdsUnbounded || times === Number.POSITIVE_INFINITY) open[open.length - 1] = true;
    rest = rest.slice(quantifier?.[0].length ?? 0);
  }
  return false;
}

function mostTimes({ least, comma, most }: Readonly<Record<string, string | undefined>>): number {
  if (least === undefined) return Number.POSITIVE_INFINITY;
  if (comma === '') return Number(least);
  return most === '' ? Number.POSITIVE_INFINITY : Number(most);
}

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
    if (match[0] === '' || (!isMeant && retries === true)) pattern.lastIndex = nextCharacter(text, match.index);
  }
  return spans;
}

/** A pattern in Unicode mode set between the halves of a pair would step back and match there forever. */
function nextCharacter(text: string, index: number): number {
  return index + ((text.codePointAt(index) ?? 0) > 0xffff ? 2 : 1);
}

/** A find, as Presidio tells it. Offsets count code points, as Python does, from 0; `end` is exclusive. */
export interface FoundEntity {
  /** Such as PERSON. */
  readonly entityType: string;
  readonly start: number;
  readonly end: number;
  readonly score: number;
}

/** A find whose offsets count code units. */
type Region = FoundEntity;

const typeName = /^[A-Za-z][A-Za-z0-9_]{0,63}$/;
const placeholder = /\[[A-Z][A-Z0-9_]*\]/g;

/**
 * The text with each find replaced by its type, `[PERSON]`. Finds that overlap become one, of the type of the highest
 * score; one that touches the placeholder of an earlier redaction takes the whole of it, so that no half of one stays.
 *
 * Null when a find does not fit the text: an offset that is no whole number, beyond the end or before the start, or a
 * type that is no name. A service that counts otherwise than we do has then found nothing that can be trusted.
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
  const parts: string[] = [];
  let position = 0;
  for (const { start, end, entityType } of mergeRegions(text, regions)) {
    parts.push(text.slice(position, start), `[${entityType.toUpperCase()}]`);
    position = end;
  }
  parts.push(text.slice(position));
  return parts.join('');
}

/** Where each code point begins in code units, and the end of the text. */
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

/** Regions that do not overlap, ascending, none of which ends within a placeholder. */
function mergeRegions(text: string, regions: readonly Region[]): Region[] {
  const fixed = Array.from(text.matchAll(placeholder), ({ index, 0: match }) => ({
    start: index,
    end: index + match.length,
    entityType: '',
    score: Number.NEGATIVE_INFINITY,
  }));
  const merged: Region[] = [];
  for (const region of [...regions, ...fixed].toSorted((a, b) => a.start - b.start)) {
    const before = merged.at(-1);
    if (before === undefined || region.start >= before.end) {
      merged.push(region);
      continue;
    }
    const strongest = region.score > before.score ? region : before;
    merged[merged.length - 1] = { ...strongest, start: before.start, end: Math.max(before.end, region.end) };
  }
  return merged.filter(({ entityType }) => entityType !== '');
}
