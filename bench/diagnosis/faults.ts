/** All faults of the benchmark, and harmless changes. */
import { blurred, otherModel, reordered } from './damage.ts';
import { among, between, type Fault, isIn } from './fault.ts';
import { ofAnswers } from './faults-of-answers.ts';
import { ofCalls } from './faults-of-calls.ts';
import { ofIndex } from './faults-of-index.ts';
import { ofTexts } from './faults-of-texts.ts';
import { ofTraffic } from './faults-of-traffic.ts';

const ofOthers: readonly Fault[] = [
  {
    name: 'release, order',
    does: 'an annotated retriever release shuffles the results',
    cause: 'deployment',
    breakIt: (_, random) => ({ ...reordered(random), annotated: 'retriever' }),
  },
  {
    name: 'release, questions',
    does: 'an annotated release of the retriever or embedder adds noise to query vectors',
    cause: 'deployment',
    breakIt: (_, random) => {
      const blur = between(random, 0.8, 2.5);
      const seed = 1 + random.below(1000);
      return {
        annotated: among(random, ['retriever', 'embedder'] as const),
        embed: blurred(blur, seed),
      };
    },
  },
  {
    name: 'topic',
    does: '8 to 25 % of live traffic asks about topics that the store never contained',
    cause: 'uncovered_topic',
    breakIt: (_, random) => ({ newTopic: between(random, 0.08, 0.25) }),
  },
  {
    name: 'wrong judgments',
    does: 'in a new version of the golden set, 10 to 40 % of the judgments are wrong',
    cause: 'golden_labels',
    breakIt: (_, random) => {
      const share = between(random, 0.1, 0.4);
      return {
        annotated: 'golden',
        golden: (queries) =>
          queries.map((query, i) =>
            isIn(random, share) ? { ...query, judgments: queries[(i + 7) % queries.length]?.judgments ?? [] } : query,
          ),
      };
    },
  },
  {
    name: 'no schedule',
    does: 'the scheduler starts no runs for 4 to 20 intervals',
    cause: 'recalld',
    breakIt: (_, random) => ({ ownWork: { kind: 'overdue', goldenSet: 'golden', intervals: between(random, 4, 20) } }),
  },
  {
    name: 'runs fail',
    does: 'a run does not complete, although the retriever responds',
    cause: 'recalld',
    breakIt: () => ({ ownWork: { kind: 'failed', goldenSet: 'golden', reason: 'its deadline passed.' } }),
  },
  {
    name: 'not on the list',
    does: 'noise is added to query vectors, or a rule ranks the same few documents first; no release was annotated',
    cause: 'unknown',
    breakIt: ({ chunks, k }, random) => {
      const blur = between(random, 1, 2.5);
      const seed = 1 + random.below(1000);
      const first = Array.from({ length: 1 + random.below(Math.ceil(k / 2)) }, () => among(random, chunks).id);
      return isIn(random, 0.5)
        ? { embed: blurred(blur, seed) }
        : { results: (ids) => [...new Set([...first, ...ids])].slice(0, k) };
    },
  },
];

export const faults: readonly Fault[] = [...ofCalls, ...ofAnswers, ...ofIndex, ...ofOthers, ...ofTexts, ...ofTraffic];

/** Streams without a fault in which an alert fires by chance or because of a tight threshold. */
export const quietStreams: readonly Fault[] = [
  { name: 'no fault', does: 'nothing changed', cause: 'unknown', breakIt: () => ({}) },
  {
    name: 'harmless release',
    does: 'a release that changed no results was annotated',
    cause: 'unknown',
    breakIt: (_, random) => ({ annotated: among(random, ['retriever', 'index', 'embedder'] as const) }),
  },
  {
    name: 'busy machine',
    does: 'responses take up to twice as long',
    cause: 'unknown',
    breakIt: (_, random) => {
      const factor = between(random, 1, 1.9);
      return { latency: (ms) => factor * ms };
    },
  },
  {
    name: 'new documents',
    does: 'the store grew by 2 to 25 %, with documents on new topics',
    cause: 'unknown',
    breakIt: ({ chunks }, random) => {
      const added = chunks.filter(() => isIn(random, between(random, 0.02, 0.25)));
      const model = otherModel(chunks[0]?.vector.length ?? 0, random);
      return {
        chunks: [...chunks, ...added.map(({ id, topic, vector }) => ({ id: `${id}+`, topic, vector: model(vector) }))],
      };
    },
  },
  {
    name: 'new version of the set',
    does: 'a new version of the golden set replaces 5 to 20 % of the queries',
    cause: 'unknown',
    breakIt: (_, random) => {
      const share = between(random, 0.05, 0.2);
      return { golden: (queries) => queries.filter(() => !isIn(random, share)) };
    },
  },
];
