/** Parses lists in table cells. A list may be JSON, printed by Python, or written by hand. */
import { parseExactJson } from '../../core/text/json.ts';

/** Parses a list of ids in JSON, or in Python notation as written by pandas; returns null for any other text. */
export function idsOfList(text: string): string[] | null {
  if (!/^\s*\[.*\]\s*$/s.test(text)) return null;
  return (jsonIds(text) ?? parsePythonList(text))?.map((item) => String(item).trim()).filter((id) => id !== '') ?? null;
}

function jsonIds(text: string): (string | number)[] | null {
  try {
    const value: unknown = parseExactJson(text);
    return Array.isArray(value) && value.every(isId) ? value : null;
  } catch {
    return null;
  }
}

function isId(value: unknown): value is string | number {
  return typeof value === 'string' || Number.isSafeInteger(value);
}

const escapes: Readonly<Record<string, string>> = { n: '\n', r: '\r', t: '\t', '\\': '\\', "'": "'", '"': '"' };

/** Parses a list of strings and whole numbers as Python prints it; returns null for any other text. */
export function parsePythonList(text: string): (string | number)[] | null {
  const token = /\s*(?:'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)"|(-?\d{1,15}))\s*(,|$)/sy;
  const inner = /^\s*\[(.*)\]\s*$/s.exec(text)?.[1];
  if (inner === undefined) return null;
  const items: (string | number)[] = [];
  while (token.lastIndex < inner.length && inner.slice(token.lastIndex).trim() !== '') {
    const match = token.exec(inner);
    if (match === null) return null;
    const [, single, double, number] = match;
    items.push(number === undefined ? unescapePython(single ?? double ?? '') : Number(number));
  }
  return items;
}

function unescapePython(text: string): string {
  return text.replaceAll(
    /\\(?:x([\da-fA-F]{2})|u([\da-fA-F]{4})|U([\da-fA-F]{8})|(.))/gs,
    (whole, x, u, long, other) => {
      const hex = x ?? u ?? long;
      if (hex !== undefined) {
        const code = Number.parseInt(hex, 16);
        return code > 0x10ffff ? whole : String.fromCodePoint(code);
      }
      return escapes[other] ?? whole;
    },
  );
}
