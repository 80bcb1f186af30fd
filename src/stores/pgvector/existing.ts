/** Which ids are in the table. */
import { inPortions } from '../sampled-vectors.ts';
import { quoted } from './identifier.ts';
import type { Query } from './session.ts';
import type { Table, TableSettings } from './table.ts';

const IDS_PER_QUERY = 10_000;

export async function existingIds(
  query: Query,
  table: Table,
  settings: TableSettings,
  ids: readonly string[],
): Promise<ReadonlySet<string>> {
  const { castTo, couldBe } = comparisons[table.idType] ?? asText;
  const column = quoted(settings.id);
  // Compared in its own type, so that an index on the column is of use.
  const left = castTo === null ? `${column}::text` : column;
  const right = castTo === null ? '$1::text[]' : `$1::text[]::${castTo}[]`;
  const found = new Set<string>();
  for (const portion of inPortions(ids.filter(couldBe), IDS_PER_QUERY)) {
    const rows = await query<{ id: string }>(
      `select distinct ${column}::text as id from ${table.name} where ${left} = any(${right})`,
      [portion],
    );
    for (const { id } of rows) found.add(id);
  }
  return found;
}

interface Comparison {
  /** Type that the ids are cast to; null casts the column to text. */
  readonly castTo: string | null;
  /** Whether an id can be a value of the type, written as PostgreSQL writes it. */
  readonly couldBe: (id: string) => boolean;
}

/** PostgreSQL keeps no text with a NUL. */
const isText = (id: string): boolean => !id.includes('\0');

const asText: Comparison = { castTo: null, couldBe: isText };

const isIntegerOf =
  (bits: number) =>
  (id: string): boolean =>
    /^(0|-?[1-9]\d{0,18})$/.test(id) && BigInt.asIntN(bits, BigInt(id)) === BigInt(id);

const comparisons: Readonly<Record<string, Comparison>> = {
  text: { castTo: 'text', couldBe: isText },
  varchar: { castTo: 'text', couldBe: isText },
  int2: { castTo: 'int2', couldBe: isIntegerOf(16) },
  int4: { castTo: 'int4', couldBe: isIntegerOf(32) },
  int8: { castTo: 'int8', couldBe: isIntegerOf(64) },
  uuid: { castTo: 'uuid', couldBe: (id) => /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/.test(id) },
};
