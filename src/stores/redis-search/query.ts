/** Queries in the language of FT.SEARCH, dialect 2; values travel as parameters, never in the text. */

import { unsupported } from '../outcome.ts';
import type { NearestRequest } from '../vector-store.ts';
import type { IndexedField, IndexInfo } from './index-info.ts';

export interface SearchQuery {
  readonly text: string;
  /** Names and values in turn. */
  readonly params: readonly (string | Buffer)[];
}

/** Name of the distance in the answer. */
export const DISTANCE = '__recalld_distance';

/**
 * `(@topic:{$f0})=>[KNN 10 @embedding $vector AS ...]`. Null when nothing can match: a TAG has no empty values unless
 * it was made with INDEXEMPTY.
 *
 * @throws Refused for a field that is not indexed as TAG or NUMERIC
 */
export function nearestQuery(info: IndexInfo, request: NearestRequest, vector: Buffer): SearchQuery | null {
  const params: (string | Buffer)[] = ['vector', vector];
  const conditions: string[] = [];
  for (const [name, value] of Object.entries(request.filter)) {
    const field = info.fields.find(({ attribute, identifier }) => attribute === name || identifier === name);
    const param = `f${conditions.length}`;
    const condition = equality(field, name, value, param);
    if (condition === null) return null;
    if (condition.includes(`$${param}`)) params.push(param, value);
    conditions.push(condition);
  }
  const filter = conditions.length === 0 ? '*' : `(${conditions.join(' ')})`;
  return {
    text: `${filter}=>[KNN ${request.k} @${escaped(info.vector.attribute)} $vector AS ${DISTANCE}]`,
    params,
  };
}

/** Any of these values of a TAG. */
export function anyOfQuery(field: IndexedField, values: readonly string[]): SearchQuery {
  const params = values.flatMap((value, place) => [`v${place}`, value]);
  return {
    text: `@${escaped(field.attribute)}:{${values.map((_, place) => `$v${place}`).join(' | ')}}`,
    params,
  };
}

function equality(
  field: IndexedField | undefined,
  name: string,
  value: string,
  param: string,
): string | null {
  if (field?.type === 'TAG') {
    const start = `@${escaped(field.attribute)}:`;
    if (value !== '') return `${start}{$${param}}`;
    return field.hasEmptyValues ? `${start}{""}` : null;
  }
  if (field?.type === 'NUMERIC') {
    return value.trim() === '' || Number.isNaN(Number(value))
      ? null
      : `@${escaped(field.attribute)}:[$${param} $${param}]`;
  }
  throw unsupported(`A filter on ${name} needs an index of the field as TAG or NUMERIC.`);
}

function escaped(name: string): string {
  return name.replaceAll(/[^\w]/gu, String.raw`\$&`);
}
