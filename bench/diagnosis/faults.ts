/** What can go wrong with the pipeline of the demo, by seeds that choose how much of it. */
import type { Cause } from '../../src/diagnosis/rules/cause.ts';
import type { OwnWork } from '../../src/diagnosis/rules/observations.ts';
import type { QueryOutcome } from '../../src/model.ts';
import { drawn } from '../../src/stats/random.ts';
import type { RandomNumbers } from '../random-numbers.ts';
import { type Chunk, type Corpus, embedderOf } from './world.ts';

/** What a fault makes of a healthy pipeline; what is left out stays as it is. */
export interface Broken {
  readonly chunks?: readonly Chunk[];
  readonly embed?: (text: string) => Float32Array;
  /** Of its lists, into how many a search of the index looks. */
  readonly probes?: number;
  /** Order of the results of a search, the best first. */
  readonly rerank?: <Result>(results: readonly Result[]) => readonly Result[];
  readonly outcome?: () => QueryOutcome;
  readonly latencyMs?: () => number;
  /** A deployment of the retriever that somebody annotated. */
  readonly isAnnotated?: true;
  /** Share of live traffic that asks about an article that the store never held. */
  readonly newTopic?: number;
  /** The golden set has a new version, of which this share of labels is wrong. */
  readonly wrongLabels?: number;
  readonly ownWork?: OwnWork;
}

export interface Fault {
  readonly name: string;
  readonly does: string;
  readonly cause: Cause;
  /** What tells the cause is not measured without a store, an embedder or an annotation. */
  readonly needs: 'nothing' | 'parts';
  breakIt(corpus: Corpus, seed: number, random: RandomNumbers): Broken;
}

const TIMEOUT_MS = 2000;

export const faults: readonly Fault[] = [
  {
    name: 'outage',
    does: 'the search answers 20 to 100 % of queries with status 503',
    cause: 'retriever_outage',
    needs: 'nothing',
    breakIt: (_corpus, _seed, random) => {
      const share = 0.2 + 0.8 * random.uniform();
      return { outcome: () => (random.uniform() < share ? 'error' : 'ok') };
    },
  },
  {
    name: 'slow',
    does: 'searches take 5 to 150 times as long; those over 2 s time out',
    cause: 'retriever_slow',
    needs: 'nothing',
    breakIt: (_corpus, _seed, random) => {
      const factor = 5 * 30 ** random.uniform();
      return { latencyMs: () => factor * healthyLatency(random) };
    },
  },
  {
    name: 'index',
    does: '10 to 60 % of the documents vanish from the store',
    cause: 'index_lost_documents',
    needs: 'nothing',
    breakIt: ({ chunks }, seed, random) => {
      const left = Math.round(chunks.length * (0.4 + 0.5 * random.uniform()));
      return { chunks: drawn(chunks, left, seed) };
    },
  },
  {
    name: 'empty index',
    does: 'the store holds no document',
    cause: 'index_lost_documents',
    needs: 'parts',
    breakIt: () => ({ chunks: [] }),
  },
  {
    name: 're-chunk',
    does: '30 to 100 % of the documents are cut into two with new ids',
    cause: 'corpus_changed',
    needs: 'nothing',
    breakIt: ({ chunks, embedder }, seed, random) => {
      const count = Math.round(chunks.length * (0.3 + 0.7 * random.uniform()));
      const cut = new Set(drawn(chunks, count, seed).map(({ id }) => id));
      return {
        chunks: chunks.flatMap((chunk) => {
          if (!cut.has(chunk.id)) return [chunk];
          const words = chunk.text.split(' ');
          const half = Math.ceil(words.length / 2);
          return [words.slice(0, half), words.slice(half)].map((part, index) => {
            const text = part.join(' ');
            return { id: `${chunk.id}#${index}`, title: chunk.title, text, vector: embedder.embed(text) };
          });
        }),
      };
    },
  },
  {
    name: 'embedding',
    does: 'another model embeds questions than embedded the documents',
    cause: 'embedding_model',
    needs: 'parts',
    breakIt: ({ fitted }, seed) => {
      const foreign = embedderOf(fitted, seed);
      return { embed: (text) => foreign.embed(text) };
    },
  },
  {
    name: 'index parameters',
    does: 'a search looks into 1 to 3 of 16 lists of the index',
    cause: 'index_parameters',
    needs: 'parts',
    breakIt: (_corpus, seed) => ({ probes: 1 + (seed % 3) }),
  },
  {
    name: 'topic',
    does: '8 to 20 % of live traffic asks about articles that the store never held',
    cause: 'uncovered_topic',
    needs: 'parts',
    breakIt: (_corpus, _seed, random) => ({ newTopic: 0.08 + 0.12 * random.uniform() }),
  },
  {
    name: 'deployment',
    does: 'an annotated release of the retriever mixes up the order of results',
    cause: 'deployment',
    needs: 'nothing',
    breakIt: (_corpus, seed) => ({ ...mixedUp(seed), isAnnotated: true }),
  },
  {
    name: 'labels',
    does: 'a new version of the golden set has 10 to 40 % wrong labels',
    cause: 'golden_labels',
    needs: 'nothing',
    breakIt: (_corpus, _seed, random) => ({ wrongLabels: 0.1 + 0.3 * random.uniform() }),
  },
  {
    name: 'recalld',
    does: 'the scheduler starts no run for 4 to 20 intervals',
    cause: 'recalld',
    needs: 'nothing',
    breakIt: (_corpus, _seed, random) => ({
      ownWork: { kind: 'overdue', goldenSet: 'golden', intervals: 4 + 16 * random.uniform() },
    }),
  },
  {
    name: 'silent release',
    does: 'the same release, which nobody annotated',
    cause: 'unknown',
    needs: 'nothing',
    breakIt: (_corpus, seed) => mixedUp(seed),
  },
  {
    name: 'nothing',
    does: 'nothing is wrong: the floor of the check is too high',
    cause: 'unknown',
    needs: 'nothing',
    breakIt: () => ({}),
  },
];

function mixedUp(seed: number): Broken {
  return {
    rerank: (results) =>
      seed % 2 === 0 ? results.toReversed() : [...results.slice(1 + (seed % 3)), ...results.slice(0, 1 + (seed % 3))],
  };
}

/** Log-normal around 20 ms. */
export function healthyLatency(random: RandomNumbers): number {
  return 20 * Math.exp(0.3 * random.normal());
}

export function outcomeOf(broken: Broken, latencyMs: number): QueryOutcome {
  if (latencyMs > TIMEOUT_MS) return 'timeout';
  return broken.outcome?.() ?? 'ok';
}
