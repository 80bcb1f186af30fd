/**
 * Qdrant conditions on payload keys. Qdrant does not compare strings with numbers or booleans, so the type of the
 * payload index decides how a value is interpreted. Without an index, a condition matches a value as a string and as
 * every other type that the value could have. In strict mode, Qdrant rejects a value whose type differs from the type
 * of the index.
 */

type Condition = Readonly<Record<string, unknown>>;

/** Types of payload indexes, keyed by path. */
export type Indexes = ReadonlyMap<string, string>;

/** Returns the path of a payload key in Qdrant's notation, in which unusual names are quoted: `meta."doc id"`. */
export function payloadPath(name: string): string {
  return name
    .split('.')
    .map((part) => (/^[\p{Alphabetic}\p{N}_-]+(\[\d*\])*$/u.test(part) ? part : `"${part}"`))
    .join('.');
}

/** Returns a condition that matches points in which the key has this value. */
export function equals(name: string, value: string, indexes: Indexes): Condition {
  const key = payloadPath(name);
  const text = { key, match: { value } };
  const integer = integers([value]).map((number) => ({ key, match: { value: number } }));
  const number = /^-?(0|[1-9]\d*)(\.\d+)?$/.test(value) ? Number(value) : Number.NaN;
  const isExact = Number.isInteger(number) ? Number.isSafeInteger(number) : Number.isFinite(number);
  const float = isExact ? [{ key, range: { gte: number, lte: number } }] : [];
  const bool = value === 'true' || value === 'false' ? [{ key, match: { value: value === 'true' } }] : [];
  // A range finds both 7 and 7.0, but a match finds only 7.
  const any = [text, ...(isExact ? float : integer), ...bool];
  return oneOf(fitting({ text, integer, float, bool, any }, indexes.get(key)));
}

/** Returns a condition that matches points in which the key has one of these ids; ids may be stored as integers. */
export function isAnyOf(name: string, ids: readonly string[], indexes: Indexes): Condition {
  const key = payloadPath(name);
  const text = { key, match: { any: ids } };
  const numbers = integers(ids);
  const integer = numbers.length > 0 ? [{ key, match: { any: numbers } }] : [];
  return oneOf(fitting({ text, integer, any: [text, ...integer] }, indexes.get(key)));
}

/** True if some of these ids may be stored as integers. */
export function mayBeIntegers(ids: readonly string[]): boolean {
  return integers(ids).length > 0;
}

type Readings = { readonly text: Condition; readonly any: readonly Condition[] } & Partial<
  Readonly<Record<'integer' | 'float' | 'bool', readonly Condition[]>>
>;

/**
 * If a value cannot be converted to the type of the index, the condition compares it as a string and therefore matches
 * nothing.
 */
function fitting({ text, any, ...typed }: Readings, type: string | undefined): readonly Condition[] {
  if (type === 'keyword' || type === 'uuid') return [text];
  if (type !== 'integer' && type !== 'float' && type !== 'bool') return any;
  const own = typed[type] ?? [];
  return own.length > 0 ? own : [text];
}

function oneOf(conditions: readonly Condition[]): Condition {
  const [only = {}] = conditions;
  return conditions.length === 1 ? only : { should: conditions };
}

/** Converts strings to 64-bit integers, and omits strings that do not represent one. */
function integers(texts: readonly string[]): (number | bigint)[] {
  return texts.flatMap((text) => {
    if (!/^(0|-?[1-9]\d{0,18})$/.test(text)) return [];
    const long = BigInt(text);
    if (BigInt.asIntN(64, long) !== long) return [];
    return [Number.isSafeInteger(Number(text)) ? Number(text) : long];
  });
}
