/** `recalld store-test` on a correct store, and on stores with one fault each, which the test of that name detects. */
import { describe, expect, it } from 'vitest';
import {
  knownSubject,
  runStoreTest,
  type StoreFinding,
  storeTests,
  type TestedStore,
} from '../../../../src/connectors/stores/store-tests/run.ts';
import type { NearestRequest, StoreOutcome, VectorStore } from '../../../../src/connectors/stores/vector-store.ts';
import { matrixOf, rowOf } from '../../../../src/math/vector/matrix.ts';
import { MemoryVectorStore } from '../../../support/memory-vector-store.ts';
import { topicByTopic } from '../../../support/vector-documents.ts';

const signal = new AbortController().signal;
/** Numbers of documents below and above store-test's sample size. */
const [WHOLE, LARGE] = [300, 1100];

/** A store that is correct except for the given functions. */
function aStore(count: number, wrong: (right: VectorStore) => Partial<VectorStore> = () => ({})): VectorStore {
  const memory = new MemoryVectorStore(topicByTopic({ count, dimensions: 16, topics: 8 }));
  const right: VectorStore = {
    kind: 'memory',
    describe: () => memory.describe(),
    async nearest(request, cancel) {
      if (request.vector.length !== 16) {
        const message = `It was asked for ${request.vector.length} numbers and holds 16.`;
        return { kind: 'failed', code: 'dimension_mismatch', message, latencyMs: 1 };
      }
      const [condition] = Object.entries(request.filter);
      const outcome = await memory.nearest({ ...request, k: condition === undefined ? request.k : count }, cancel);
      await Promise.resolve();
      cancel.throwIfAborted();
      return condition === undefined ? outcome : keepTopic(outcome, condition[1], request);
    },
    sample: (request) => memory.sample(request),
    existing: (ids) => memory.existing(ids),
    list: (from) => memory.list(from),
    chunks: (ids) => memory.chunks(ids),
    close: () => memory.close(),
  };
  return { ...right, ...wrong(right) };

  function keepTopic(
    outcome: Awaited<ReturnType<VectorStore['nearest']>>,
    topic: string,
    { k }: NearestRequest,
  ): Awaited<ReturnType<VectorStore['nearest']>> {
    if (outcome.kind !== 'ok') return outcome;
    const inTopic = new Set(memory.held.filter(({ content }) => content?.endsWith(` ${topic}`)).map(({ id }) => id));
    const neighbours = outcome.value.neighbours.filter(({ id }) => inTopic.has(id)).slice(0, k);
    return { ...outcome, value: { neighbours, isShort: neighbours.length < k } };
  }
}

async function findingsOf(store: VectorStore, filter: TestedStore['filter'] = { name: 'topic', value: '3' }) {
  const known = await knownSubject({ store, filter, signal });
  if (known.kind === 'finding') return [known.finding];
  const findings: StoreFinding[] = [];
  for (const test of storeTests) findings.push(await runStoreTest(test, known.subject));
  return findings;
}

const withVerdict = (findings: readonly StoreFinding[], verdict: string) =>
  findings.filter((finding) => finding.verdict === verdict).map(({ test }) => test);

/** Wraps a function so that the value of its outcome changes. */
async function changed<Value>(
  outcome: Promise<StoreOutcome<Value>>,
  change: (value: Value) => Value,
): Promise<StoreOutcome<Value>> {
  const given = await outcome;
  return given.kind === 'ok' ? { ...given, value: change(given.value) } : given;
}

const unsupported = async () => ({ kind: 'unsupported', reason: 'It cannot.' }) as const;

const faults: Readonly<Record<string, (right: VectorStore) => Partial<VectorStore>>> = {
  'search.order': (right) => ({
    nearest: (request, cancel) =>
      changed(right.nearest(request, cancel), (found) => ({ ...found, neighbours: found.neighbours.toReversed() })),
  }),
  'search.recall': (right) => ({
    nearest: (request, cancel) =>
      request.exact
        ? right.nearest(request, cancel)
        : changed(right.nearest({ ...request, k: 4 * request.k }, cancel), ({ neighbours }) => ({
            neighbours: neighbours.slice(-request.k),
            isShort: neighbours.length < request.k,
          })),
  }),
  'search.texts': (right) => ({
    nearest: (request, cancel) => right.nearest({ ...request, withContent: true }, cancel),
  }),
  'search.filter': (right) => ({
    nearest: (request, cancel) => right.nearest({ ...request, filter: {} }, cancel),
  }),
  'search.length': (right) => ({
    nearest: (request, cancel) => right.nearest({ ...request, vector: request.vector.slice(0, 16) }, cancel),
  }),
  'search.cancel': (right) => ({
    nearest: (request) => right.nearest(request, signal),
  }),
  'ids.existing': () => ({
    existing: async (ids) => ({ kind: 'ok', value: new Set(ids), latencyMs: 1 }),
  }),
  'ids.list': (right) => ({
    list: (from, cancel) => changed(right.list(from, cancel), (page) => ({ ...page, ids: page.ids.slice(0, 20) })),
  }),
  chunks: (right) => ({
    chunks: (ids, cancel) => changed(right.chunks(ids, cancel), (chunks) => chunks.slice(1)),
  }),
  describe: (right) => ({
    describe: (cancel) =>
      changed(right.describe(cancel), (description) => ({
        ...description,
        traits: { ...description.traits, writes: String(Math.random()) },
      })),
  }),
  'sample.texts': (right) => ({
    sample: (request, cancel) =>
      changed(right.sample(request, cancel), (sample) => ({
        ...sample,
        contents: request.n === 20 ? sample.ids.map(() => null) : sample.contents,
      })),
  }),
  'sample.seed': (right) => ({
    sample: (request, cancel) =>
      right.sample(request.n === 50 ? { ...request, seed: Math.random() * 1e9 } : request, cancel),
  }),
  // Samples only the first half of the documents, which are sorted by topic.
  'sample.uniform': (right) => ({
    sample: (request, cancel) => {
      if (request.n !== 75 && request.n !== 500) return right.sample(request, cancel);
      return changed(right.sample({ ...request, n: 100_000 }, cancel), (all) => {
        const rows = all.ids.map((_, row) => row).slice(0, Math.floor(all.ids.length / 2));
        const start = (request.seed * 37) % Math.max(1, rows.length - request.n);
        const some = rows.slice(start, start + request.n);
        return {
          ...all,
          ids: some.map((row) => all.ids[row] ?? ''),
          vectors: matrixOf(some.map((row) => rowOf(all.vectors, row))),
          contents: some.map(() => null),
        };
      });
    },
  }),
};

it.each([WHOLE, LARGE])('a correct store of %d documents fails no test', async (count) => {
  const findings = await findingsOf(aStore(count));
  expect(withVerdict(findings, 'failed')).toEqual([]);
  expect(withVerdict(findings, 'not_tried')).toEqual(count === WHOLE ? [] : ['search.short']);
});

describe('a store with one fault', () => {
  it.each(Object.entries(faults))('fails the test %s', async (name, wrong) => {
    expect(withVerdict(await findingsOf(aStore(WHOLE, wrong)), 'failed')).toContain(name);
  });

  it.each(['search.order', 'search.recall', 'sample.uniform'])(
    'fails the test %s even if only a sample of its documents is known',
    async (name) => {
      expect(withVerdict(await findingsOf(aStore(LARGE, faults[name])), 'failed')).toContain(name);
    },
  );
});

describe('the store test', () => {
  it('reports an unsupported operation as unsupported, not as failed', async () => {
    const cannot = aStore(WHOLE, (right) => ({
      list: unsupported,
      nearest: (request, cancel) => (request.exact ? unsupported() : right.nearest(request, cancel)),
    }));
    const findings = await findingsOf(cannot);
    expect(withVerdict(findings, 'failed')).toEqual([]);
    expect(withVerdict(findings, 'unsupported')).toEqual(['ids.list', 'search.exact']);
  });

  it('passes only tests that need no sample if sampling is unsupported', async () => {
    const findings = await findingsOf(aStore(WHOLE, () => ({ sample: unsupported })));
    expect(withVerdict(findings, 'failed')).toEqual([]);
    expect(withVerdict(findings, 'passed')).toEqual(['describe', 'ids.list', 'search.length', 'search.cancel']);
  });

  it('reports a single finding if the store is unavailable', async () => {
    const away: Partial<VectorStore> = {
      describe: async () => ({ kind: 'failed', code: 'timeout', message: 'It did not answer.', latencyMs: 1 }),
    };
    expect(await findingsOf(aStore(WHOLE, () => away))).toEqual([
      expect.objectContaining({ verdict: 'unreachable', message: 'It did not answer.' }),
    ]);
  });
});
