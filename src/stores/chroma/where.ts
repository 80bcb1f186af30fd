/** Filters in Chroma's language. */

export type Where = Readonly<Record<string, unknown>>;

/**
 * Each field must have its value. Chroma compares no text with a number, so a value that reads as a number or as true
 * or false is looked for as both. Nothing for an empty filter.
 */
export function whereOf(filter: Readonly<Record<string, string>>): { readonly where?: Where } {
  const conditions = Object.entries(filter).map(([name, value]) => {
    const readings = readingsOf(value).map((reading) => ({ [name]: { $eq: reading } }));
    return oneOrJoined('$or', readings);
  });
  return conditions.length === 0 ? {} : { where: oneOrJoined('$and', conditions) };
}

/** Chroma refuses to join a single condition. */
function oneOrJoined(operator: '$and' | '$or', conditions: readonly Where[]): Where {
  const [only] = conditions;
  return conditions.length === 1 && only !== undefined ? only : { [operator]: conditions };
}

function readingsOf(value: string): (string | number | boolean)[] {
  if (value === 'true' || value === 'false') return [value, value === 'true'];
  const isNumber = value.trim() === value && value !== '' && Number.isFinite(Number(value));
  return isNumber ? [value, Number(value)] : [value];
}
