/** Queries for rows: nearest neighbors, uniform samples, existing ids, lists of ids, and the chunks of documents. */
import { groupBy } from '../../../core/group-by.ts';
import { cosineOfScore, cosineSimilarity } from '../../../math/vector/matrix.ts';
import { dimensionMismatch, inPortions, toSample } from '../store-rows.ts';
import {
  type ListedIds,
  MAX_CHUNKS,
  type Nearest,
  type NearestOfEachRequest,
  type Neighbour,
  type SampledVectors,
  type SampleRequest,
  type ScoreKind,
  type StoredChunk,
  type VectorMetric,
} from '../vector-store.ts';
import { CallFailure, type Query } from './session.ts';
import { distanceOperators, quoted, type Table } from './table.ts';

const IDS_PER_QUERY = 10_000;

export async function existingIds(query: Query, table: Table, ids: readonly string[]): Promise<ReadonlySet<string>> {
  const { column, idExpression, cast, couldBe } = idOf(table);
  const found = new Set<string>();
  for (const portion of inPortions(ids.filter(couldBe), IDS_PER_QUERY)) {
    const rows = await query<{ id: string }>(
      `select distinct ${column}::text as id from ${table.name} where ${idExpression} = any($1::text[]${cast('[]')})`,
      [portion],
    );
    for (const { id } of rows) found.add(id);
  }
  return found;
}

/** Lists ids in sorted order, so that PostgreSQL can use an index on the column. */
export async function listIds(query: Query, table: Table, from: string | null): Promise<ListedIds> {
  const { idExpression, cast } = idOf(table);
  const rows = await query<{ id: string }>(
    `select id::text as id
     from (
       select distinct ${idExpression} as id from ${table.name}
       where ${idExpression} is not null and ${quoted(table.settings.embedding)} is not null and ($1::text is null or ${idExpression} > $1::text${cast('')})
       order by 1 limit $2::int
     ) as page
     order by page.id`,
    [from, IDS_PER_QUERY],
  );
  const ids = rows.map(({ id }) => id);
  return { ids, next: ids.length < IDS_PER_QUERY ? null : (ids.at(-1) ?? null) };
}

export async function chunksOf(query: Query, table: Table, ids: readonly string[]): Promise<readonly StoredChunk[]> {
  const { settings } = table;
  const { column, idExpression, cast, couldBe } = idOf(table);
  const content = settings.content === undefined ? 'null' : `${quoted(settings.content)}::text`;
  // Converts a timestamp to ISO 8601, regardless of the session's settings.
  const version = settings.version === undefined ? 'null' : `to_jsonb(${quoted(settings.version)}) #>> '{}'`;
  return query<StoredChunk>(
    `select ${column}::text as id, ${version} as version, ${content} as content from ${table.name}
     where ${quoted(settings.embedding)} is not null and ${idExpression} = any($1::text[]${cast('[]')}) limit $2::int`,
    [ids.filter(couldBe), MAX_CHUNKS],
  );
}

/** Compares the id column in its own type, so that an index on the column can be used. */
function idOf({ idType, settings }: Table) {
  const { castTo, couldBe } = comparisons[idType] ?? asText;
  const column = quoted(settings.id);
  const idExpression = castTo === null ? `${column}::text` : column;
  const cast = (list: '' | '[]'): string => (castTo === null ? '' : `::${castTo}${list}`);
  return { column, idExpression, cast, couldBe };
}

interface Comparison {
  /** Type to which ids are cast; null casts the column to text instead. */
  readonly castTo: string | null;
  /** Returns true if an id is a valid value of the type in PostgreSQL's notation. */
  readonly couldBe: (id: string) => boolean;
}

/** PostgreSQL cannot store text that contains a NUL character. */
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

/** Below this number of rows, sorting all rows costs less than repeating a sample that was too small. */
const SMALL_TABLE = 5000;

interface SampleRow {
  readonly id: string;
  readonly vector: string;
  readonly content: string | null;
}

/**
 * Samples more rows than needed with TABLESAMPLE BERNOULLI, which selects each row independently and with the same
 * probability. The statement reads the whole table, except for vectors that are stored out of line. Returns the n rows
 * with the smallest seeded hash of their position, because truncating in table order would favor the rows inserted
 * first. If fewer than n rows were sampled, because the row estimate was too high, samples again with a higher
 * probability.
 */
export async function sampleRows(query: Query, table: Table, request: SampleRequest): Promise<SampledVectors> {
  const seed = request.seed | 0;
  let percent = firstPercent(table, request.n);
  for (;;) {
    const rows = await draw(query, table, { ...request, seed, percent });
    if (rows.length >= request.n || percent >= 100) return sampleOf(rows);
    percent = Math.min(100, percent * 5);
  }
}

/**
 * Returns the percentage of rows to sample. If the row estimate is accurate, the expected number of sampled rows
 * exceeds n by more than six times the square root of n. Returns 100 if the table is small, or if it has no row
 * estimate or no row positions.
 */
function firstPercent({ estimate, hasRowPlaces }: Table, n: number): number {
  if (!hasRowPlaces || estimate === null || estimate < SMALL_TABLE) return 100;
  const wanted = n + 6 * Math.sqrt(n) + 20;
  return Math.min(100, (120 * wanted) / estimate);
}

async function draw(
  query: Query,
  table: Table,
  { n, seed, percent, withContent }: SampleRequest & { readonly percent: number },
): Promise<SampleRow[]> {
  const { settings } = table;
  const [id, embedding] = [quoted(settings.id), quoted(settings.embedding)];
  const content = withContent && settings.content !== undefined ? quoted(settings.content) : 'null';
  const drawn = percent < 100 ? `tablesample bernoulli (${percent.toFixed(9)}) repeatable (${seed})` : '';
  const place = table.hasRowPlaces ? "tableoid::text || ',' || ctid::text" : `${id}::text`;
  // The outer query reads only the vectors of the selected rows.
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
    const problem = `the vectors differ in length (${[...lengths].join(', ')}); store the vectors of each embedding model in a separate table or view.`;
    throw new CallFailure('mixed_dimensions', problem);
  }
  return toSample(stored, true, true);
}

const scoreKinds: Readonly<Record<VectorMetric, ScoreKind>> = {
  cosine: 'cosine_distance',
  l2: 'l2',
  dot: 'negative_dot',
};

/**
 * Disables index scans. Also enables sequential scans and sorting: if the user has disabled them, the planner could
 * still choose an index scan.
 */
const withoutIndex = 'set local enable_indexscan = off; set local enable_seqscan = on; set local enable_sort = on';

interface FoundRow {
  /** Position of the query vector, from 1. */
  readonly position: number;
  readonly id: string;
  readonly distance: number;
  readonly content?: string | null;
  readonly vector?: string;
}

/** Finds the nearest rows of each vector, with one statement for all vectors. */
export async function searchNearest(
  query: Query,
  table: Table,
  vectors: readonly Float32Array[],
  request: NearestOfEachRequest,
): Promise<readonly Nearest[]> {
  const { settings } = table;
  const { metric } = settings;
  for (const { length } of vectors) {
    if (table.dimensions !== null && table.dimensions !== length)
      throw dimensionMismatch('pgvector', table.dimensions, length);
  }
  const { vectorSchema: schema, vectorType } = table;
  // A distance in another metric does not determine the angle, so the cosine is computed from the vectors.
  const readsVectors = metric !== 'cosine';
  const asked = `recalld_query.vector${vectorType === 'vector' ? '' : `::${schema}.${vectorType}`}`;
  const distance = `${quoted(settings.embedding)} operator(${schema}.${distanceOperators[metric]}) ${asked}`;
  const content = request.withContent === 'digest' ? contentDigest : 'content::text';
  const filter = conditionsOf(request.filter, vectors.length + 2);
  const columns = [
    { name: 'id', of: quoted(settings.id), shown: 'id::text' },
    { name: 'distance', of: distance, shown: 'distance' },
    ...(readsVectors ? [{ name: 'vector', of: quoted(settings.embedding), shown: 'nearest.vector::text' }] : []),
    ...(settings.content === undefined || request.withContent === false
      ? []
      : [{ name: 'content', of: quoted(settings.content), shown: content }]),
  ];
  if (request.exact) await query(withoutIndex);
  // The outer query reads texts and vectors and computes hashes only for the nearest rows. The inner query would have
  // to read and hash the texts and vectors of every row that it compares.
  const rows = await query<FoundRow>(
    `select position, ${columns.map(({ name, shown }) => `${shown} as ${name}`).join(', ')}
     from (values ${vectors.map((_, at) => `(${at + 1}, $${at + 2}::${schema}.vector)`).join(', ')}) as recalld_query (position, vector)
     cross join lateral (
       select ${columns.map(({ name, of }) => `${of} as ${name}`).join(', ')} from ${table.name}
       where ${[`${quoted(settings.embedding)} is not null`, ...filter.conditions].join(' and ')}
       order by ${distance} limit $1::int
     ) as nearest
     order by position, distance`,
    [request.k, ...vectors.map(vectorBytes), ...filter.values],
  );
  const found = groupBy(rows, ({ position }) => position);
  return vectors.map((vector, at) => {
    const neighbours = (found.get(at + 1) ?? []).map((row) => toNeighbour(row, vector, metric));
    return { neighbours, isShort: neighbours.length < request.k };
  });
}

/** Hashes the bytes, so that a collation cannot make different texts equal. */
const contentDigest = `hashtextextended(content::text collate "C", 0)::text`;

/**
 * A zero vector has no direction, and pgvector returns NaN for its cosine distance. The cosine of a zero vector is
 * therefore defined as 0 and its distance as 1.
 */
function toNeighbour(row: FoundRow, query: Float32Array, metric: VectorMetric): Neighbour {
  const score = Number.isNaN(row.distance) ? 1 : row.distance;
  const similarity =
    row.vector === undefined
      ? cosineOfScore(score, 'cosine_distance')
      : cosineSimilarity(parseVector(row.vector), query);
  const scoreKind = scoreKinds[metric];
  return { id: row.id, similarity, score, scoreKind, content: row.content ?? null };
}

/** `course` is a column; `metadata.course` is a path in a JSON column. Values are compared as text. */
function conditionsOf(filter: Readonly<Record<string, string>>, firstParameter: number) {
  const conditions: string[] = [];
  const values: unknown[] = [];
  const parameter = (value: unknown): string => `$${firstParameter + values.push(value) - 1}`;
  for (const [name, value] of Object.entries(filter)) {
    const [column = '', ...path] = name.split('.');
    const idExpression =
      path.length === 0 ? `${quoted(column)}::text` : `${quoted(column)} #>> ${parameter(path)}::text[]`;
    conditions.push(`${idExpression} = ${parameter(value)}::text`);
  }
  return { conditions, values };
}

/**
 * Encodes a vector as a binary parameter, in the big-endian format of pgvector's `vector_recv`: the length in 16 bits,
 * 16 zero bits, and the elements as float32. Parsing digits would take PostgreSQL as long as comparing hundreds of
 * vectors.
 */
export function vectorBytes(vector: Float32Array): Buffer {
  const bytes = Buffer.alloc(4 + 4 * vector.length);
  bytes.writeUInt16BE(vector.length);
  for (const [index, value] of vector.entries()) bytes.writeFloatBE(value, 4 + 4 * index);
  return bytes;
}

export function parseVector(text: string): Float32Array {
  return Float32Array.from(JSON.parse(text) as number[]);
}
