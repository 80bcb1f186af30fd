/**
 * Parses untrusted JSON with bounded cost. JSON.parse uses about 300 bytes per nesting level, so four megabytes of `[`
 * take more than a gigabyte and block the thread for seconds.
 */

export type JsonValue = string | number | boolean | null | JsonValue[] | { [key: string]: JsonValue };

/** The members of a JSON object. */
export type Fields = Readonly<Record<string, unknown>>;

/** Returns null for a value that is not a JSON object. */
export function fieldsOf(value: unknown): Fields | null {
  return isMapping(value) ? value : null;
}

export function isMapping(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Formats a path as `results[3].score`; returns an empty string for an empty path. */
export function pathText(path: readonly PropertyKey[]): string {
  return path.reduce<string>((text, part) => {
    if (typeof part === 'number') return `${text}[${part}]`;
    return `${text}${text === '' ? '' : '.'}${String(part)}`;
  }, '');
}

/** Returns the value at a path; undefined if the path leads through a value that is neither an object nor a list. */
export function valueAt(value: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>(
    (inner, part) => (typeof inner === 'object' && inner !== null ? Reflect.get(inner, part) : undefined),
    value,
  );
}

/**
 * Parses JSON like JSON.parse, but returns a string of digits for an integer that a double cannot represent exactly
 * (beyond 2^53 - 1, as in 64-bit ids). JSON.parse would round the integer, and a rounded id matches the wrong judgment
 * or none.
 *
 * @throws SyntaxError if the text is not JSON; JsonBeyondLimit like parseBoundedJson
 */
export function parseExactJson(text: string, limits: JsonLimits = jsonLimits): JsonValue {
  assertWithin(text, limits);
  if (!longInteger.test(text)) return JSON.parse(text) as JsonValue;
  JSON.parse(text);
  return JSON.parse(quoteLongIntegers(text)) as JsonValue;
}

/**
 * Matches an integer only where a JSON value can begin. Ignores integers in quotes, because OpenTelemetry timestamps
 * are quoted.
 */
const longInteger = /(?:^|[[:,])\s*-?\d{16}/;

/** Quotes each unsafe integer in valid JSON. Skips strings. */
function quoteLongIntegers(json: string): string {
  const token = /"|-?\d[\d.eE+-]*/g;
  let quoted = '';
  let copied = 0;
  for (let match = token.exec(json); match !== null; match = token.exec(json)) {
    const [number] = match;
    if (number === '"') {
      token.lastIndex = endOfString(json, match.index);
    } else if (/^-?\d+$/.test(number) && !Number.isSafeInteger(Number(number))) {
      quoted += `${json.slice(copied, match.index)}"${number}"`;
      copied = token.lastIndex;
    }
  }
  return quoted + json.slice(copied);
}

/** Prefix that marks the digits of a long integer until their quotes are removed. No text in recalld contains it. */
const LONG_INTEGER = '\u{f8ff}long:';

/**
 * Like JSON.stringify, but also accepts bigint values and writes them as digits. A bigint may be a 64-bit id, which
 * parseExactJson returns as a string.
 */
export function formatExactJson(value: unknown): string {
  let hasLong = false;
  const text = JSON.stringify(value, (_key, inner: unknown) => {
    if (typeof inner !== 'bigint') return inner;
    hasLong = true;
    return `${LONG_INTEGER}${inner}`;
  });
  return hasLong ? text.replaceAll(new RegExp(`"${LONG_INTEGER}(-?\\d+)"`, 'g'), '$1') : text;
}

interface JsonLimits {
  readonly depth: number;
  /** Maximum number of arrays and objects in the text. Even an empty array or object uses memory. */
  readonly containers: number;
}

/**
 * Default limits. The largest valid input stays below them: no format that recalld or a supported service uses has more
 * than ten levels, and a full batch contains a million results, each one an object.
 */
export const jsonLimits: JsonLimits = { depth: 100, containers: 2_000_000 };

/** The JSON exceeds the limits and was not parsed; it may or may not be valid. */
export class JsonBeyondLimit extends Error {
  readonly code: 'too_deep' | 'too_large';
  /** Completes a sentence after a subject such as "the response". */
  readonly problem: string;

  constructor(code: 'too_deep' | 'too_large', limits: JsonLimits) {
    const problem =
      code === 'too_deep'
        ? `nests arrays and objects more than ${limits.depth} levels deep`
        : `contains more than ${limits.containers} arrays and objects`;
    super(`The JSON ${problem}.`);
    this.code = code;
    this.problem = problem;
  }
}

/** Parses JSON within limits. @throws SyntaxError like JSON.parse; JsonBeyondLimit before anything is parsed */
export function parseBoundedJson(text: string, limits: JsonLimits = jsonLimits): unknown {
  assertWithin(text, limits);
  return JSON.parse(text);
}

/**
 * Counts arrays and objects up to the first position at which the text is not valid JSON; JSON.parse stops there too.
 */
function assertWithin(text: string, limits: JsonLimits): void {
  if (hasFewMarks(text, Math.min(limits.depth, limits.containers))) return;
  // On long vectors, a regular expression is several times as fast as a loop.
  const mark = /["[\]{}]/g;
  let depth = 0;
  let containers = 0;
  while (mark.test(text)) {
    const character = text[mark.lastIndex - 1];
    if (character === '"') mark.lastIndex = endOfString(text, mark.lastIndex - 1);
    else if (character === ']' || character === '}') depth -= 1;
    else {
      depth += 1;
      containers += 1;
      if (depth > limits.depth) throw new JsonBeyondLimit('too_deep', limits);
      if (containers > limits.containers) throw new JsonBeyondLimit('too_large', limits);
    }
  }
}

/** Returns true if a text has so few opening brackets that it needs no exact count. Most texts do. */
function hasFewMarks(text: string, most: number): boolean {
  let marks = 0;
  for (const mark of ['{', '[']) {
    for (let at = text.indexOf(mark); at !== -1; at = text.indexOf(mark, at + 1)) {
      marks += 1;
      if (marks > most) return false;
    }
  }
  return true;
}

/**
 * Returns the one-based number of the line on which each array or object in valid JSON opens, in the order of the text.
 */
export function containerLines(json: string): number[] {
  const mark = /["[{\n]/g;
  const lines: number[] = [];
  let line = 1;
  while (mark.test(json)) {
    const character = json[mark.lastIndex - 1];
    if (character === '"') mark.lastIndex = endOfString(json, mark.lastIndex - 1);
    else if (character === '\n') line += 1;
    else lines.push(line);
  }
  return lines;
}

/**
 * Returns the first duplicate key of an object in valid JSON, and the one-based line number of its second occurrence;
 * null if there is none. JSON.parse would silently discard all but the last value.
 */
export function repeatedName(json: string): { readonly name: string; readonly line: number } | null {
  const mark = /["[\]{}]/g;
  const names: (Set<string> | null)[] = [];
  while (mark.test(json)) {
    const at = mark.lastIndex - 1;
    const character = json[at];
    if (character === '{') names.push(new Set());
    else if (character === '[') names.push(null);
    else if (character !== '"') names.pop();
    else {
      const end = endOfString(json, at);
      mark.lastIndex = end;
      const own = names.at(-1);
      if (own === null || own === undefined || !isName(json, end)) continue;
      const name = JSON.parse(json.slice(at, end)) as string;
      if (own.has(name)) return { name, line: json.slice(0, at).split('\n').length };
      own.add(name);
    }
  }
  return null;
}

/** Returns true if the string that ends at this position is a key. */
function isName(json: string, end: number): boolean {
  let at = end;
  while (/\s/.test(json[at] ?? '')) at += 1;
  return json[at] === ':';
}

/** Returns true if the text begins like JSON, but ends inside an object, an array or a string. */
export function endsEarly(text: string): boolean {
  if (!/^\s*[[{]/.test(text)) return false;
  const mark = /["[\]{}]/g;
  let depth = 0;
  while (mark.test(text)) {
    const at = mark.lastIndex - 1;
    if (text[at] === '"') mark.lastIndex = endOfString(text, at);
    else depth += text[at] === ']' || text[at] === '}' ? -1 : 1;
  }
  return depth > 0;
}

/**
 * Returns the index after the quote that closes the string at `start`; the length of the text if no quote closes it.
 */
function endOfString(json: string, start: number): number {
  let quote = json.indexOf('"', start + 1);
  while (quote !== -1) {
    let before = quote - 1;
    while (json[before] === '\\') before -= 1;
    // A backslash can also be escaped by a backslash.
    if ((quote - before) % 2 === 1) return quote + 1;
    quote = json.indexOf('"', quote + 1);
  }
  return json.length;
}
