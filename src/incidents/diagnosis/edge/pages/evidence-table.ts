/** Evidence of a diagnosis as rows: the values before the alert and at the time of the alert. */
import type { Content, Table } from '../../../../report/model/content.ts';
import { badge, more, strong, table, value, why } from '../../../../report/model/show.ts';
import type { Diagnosis } from '../../rules/incident.ts';
import type { Sign } from '../../rules/signs.ts';
import { places } from './diagnosis.ts';

const titles: Readonly<Record<Sign['name'], string>> = {
  failures: 'Failed golden queries',
  failure_kind: 'Kind of failure',
  live_errors: 'Failed live queries',
  live_empty: 'Live queries without results',
  live_latency: 'Live latency, p95',
  live_results: 'Results per live query',
  feedback: 'Positive feedback',
  top_query: 'Most frequent query',
  language: 'Queries in the usual language',
  episode_calls: 'Retrieval calls per episode',
  episode_repeats: 'Repeated calls per episode',
  rewritten_queries: 'Rewritten queries that look like answers',
  rewrite_gain: 'Rewrite gain',
  live_relevance: 'Judged live relevance',
  judge: 'Judge model',
  latency: 'Golden latency, p95',
  warming: 'Latency during the run',
  empty_answers: 'Golden queries without results',
  answer_length: 'Results per golden query',
  text_length: 'Characters per result',
  repeats: 'Repeated results or text',
  foreign_lists: 'Results that belong to another query',
  common_document: 'Document in many results',
  score: 'Golden score',
  results: 'Earlier documents that a query still gets',
  surviving_documents: 'Surviving documents that a query still gets',
  order: 'Order of results',
  documents: 'Returned documents',
  renamed: 'Document ids',
  variety: 'Distinct documents returned',
  again: 'Consecutive bad runs',
  older_answers: 'Results of an earlier run',
  segment: 'Segments',
  query_kind: 'Kinds of queries',
  level: 'Golden score since the first run',
  opinions: 'Live ratings against golden score',
  labels: 'Judged documents not found by id',
  gone_documents: 'Fate of missing judged documents',
  judged: 'Returned documents with a judgment',
  forbidden: 'Forbidden documents',
  stage: 'Loss by stage',
  golden_set: 'Version of the golden set',
  store_size: 'Vectors in the store',
  ann_recall: 'Index recall',
  store_agreement: 'Results among the nearest vectors',
  missed_vectors: 'Missed documents with a wrong vector',
  canary: 'Embedding canary, median cosine',
  index_documents: 'Documents of the manifest',
  index_retrieval: 'Documents found by their own text',
  index_orphans: 'Outdated documents in the store',
  index_arrivals: 'Indexing delay',
  index_models: 'Embedding model of stored vectors',
  index_settings: 'Index settings',
  embedder: 'Embedder',
  deployment: 'Deployments',
  density: 'Query density',
  topics: 'Uncovered topics',
  sentinel: 'Latest sentinel',
  own_work: 'recalld itself',
};

/** Maximum number of rows that are visible without expanding the table. */
const MAX_ROWS = 5;

/** @param supporting signs that are listed first */
export function evidenceTable(supporting: readonly Sign[], opposing: readonly Sign[], diagnosis: Diagnosis): Content {
  const signs = [...supporting, ...opposing];
  const rows = (caption: string, shown: readonly Sign[]): Table =>
    table(caption, shown, [
      [
        'Evidence',
        (sign) => [
          strong(titles[sign.name]),
          !supporting.includes(sign) && [' ', badge('against this cause', 'warning')],
          why(sign.sentence, ' ', places[sign.name](diagnosis)),
        ],
      ],
      [
        'Before',
        ({ values }) => values !== undefined && values.before !== null && value(values.before, values.unit),
        'number',
      ],
      ['Now', ({ values }) => values !== undefined && strong(value(values.now, values.unit)), 'number'],
    ]);
  const rest = signs.slice(MAX_ROWS);
  return [
    rows('Evidence of the diagnosis', signs.slice(0, MAX_ROWS)),
    rest.length > 0 && more(`More evidence (${rest.length})`, rows('More evidence of the diagnosis', rest)),
  ];
}
