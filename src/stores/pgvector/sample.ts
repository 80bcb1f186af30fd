/** A uniform sample of the rows. */

import { toSample } from '../sampled-vectors.ts';
import type { SampledVectors, SampleRequest } from '../vector-store.ts';
import { CallFailure } from './failure.ts';
import { quoted } from './identifier.ts';
import type { Query } from './session.ts';
import type { Table, TableSettings } from './table.ts';
import { parseVector } from './vector-text.ts';

/** Below this a sort of all rows costs less than the risk of drawing too few. */
const SMALL_TABLE = 5000;

interface SampleRow {
  readonly id: string;
  readonly vector: string;
  readonly content: string | null;
}

/**
 * Draws more rows than needed, each by itself with the same chance (TABLESAMPLE BERNOULLI, which reads the whole table
 * but not the vectors that are stored beside it), and keeps the n with the smallest seeded hash of their place. A cut
 * in the order of the table would favour what was inserted first. When the estimate of the table was too high and
 * fewer than n were drawn, it draws again with a greater chance.
 */
export async function sampleRows(
  query: Query,
  table: Table,
  settings: TableSettings,
  request: SampleRequest,
): Promise<SampledVectors> {
  const seed = request.seed | 0;
  let percent = firstPercent(table, request.n);
  for (;;) {
    const rows = await draw(query, table, settings, { ...request, seed, percent });
    if (rows.length >= request.n || percent >= 100) return sampleOf(rows);
    percent = Math.min(100, percent * 5);
  }
}

/** Percent of the rows to draw: n and six standard deviations more, by the estimate. */
function firstPercent({ estimate, hasRowPlaces }: Table, n: number): number {
  if (!hasRowPlaces || estimate === null || estimate < SMALL_TABLE) return 100;
  const wanted = n + 6 * Math.sqrt(n) + 20;
  return Math.min(100, (120 * wanted) / estimate);
}

async function draw(
  query: Query,
  table: Table,
  settings: TableSettings,
  { n, seed, percent, withContent }: SampleRequest & { readonly percent: number },
): Promise<SampleRow[]> {
  const [id, embedding] = [quoted(settings.id), quoted(settings.embedding)];
  const content = withContent && settings.content !== null ? quoted(settings.content) : 'null';
  const drawn = percent < 100 ? `tablesample bernoulli (${percent.toFixed(9)}) repeatable (${seed})` : '';
  const place = table.hasRowPlaces ? "tableoid::text || ',' || ctid::text" : `${id}::text`;
  // The vectors are read for the rows that are left alone.
  return query<SampleRow>(
    `select id::text as id, embedding::text as vector, content::text as content
     from (
       select ${id} as id, ${embedding} as embedding, ${content} as content
       from ${table.name} ${drawn}
       where ${embedding} is not null
       order by hashtextextended(${place}, $1::int8) limit $2::int
     ) as drawn`,
    [seed, n],
  );
}

function sampleOf(rows: readonly SampleRow[]): SampledVectors {
  const stored = rows.map((row) => ({ ...row, vector: parseVector(row.vector) }));
  const lengths = new Set(stored.map(({ vector }) => vector.length));
  if (lengths.size > 1) {
    const problem = `the vectors differ in length (${[...lengths].join(', ')}); keep those of one embedding model in one table or view.`;
    throw new CallFailure('mixed_dimensions', problem);
  }
  return toSample(stored, true);
}
