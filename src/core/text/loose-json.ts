/**
 * Reads text that is nearly JSON: `NaN` from `json.dumps`, and `repr` of Python values. Also finds the first fault in a
 * JSON text.
 */
import { JsonBeyondLimit, type JsonValue, jsonLimits, pathText } from './json.ts';

/**
 * Parses text that JSON.parse rejects, if its meaning is clear:
 *
 * - `NaN`, `Infinity`, `nan`, `inf`, `None` and `undefined` are null; `True` and `False` are booleans;
 * - strings may have single quotes and Python escapes; tuples and sets are lists; a trailing comma is
 *   allowed;
 * - a call with named arguments, such as `Document(id='a', metadata={})`, is an object; a call with one argument,
 *   such as `UUID('a')` or `np.float64(0.5)`, is that value; anything in angle brackets, such as `<object at 0x1>`, is
 *   null;
 * - an integer that a double cannot hold exactly becomes a string of its digits, as in `parseExactJson`.
 *
 * @throws SyntaxError for anything else; JsonBeyondLimit like `parseBoundedJson`
 */
export function parseLooseJson(text: string): JsonValue {
  return new Reader(text, false).whole();
}

/**
 * Returns the first position at which a text is not JSON; null if the text is valid JSON or exceeds the limits. The
 * result contains field names but no values from the text.
 */
export function findJsonFault(text: string) {
  const reader = new Reader(text, true);
  try {
    reader.whole();
    return null;
  } catch (error) {
    if (!(error instanceof SyntaxError)) return null;
    const before = text.slice(0, reader.at);
    const line = before.split('\n').length;
    return {
      line,
      column: reader.at - before.lastIndexOf('\n'),
      /** Path of the value, such as `results[0].score`; empty for the whole text. */
      path: reader.path(),
      /** Completes a sentence after "has": "NaN, which is not JSON". */
      problem: error.message,
    };
  }
}

/** Returns true if a text starts like JSON or Python output but ends prematurely. */
export function endsEarly(text: string): boolean {
  if (!/^\s*[[{(]/.test(text)) return false;
  const reader = new Reader(text, false);
  try {
    reader.whole();
    return false;
  } catch (error) {
    return error instanceof SyntaxError && reader.at >= text.trimEnd().length;
  }
}

const blank = /[\s\u00a0]*/y;
const number = /[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?/y;
const strictNumber = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;
const word = /-?[A-Za-z_][\w.]*/y;
const stringPrefix = /[bruBRU]{1,2}(?=['"])/y;
/** Matches the characters up to the closing quote or the next escape. */
const plainText = { '"': /[^"\\]*/y, "'": /[^'\\]*/y };

/** JSON allows characters below U+0020 only as escapes. */
const controlCharacter = /(?![\x7f-\x9f])\p{Cc}/u;

const jsonWords = new Map<string, JsonValue>([
  ['true', true],
  ['false', false],
  ['null', null],
]);

const looseWords = new Map<string, boolean | null>([
  ['True', true],
  ['False', false],
  ...['None', 'NaN', 'nan', 'Infinity', 'inf', '-Infinity', '-inf', '-NaN', '-nan', 'undefined'].map(
    (name) => [name, null] as const,
  ),
]);

const escapes: Readonly<Record<string, string>> = { n: '\n', r: '\r', t: '\t', b: '\b', f: '\f', v: '\v', a: '\x07' };

class Reader {
  at = 0;
  private readonly text: string;
  private readonly isStrict: boolean;
  /** Path of the current value, as names and list indices; an element is null until its name is read. */
  private readonly places: (string | number | null)[] = [];
  private containers = 0;

  constructor(text: string, isStrict: boolean) {
    this.text = text;
    this.isStrict = isStrict;
  }

  whole(): JsonValue {
    const value = this.value();
    if (this.next() !== '') throw new SyntaxError('more than one value');
    return value;
  }

  path(): string {
    return pathText(this.places.filter((place) => place !== null))
      .slice(0, 200)
      .replaceAll(/[\p{Cc}\p{Cs}]/gu, '?');
  }

  /** Returns the next character that is not white space; an empty string at the end. */
  private next(): string {
    blank.lastIndex = this.at;
    blank.test(this.text);
    this.at = blank.lastIndex;
    return this.text[this.at] ?? '';
  }

  private match(pattern: RegExp): string | null {
    pattern.lastIndex = this.at;
    return pattern.exec(this.text)?.[0] ?? null;
  }

  private value(): JsonValue {
    const character = this.next();
    if (character === '') throw new SyntaxError('an unexpected end of input before a value');
    if (character === '"' || character === "'") return this.string(character);
    if (character === '{') return this.map();
    if (character === '[') return this.list(']');
    if (!this.isStrict && character === '(') return this.tuple();
    if (!this.isStrict && character === '<') return this.inAngleBrackets();
    return this.number() ?? this.word();
  }

  private number(): JsonValue | undefined {
    const digits = this.match(number);
    if (digits === null) return undefined;
    if (this.isStrict && !strictNumber.test(digits))
      throw new SyntaxError('a number in a format that JSON does not allow');
    this.at += digits.length;
    const value = Number(digits);
    if (/^[+-]?\d+$/.test(digits) && !Number.isSafeInteger(value)) return digits.replace('+', '');
    return Number.isFinite(value) ? value : null;
  }

  private word(): JsonValue {
    const prefix = this.isStrict ? null : this.match(stringPrefix);
    if (prefix !== null) {
      this.at += prefix.length;
      return this.string(this.text[this.at] as '"' | "'");
    }
    const name = this.match(word);
    if (name === null) throw new SyntaxError('a character where a value is expected');
    const json = jsonWords.get(name);
    if (json !== undefined) {
      this.at += name.length;
      return json;
    }
    const loose = looseWords.get(name);
    if (this.isStrict) {
      throw new SyntaxError(
        loose === undefined ? 'a word where a value is expected' : `${name}, which is not JSON; send ${loose}`,
      );
    }
    this.at += name.length;
    if (loose !== undefined) return loose;
    if (this.next() === '(') return this.call();
    throw new SyntaxError('a word where a value is expected');
  }

  private string(quote: '"' | "'"): string {
    if (this.isStrict && quote === "'") throw new SyntaxError('single quotes instead of double quotes');
    this.at += 1;
    let value = '';
    for (;;) {
      const plain = this.match(plainText[quote]) ?? '';
      if (this.isStrict && controlCharacter.test(plain))
        throw new SyntaxError('a line feed or control character in a string');
      value += plain;
      this.at += plain.length;
      const character = this.text[this.at];
      if (character === undefined) throw new SyntaxError('an unexpected end of input inside a string');
      this.at += 1;
      if (character === quote) return value;
      value += this.escape();
    }
  }

  private escape(): string {
    const kind = this.text[this.at] ?? '';
    const digits = this.match(/u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|U000[0-9a-fA-F]{5}|U0010[0-9a-fA-F]{4}/y);
    if (digits !== null && (!this.isStrict || kind === 'u')) {
      this.at += digits.length;
      return String.fromCodePoint(Number.parseInt(digits.slice(1), 16));
    }
    if (this.isStrict && !/["\\/bfnrt]/.test(kind)) throw new SyntaxError('an escape that JSON does not allow');
    this.at += 1;
    if (kind === '\n') return '';
    return escapes[kind] ?? (/["'\\/]/.test(kind) ? kind : `\\${kind}`);
  }

  /** Reads a list, tuple, map or call up to `end`; `item` reads the text between two commas. */
  private within(end: string, item: () => void): void {
    this.containers += 1;
    if (this.containers > jsonLimits.containers) throw new JsonBeyondLimit('too_large', jsonLimits);
    if (this.places.length >= jsonLimits.depth) throw new JsonBeyondLimit('too_deep', jsonLimits);
    this.at += 1;
    for (let index = 0; ; index += 1) {
      const first = this.next();
      if (first === end && (index === 0 || !this.isStrict)) break;
      if (first === end) throw new SyntaxError(`a comma before ${end}`);
      this.places.push(end === ']' ? index : null);
      item();
      const after = this.next();
      if (after !== ',' && after !== end) {
        throw new SyntaxError(
          after === '' ? 'an unexpected end of input inside a list or an object' : 'no comma between two values',
        );
      }
      this.places.pop();
      if (after === end) break;
      this.at += 1;
    }
    this.at += 1;
  }

  private list(end: ']' | ')'): JsonValue[] {
    const values: JsonValue[] = [];
    this.within(end, () => values.push(this.value()));
    return values;
  }

  /** Reads a value in parentheses: a single value stands for itself, and a trailing comma makes it a tuple. */
  private tuple(): JsonValue {
    const values = this.list(')');
    const isGroup = values.length === 1 && !/,\s*\)$/.test(this.text.slice(Math.max(0, this.at - 20), this.at));
    return isGroup ? (values[0] ?? null) : values;
  }

  /** Reads a dictionary, or a Python set, which becomes a list. */
  private map(): JsonValue {
    const entries: [string, JsonValue][] = [];
    const values: JsonValue[] = [];
    this.within('}', () => {
      if (this.isStrict && this.next() !== '"') {
        throw new SyntaxError(
          this.next() === "'" ? 'single quotes instead of double quotes' : 'no name in double quotes',
        );
      }
      const key = this.value();
      if (this.next() !== ':') {
        if (this.isStrict) throw new SyntaxError('no colon after a name');
        values.push(key);
        return;
      }
      this.at += 1;
      const name = typeof key === 'string' ? key : JSON.stringify(key);
      this.places[this.places.length - 1] = name;
      entries.push([name, this.value()]);
    });
    // `fromEntries` defines own properties, so that a key named `__proto__` does not set the prototype.
    return values.length > 0 && entries.length === 0 ? values : Object.fromEntries(entries);
  }

  private call(): JsonValue {
    const entries: [string, JsonValue][] = [];
    const values: JsonValue[] = [];
    this.within(')', () => {
      this.next();
      const name = this.match(/[A-Za-z_]\w*(?=\s*=)/y);
      if (name === null) {
        values.push(this.value());
        return;
      }
      this.at += name.length;
      this.next();
      this.at += 1;
      this.next();
      const type = this.match(/(?!(?:True|False)\b)[A-Za-z_][\w.]*(?=\s*[,)])/y);
      if (type !== null) this.at += type.length;
      entries.push([name, type === null ? this.value() : null]);
    });
    if (values.length === 1) return values[0] ?? null;
    return entries.length > 0 ? Object.fromEntries(entries) : values;
  }

  private inAngleBrackets(): null {
    const end = this.text.indexOf('>', this.at);
    if (end === -1) throw new SyntaxError('an unexpected end of input inside a value');
    this.at = end + 1;
    return null;
  }
}
