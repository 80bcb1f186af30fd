/** Faults of the index and of what its vectors are made by. */
import type { Question } from './corpus.ts';
import { cutInTwo, otherModel, rewritten } from './damage.ts';
import { between, type Fault, isIn, some } from './fault.ts';

export const ofIndex: readonly Fault[] = [
  {
    name: 'lost documents',
    does: '8 to 70 % of the documents vanish from the store',
    cause: 'index_lost_documents',
    breakIt: ({ chunks }, random) => {
      const gone = some(chunks, between(random, 0.08, 0.7), random);
      return { chunks: chunks.filter(({ id }) => !gone.has(id)) };
    },
  },
  {
    name: 'lost topics',
    does: 'the documents of a tenth to a half of the topics vanish',
    cause: 'index_lost_documents',
    breakIt: ({ chunks }, random) => {
      const share = between(random, 0.1, 0.5);
      const gone = new Set([...new Set(chunks.map(({ topic }) => topic))].filter(() => isIn(random, share)));
      return { chunks: chunks.filter(({ topic }) => !gone.has(topic)) };
    },
  },
  {
    name: 'empty index',
    does: 'the store holds no document',
    cause: 'index_lost_documents',
    breakIt: (_, random) => {
      const factor = between(random, 0.3, 1);
      return { chunks: [], latency: (ms) => factor * ms };
    },
  },
  {
    name: 're-chunk',
    does: '30 to 100 % of the documents are cut into two with new ids',
    cause: 'corpus_changed',
    breakIt: ({ chunks }, random) => ({
      chunks: cutInTwo(chunks, some(chunks, between(random, 0.3, 1), random), random),
    }),
  },
  {
    name: 'ids renamed',
    does: 'every document has another id, in the store or only in the answers',
    cause: 'ids_renamed',
    breakIt: ({ chunks }, random) =>
      isIn(random, 0.5)
        ? { chunks: chunks.map((chunk) => ({ ...chunk, id: `new:${chunk.id}` })) }
        : { results: (ids) => ids.map((id) => `new:${id}`) },
  },
  {
    name: 'stuck alias',
    does: 'the index of before an update of 15 to 60 % of the documents answers again',
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
      // The store is asked by the name of the index, or by the alias as the search is.
      return isIn(random, 0.5)
        ? { chunksUntilNow, chunks, golden }
        : { chunksUntilNow, chunks: chunksUntilNow, golden, searched: () => chunks };
    },
  },
  {
    name: 'second index',
    does: 'a replica that lacks 30 to 80 % of the documents, or holds older ones, answers every other call',
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
    does: 'a search looks at 10 to 60 % of what it looked at before',
    cause: 'index_parameters',
    breakIt: (_, random) => ({ quality: between(random, 0.1, 0.6), isDetected: isIn(random, 0.3) }),
  },
  {
    name: 'embedding',
    does: 'another model embeds questions than embedded the documents',
    cause: 'embedding_model',
    breakIt: ({ chunks }, random) => ({ embed: otherModel(chunks[0]?.vector.length ?? 0, random) }),
  },
];
