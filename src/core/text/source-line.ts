/** The lines of an input file, each with its position for error messages. */
import { RecalldError } from '../errors.ts';
import { capitalized } from '../format.ts';
import { parseExactJson, repeatedName } from './json.ts';
import { findJsonFault } from './loose-json.ts';

export interface SourcePlace {
  readonly file: string;
  /** Line number, starting at 1. */
  readonly line: number;
}

export interface SourceLine extends SourcePlace {
  readonly text: string;
}

/** Returns the error for a malformed line; `problem` completes `Line 3 of FILE ...` and states how to fix it. */
export function malformed(place: SourcePlace, problem: string): RecalldError {
  return new RecalldError('file_malformed', `${capitalized(at(place))} ${problem}.`);
}

/** Returns the position for a message: `line 3 of FILE`. */
export function at(place: SourcePlace): string {
  return `line ${place.line} of ${place.file}`;
}

/**
 * Returns the value in double quotes, escaped and truncated to 80 characters, so that it fits on one line of a message.
 */
export function quoted(value: string): string {
  return JSON.stringify(value.length > 80 ? `${value.slice(0, 79)}…` : value);
}

/**
 * Parses the JSON value on a line. If a double cannot represent an integer exactly, converts the integer to a string of
 * digits. Rejects duplicate keys and a key named `__proto__`, because a JavaScript object would silently drop their
 * values, which may be ids.
 * @throws RecalldError `file_malformed` if the line is not JSON
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
  if (repeated !== null) throw malformed(line, `has the key ${quoted(repeated.name)} twice in one object; remove one`);
  return value;
}

function notJson(text: string): string {
  const fix = 'write one complete JSON object on each line';
  const fault = findJsonFault(text);
  if (!/^\s*[{[]/.test(text) || fault === null || fault.problem.startsWith('an unexpected end of input'))
    return `is not JSON; ${fix}`;
  const place = fault.path === '' ? '' : ` (${fault.path})`;
  return `is not JSON: at column ${fault.column}${place} it has ${fault.problem}; ${fix}`;
}
