/** Ingestion for an API key that is limited to pipelines. */
import type { IngestDeps, Report } from './live-ingest.ts';
import { unknownPipeline } from './rules/live-query.ts';

type Ingest = Pick<IngestDeps, 'ingestQueries' | 'ingestFeedback'>;

/**
 * Returns an ingestion that stores the items of these pipelines, and rejects all other items as if their pipelines did
 * not exist.
 *
 * @param pipelines null for all
 */
export function limitIngest<T extends Ingest>(ingest: T, pipelines: readonly string[] | null): T {
  if (pipelines === null) return ingest;
  return {
    ...ingest,
    ingestQueries: async (queries) => {
      const own = ownItems(queries, pipelines);
      return own.merge(await ingest.ingestQueries(own.items));
    },
    ingestFeedback: async (feedback) => {
      const own = ownItems(feedback, pipelines);
      return own.merge(await ingest.ingestFeedback(own.items));
    },
  };
}

function ownItems<Item extends { readonly pipeline: string }>(items: readonly Item[], pipelines: readonly string[]) {
  const positions = [...items.keys()].filter((index) => pipelines.includes(items[index]?.pipeline ?? ''));
  const own = new Set(positions);
  const others = items.flatMap(({ pipeline }, index) =>
    own.has(index) ? [] : [{ index, ...unknownPipeline(pipeline) }],
  );
  return {
    items: items.filter((_, index) => own.has(index)),
    merge: <R extends Report>(report: R): R => ({
      ...report,
      rejected: [
        ...others,
        ...report.rejected.map((one) => ({ ...one, index: positions[one.index] ?? one.index })),
      ].toSorted((a, b) => a.index - b.index),
    }),
  };
}
