/** Patterns of the config, for what only its owner knows to be personal. */
import { RecalldError } from '../../errors.ts';
import { type Detector, findByRules } from './detector.ts';

export interface CustomPattern {
  /** Lower-case letters, digits and underscores; `employee_id` is replaced by `[EMPLOYEE_ID]`. */
  readonly name: string;
  /** A regular expression of JavaScript, matched with the flags g and u against the folded text (`foldText`). */
  readonly source: string;
}

const MOST_SOURCE = 500;
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
  const problem = nameProblem(name, taken) ?? sourceProblem(source);
  if (problem !== null) {
    throw new RecalldError('config_invalid', `The redaction pattern ${JSON.stringify(name)} ${problem}.`);
  }
  const rules = [{ pattern: new RegExp(source, FLAGS) }];
  return { kind: name, find: (text) => findByRules(text, rules) };
}

/** What is wrong, to complete `The redaction pattern "x" ...`, or null. */
function nameProblem(name: string, taken: ReadonlySet<string>): string | null {
  if (!/^[a-z][a-z0-9_]{0,31}$/.test(name)) {
    return 'needs a name of 1 to 32 lower-case letters, digits and underscores that begins with a letter';
  }
  return taken.has(name) ? 'has a name that is taken; choose another' : null;
}

function sourceProblem(source: string): string | null {
  if (source.length > MOST_SOURCE) {
    return `has ${source.length} characters; use at most ${MOST_SOURCE}, or split it into several patterns`;
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
