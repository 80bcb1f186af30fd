/** What an index, or all indexes behind an alias, are made of. */
import { at, type Fields, fieldAt, fieldsOf, numberOf, textOf } from '../../outbound/json-value.ts';
import { type Attempt, failed, unsupported } from '../outcome.ts';
import type { StoreCalls } from '../store-calls.ts';
import { settingsHash } from '../traits.ts';
import type { Dialect, VectorField } from './dialect.ts';

export interface IndexShape extends VectorField {
  /** How many indexes the name stands for. */
  readonly indexes: number;
  /** Longest result of one search. */
  readonly window: number;
  readonly traits: Readonly<Record<string, string>>;
  /** The field to look up exact values of a field in: itself, or the keyword beside a text. */
  readonly exactField: (name: string) => string;
}

const DEFAULT_WINDOW = 10_000;

interface IndexName {
  readonly index: string;
  /** Field of the vector. */
  readonly field: string;
}

/** Two calls: the mapping and the settings. */
export async function readIndex(
  calls: StoreCalls,
  dialect: Dialect,
  { index, field }: IndexName,
  attempt: Attempt,
): Promise<IndexShape> {
  const missing = `there is no index or alias ${index}; check ${calls.configField}.index`;
  const get = (path: string, query: Readonly<Record<string, string>>) =>
    calls.json(
      { method: 'GET', path: `/${encodeURIComponent(index)}${path}`, query, purpose: 'description', missing },
      attempt,
    );
  const mappings = fieldsOf(await get('/_mapping', {}));
  const settings = fieldsOf(await get('/_settings', { flat_settings: 'true' }));
  const names = Object.keys(mappings).toSorted();
  // The newest index is the one that is written to.
  const newest = names.at(-1);
  if (newest === undefined) throw calls.unexpected('description', 'mappings');
  const properties = at(mappings, newest, 'mappings', 'properties');
  const mapping = fieldMapping(properties, field);
  if (mapping === null) {
    const wayOut = `check ${calls.configField}.embedding`;
    throw failed('vector_unknown', `${calls.service} index ${newest} has no field ${field}; ${wayOut}.`);
  }
  const settingsOf = (name: string): Fields => fieldsOf(at(settings, name, 'settings'));
  const vectorField = dialect.readField(field, mapping, settingsOf(newest));
  const windows = names.map(
    (name) => numberOf(settingsOf(name)['index.max_result_window']) ?? DEFAULT_WINDOW,
  );
  return {
    ...vectorField,
    indexes: names.length,
    window: Math.min(...windows),
    traits: {
      index: names.join(','),
      index_uuid: names.map((name) => textOf(settingsOf(name)['index.uuid']) ?? '').join(','),
      mapping: settingsHash(
        names.map((name) => fieldMapping(at(mappings, name, 'mappings', 'properties'), field)),
      ),
      settings: settingsHash(names.map((name) => steadySettings(settingsOf(name)))),
      metric: vectorField.metric,
    },
    exactField(name) {
      const mapped = fieldMapping(properties, name);
      return mapped?.['type'] === 'text' && at(mapped, 'fields', 'keyword') !== undefined
        ? `${name}.keyword`
        : name;
    },
  };
}

/** A field that may lie within objects; dynamic mapping adds others as documents come, so only this one counts. */
function fieldMapping(properties: unknown, name: string): Fields | null {
  let inner: unknown = properties;
  const direct = fieldAt(properties, name);
  if (direct !== undefined && fieldsOf(direct)['type'] !== undefined) return fieldsOf(direct);
  let mapping: Fields | null = null;
  for (const part of name.split('.')) {
    const found = fieldsOf(inner)[part];
    if (found === undefined) return null;
    if (fieldsOf(found)['type'] === 'nested') {
      throw unsupported(
        `Vectors in the nested field ${name} are several for each document; only one can be compared.`,
      );
    }
    mapping = fieldsOf(found);
    inner = mapping['properties'] ?? mapping['fields'];
  }
  return mapping;
}

/** Settings that no write and no operation of the cluster changes. */
function steadySettings(settings: Fields): Fields {
  const steady = /^index\.(knn|codec|number_of_shards|version\.created|mapping\.|sort\.)/;
  return Object.fromEntries(Object.entries(settings).filter(([name]) => steady.test(name)));
}
