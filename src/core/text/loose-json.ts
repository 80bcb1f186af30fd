/**
 * JSON as programs write it that are no JSON writers: `NaN` and `Infinity` of Python's `json.dumps`, and what Python's
 * `repr` makes of lists, dictionaries, tuples and calls. Of text that is not JSON, it also finds the first place where it
 * is not.
 */
import { JsonBeyondLimit, type JsonValue, jsonLimits } from './json.ts';

/**
 * Parses what JSON.parse refuses, where its meaning is plain:
 *
 * - `NaN`, `Infinity`, `nan`, `inf`, `None` and `undefined` are null, `True` and `False` are booleans;
 * - text may stand in single quotes, with the escapes of Python; tuples and sets are lists; a comma may be the last;
 * - a call with named values, as `Document(id='a', metadata={})`, is an object of these; one with a single value, as
 *   `UUID('a')` or `np.float64(0.5)`, is that value; what is left in angle brackets, as `<object at 0x1>`, is null;
 * - an integer that a double cannot hold exactly is text of its digits, as of `parseExactJson`.
 *
 * @throws SyntaxError for anything else; JsonBeyondLimit as `parseBoundedJson`
 */
export function parseLooseJson(text: string): JsonValue {
  const reader = new Reader(text, false);
  return reader.whole();
}

/** Where a text stops being JSON. Nothing of it holds a value of the text, save names of fields. */
export type JsonFault = NonNullable<ReturnType<typeof findJsonFault>>;

/** The first fault of a text; null when it is JSON, or when it goes beyond the limits. */
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
      /** Of the value there, such as `results[0].score`; empty for the whole. */
      path: reader.path(),
      /** To be read behind "has", such as "NaN, which is no JSON". */
      problem: error.message,
    };
  }
}

/** Whether a text begins like JSON or what Python prints, and ends in the middle of it. */
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
/** Without what ends a string, escapes, and line feeds. */
const plainText = { '"': /[^"\\]*/y, "'": /[^'\\]*/y };

/** JSON has those below U+0020 in escapes alone. */
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
const closing: Readonly<Record<string, string>> = { '[': ']', '(': ')', '{': '}' };

class Reader {
  at = 0;
  private readonly text: string;
  private readonly isStrict: boolean;
  /** Of the value that is read: names and indices, null before the name is read. */
  private readonly places: (string | number | null)[] = [];
  private containers = 0;

  constructor(text: string, isStrict: boolean) {
    this.text = text;
    this.isStrict = isStrict;
  }

  whole(): JsonValue {
    const value = this.value();
    if (this.next() !== '') throw this.fault('more than one value');
    return value;
  }

  path(): string {
    let path = '';
    for (const place of this.places) {
      if (place === null) continue;
      if (typeof place === 'number') path += `[${place}]`;
      else path += path === '' ? place : `.${place}`;
    }
    return path.slice(0, 200).replaceAll(/[\p{Cc}\p{Cs}]/gu, '?');
  }

  /** The next character that is not blank; empty at the end. */
  private next(): string {
    blank.lastIndex = this.at;
    blank.test(this.text);
    this.at = blank.lastIndex;
    return this.text[this.at] ?? '';
  }

  private match(pattern: RegExp): string | null {
    pattern.lastIndex = this.at;
    const found = pattern.exec(this.text)?.[0] ?? null;
    return found;
  }

  private fault(problem: string): SyntaxError {
    return new SyntaxError(problem);
  }

  private value(): JsonValue {
    const character = this.next();
    if (character === '') throw this.fault('an end where a value is expected');
    if (character === '"' || character === "'") return this.string(character);
    if (character === '{') return this.map();
    if (character === '[') return this.list('[');
    if (!this.isStrict && character === '(') return this.tuple();
    if (!this.isStrict && character === '<') return this.inAngleBrackets();
    return this.number() ?? this.word();
  }

  private number(): JsonValue | undefined {
    const digits = this.match(number);
    if (digits === null) return undefined;
    if (this.isStrict && !strictNumber.test(digits))
      throw this.fault('a number that is written otherwise than in JSON');
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
    if (name === null) throw this.fault('a character where a value is expected');
    const json = jsonWords.get(name);
    if (json !== undefined) {
      this.at += name.length;
      return json;
    }
    const loose = looseWords.get(name);
    if (this.isStrict) {
      throw this.fault(
        loose === undefined ? 'a word where a value is expected' : `${name}, which is no JSON; send ${loose}`,
      );
    }
    this.at += name.length;
    if (loose !== undefined) return loose;
    if (this.next() === '(') return this.call();
    throw this.fault('a word where a value is expected');
  }

  private string(quote: '"' | "'"): string {
    if (this.isStrict && quote === "'") throw this.fault('single quotes; JSON has double ones');
    this.at += 1;
    let value = '';
    for (;;) {
      const plain = this.match(plainText[quote]) ?? '';
      if (this.isStrict && controlCharacter.test(plain))
        throw this.fault('a line feed or control character within text');
      value += plain;
      this.at += plain.length;
      const character = this.text[this.at];
      if (character === undefined) throw this.fault('an end within text');
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
    if (this.isStrict && !/["\\/bfnrt]/.test(kind)) throw this.fault('an escape that JSON does not have');
    this.at += 1;
    if (kind === '\n') return '';
    return escapes[kind] ?? (/["'\\/]/.test(kind) ? kind : `\\${kind}`);
  }

  /** Goes into a list, tuple, map or call, which ends with `end`; `item` reads what is between its commas. */
  private within(end: string, item: () => void): void {
    this.containers += 1;
    if (this.containers > jsonLimits.containers) throw new JsonBeyondLimit('too_large', jsonLimits);
    if (this.places.length >= jsonLimits.depth) throw new JsonBeyondLimit('too_deep', jsonLimits);
    this.at += 1;
    for (let index = 0; ; index += 1) {
      const first = this.next();
      if (first === end && (index === 0 || !this.isStrict)) break;
      if (first === end) throw this.fault(`a comma before ${end}`);
      this.places.push(end === ']' ? index : null);
      item();
      const after = this.next();
      if (after !== ',' && after !== end) {
        throw this.fault(after === '' ? 'an end within a list or an object' : 'no comma between two values');
      }
      this.places.pop();
      if (after === end) break;
      this.at += 1;
    }
    this.at += 1;
  }

  private list(begin: string): JsonValue[] {
    const values: JsonValue[] = [];
    this.within(closing[begin] as string, () => values.push(this.value()));
    return values;
  }

  /** One value in brackets is that value, unless a comma says that it is a tuple of one. */
  private tuple(): JsonValue {
    const values = this.list('(');
    const isGroup = values.length === 1 && !/,\s*\)$/.test(this.text.slice(Math.max(0, this.at - 20), this.at));
    return isGroup ? (values[0] ?? null) : values;
  }

  /** A dictionary, or a set of Python, which is a list. */
  private map(): JsonValue {
    const entries: [string, JsonValue][] = [];
    const values: JsonValue[] = [];
    this.within('}', () => {
      if (this.isStrict && this.next() !== '"') {
        throw this.fault(this.next() === "'" ? 'single quotes; JSON has double ones' : 'no name in double quotes');
      }
      const key = this.value();
      if (this.next() !== ':') {
        if (this.isStrict) throw this.fault('no colon behind a name');
        values.push(key);
        return;
      }
      this.at += 1;
      const name = typeof key === 'string' ? key : JSON.stringify(key);
      this.places[this.places.length - 1] = name;
      entries.push([name, this.value()]);
    });
    return values.length > 0 && entries.length === 0 ? values : objectOf(entries);
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
    return entries.length > 0 ? objectOf(entries) : values;
  }

  private inAngleBrackets(): null {
    const end = this.text.indexOf('>', this.at);
    if (end === -1) throw this.fault('an end within a value');
    this.at = end + 1;
    return null;
  }
}

/** `fromEntries` defines its properties, so that none of them sets the prototype. */
function objectOf(entries: readonly (readonly [string, JsonValue])[]): { [key: string]: JsonValue } {
  return Object.fromEntries(entries);
}
