/** The k nearest rows. */
import { cosineOfScore, cosineSimilarity } from '../../vector/matrix.ts';
import { dimensionMismatch } from '../outcome.ts';
import type { Nearest, NearestRequest, Neighbour, ScoreKind, VectorMetric } from '../vector-store.ts';
import { quoted } from './identifier.ts';
import type { Query } from './session.ts';
import type { Table, TableSettings } from './table.ts';
import { parseVector, vectorText } from './vector-text.ts';

const operators: Readonly<Record<VectorMetric, { sign: string; scoreKind: ScoreKind }>> = {
  cosine: { sign: '<=>', scoreKind: 'cosine_distance' },
  l2: { sign: '<->', scoreKind: 'l2' },
  dot: { sign: '<#>', scoreKind: 'negative_dot' },
};

/** The other two may be off for the user, and then the planner would weigh one thing it should not do against another. */
const withoutIndex =
  'set local enable_indexscan = off; set local enable_seqscan = on; set local enable_sort = on';

interface FoundRow {
  readonly id: string;
  readonly distance: number;
  readonly content?: string | null;
  readonly vector?: string;
}

export async function searchNearest(
  query: Query,
  table: Table,
  settings: TableSettings & { readonly metric: VectorMetric },
  request: NearestRequest,
): Promise<Nearest> {
  const { metric } = settings;
  const { length } = request.vector;
  if (table.dimensions !== null && table.dimensions !== length) {
    throw dimensionMismatch('pgvector', table.dimensions, length);
  }
  const { vectorSchema: schema, vectorType } = table;
  // What an index over another distance gives says nothing about the angle: the vectors are compared.
  const readsVectors = metric !== 'cosine';
  const distance = `${quoted(settings.embedding)} operator(${schema}.${operators[metric].sign}) $1::${schema}.${vectorType}`;
  const filter = conditionsOf(request.filter, 3);
  const columns = [
    `${quoted(settings.id)}::text as id`,
    `${distance} as distance`,
    ...(readsVectors ? [`${quoted(settings.embedding)}::text as vector`] : []),
    ...(request.withContent && settings.content !== null
      ? [`${quoted(settings.content)}::text as content`]
      : []),
  ];
  if (request.exact) await query(withoutIndex);
  const rows = await query<FoundRow>(
    `select ${columns.join(', ')} from ${table.name}
     where ${[`${quoted(settings.embedding)} is not null`, ...filter.conditions].join(' and ')}
     order by ${distance} limit $2::int`,
    [vectorText(request.vector), request.k, ...filter.values],
  );
  const neighbours = rows.map((row) => toNeighbour(row, request.vector, metric));
  return { neighbours, isShort: neighbours.length < request.k };
}

/**
 * A zero vector has no direction, and pgvector says that its cosine distance is no number: its cosine is 0, which
 * stands for a distance of 1.
 */
function toNeighbour(row: FoundRow, query: Float32Array, metric: VectorMetric): Neighbour {
  const score = Number.isNaN(row.distance) ? 1 : row.distance;
  const similarity =
    row.vector === undefined
      ? cosineOfScore(score, 'cosine_distance')
      : cosineSimilarity(parseVector(row.vector), query);
  const { scoreKind } = operators[metric];
  return { id: row.id, similarity, score, scoreKind, content: row.content ?? null };
}

/** `course` is a column; `metadata.course` looks into a column of JSON. Values are compared as text. */
function conditionsOf(
  filter: Readonly<Record<string, string>>,
  firstParameter: number,
): { readonly conditions: string[]; readonly values: unknown[] } {
  const conditions: string[] = [];
  const values: unknown[] = [];
  const parameter = (value: unknown): string => `$${firstParameter + values.push(value) - 1}`;
  for (const [name, value] of Object.entries(filter)) {
    const [column = '', ...path] = name.split('.');
    const left =
      path.length === 0 ? `${quoted(column)}::text` : `${quoted(column)} #>> ${parameter(path)}::text[]`;
    conditions.push(`${left} = ${parameter(value)}::text`);
  }
  return { conditions, values };
}
