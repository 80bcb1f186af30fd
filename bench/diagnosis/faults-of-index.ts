/** Faults of the index, and of the models that compute its vectors. */
import type { Question } from './corpus.ts';
import { cutInTwo, otherModel, rewritten } from './damage.ts';
import { between, type Fault, isIn, some } from './fault.ts';

export const ofIndex: readonly Fault[] = [
  {
    name: 'lost documents',
    does: '8 to 70 % of the documents disappear from the store',
    cause: 'index_lost_documents',
    breakIt: ({ chunks }, random) => {
      const gone = some(chunks, between(random, 0.08, 0.7), random);
      return { chunks: chunks.filter(({ id }) => !gone.has(id)) };
    },
  },
  {
    name: 'lost topics',
    does: 'the documents on a tenth to a half of the topics disappear',
    cause: 'index_lost_documents',
    breakIt: ({ chunks }, random) => {
      const share = between(random, 0.1, 0.5);
      const gone = new Set([...new Set(chunks.map(({ topic }) => topic))].filter(() => isIn(random, share)));
      return { chunks: chunks.filter(({ topic }) => !gone.has(topic)) };
    },
  },
  {
    name: 'empty index',
    does: 'the store contains no documents',
    cause: 'index_lost_documents',
    breakIt: (_, random) => {
      const factor = between(random, 0.3, 1);
      return { chunks: [], latency: (ms) => factor * ms };
    },
  },
  {
    name: 're-chunk',
    does: '30 to 100 % of the documents are split in two, with new ids',
    cause: 'corpus_changed',
    breakIt: ({ chunks }, random) => ({
      chunks: cutInTwo(chunks, some(chunks, between(random, 0.3, 1), random), random),
    }),
  },
  {
    name: 'ids renamed',
    does: 'every document has a new id, in the store or only in the results',
    cause: 'ids_renamed',
    breakIt: ({ chunks }, random) =>
      isIn(random, 0.5)
        ? { chunks: chunks.map((chunk) => ({ ...chunk, id: `new:${chunk.id}` })) }
        : { results: (ids) => ids.map((id) => `new:${id}`) },
  },
  {
    name: 'stuck alias',
    does: 'the search uses the old index, from before an update of 15 to 60 % of the documents',
    cause: 'old_index',
    breakIt: ({ chunks }, random) => {
      const updated = some(chunks, between(random, 0.15, 0.6), random);
      const chunksUntilNow = chunks.map((chunk) => (updated.has(chunk.id) ? rewritten(chunk, random) : chunk));
      const relabel = (id: string): string => (updated.has(id) ? `${id}@2` : id);
      const golden = (queries: readonly Question[]): Question[] =>
        queries.map((query) => ({
          ...query,
          judgments: query.judgments.map(({ documentId, grade }) => ({ documentId: relabel(documentId), grade })),
        }));
      // recalld addresses the store either by the name of the index, or by the alias that the search uses.
      return isIn(random, 0.5)
        ? { chunksUntilNow, chunks, golden }
        : { chunksUntilNow, chunks: chunksUntilNow, golden, searched: () => chunks };
    },
  },
  {
    name: 'second index',
    does: 'every other call goes to a replica that lacks 30 to 80 % of the documents, or contains older versions',
    cause: 'split_index',
    breakIt: ({ chunks }, random) => {
      const share = between(random, 0.3, 0.7);
      const missing = some(chunks, between(random, 0.3, 0.8), random);
      const second = isIn(random, 0.7)
        ? chunks.filter(({ id }) => !missing.has(id))
        : chunks.map((chunk) => (missing.has(chunk.id) ? { ...chunk, id: `${chunk.id}@0` } : chunk));
      return { searched: ({ random: drawn }) => (isIn(drawn, share) ? second : chunks) };
    },
  },
  {
    name: 'index parameters',
    does: 'a search examines only 10 to 60 % of the candidates that it examined before',
    cause: 'index_parameters',
    breakIt: (_, random) => ({ quality: between(random, 0.1, 0.6), isDetected: isIn(random, 0.3) }),
  },
  {
    name: 'embedding',
    does: 'queries and documents are embedded by different models',
    cause: 'embedding_model',
    breakIt: ({ chunks }, random) => ({ embed: otherModel(chunks[0]?.vector.length ?? 0, random) }),
  },
];
