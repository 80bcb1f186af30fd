/** Lines of an input file that know where they came from, so that every complaint can name its place. */
import { RecalldError } from '../errors.ts';
import { parseExactJson, repeatedName } from './json.ts';
import { findJsonFault } from './loose-json.ts';

export interface SourcePlace {
  readonly file: string;
  /** Counted from 1. */
  readonly line: number;
}

export interface SourceLine extends SourcePlace {
  /** Without its line end. */
  readonly text: string;
}

/** The error for a line that breaks its format; `problem` completes `Line 3 of FILE ...` and names the way out. */
export function malformed(place: SourcePlace, problem: string): RecalldError {
  return new RecalldError('file_malformed', `${capitalised(at(place))} ${problem}.`);
}

/** The place in words, for a message: `line 3 of FILE`. */
export function at(place: SourcePlace): string {
  return `line ${place.line} of ${place.file}`;
}

/** The value in double quotes, escaped and cut to 80 characters, fit for one line of a message. */
export function quoted(value: string): string {
  return JSON.stringify(value.length > 80 ? `${value.slice(0, 79)}…` : value);
}

/**
 * The JSON value of a line; an integer that a double cannot hold exactly becomes text of its digits. A key `__proto__` is
 * refused, and one that is there twice: objects lose them on the way, and an id must not get lost.
 * @throws RecalldError `file_malformed` when it is not JSON.
 */
export function parseJson(line: SourceLine): unknown {
  if (/"__proto__"\s*:/.test(line.text)) throw malformed(line, 'has the key "__proto__"; rename it');
  let value: unknown;
  try {
    value = parseExactJson(line.text);
  } catch {
    throw malformed(line, notJson(line.text));
  }
  const repeated = repeatedName(line.text);
  if (repeated !== null) throw malformed(line, `has the key ${quoted(repeated.name)} twice in one object; keep one`);
  return value;
}

/** Where a line stops being JSON, if that says more than that it is none. */
function notJson(text: string): string {
  const fix = 'write one complete JSON object on each line';
  const fault = findJsonFault(text);
  if (!/^\s*[{[]/.test(text) || fault === null || fault.problem.startsWith('an end')) return `is not JSON; ${fix}`;
  const place = fault.path === '' ? '' : ` (${fault.path})`;
  return `is not JSON: at column ${fault.column}${place} it has ${fault.problem}; ${fix}`;
}

function capitalised(words: string): string {
  return `${words.charAt(0).toUpperCase()}${words.slice(1)}`;
}
