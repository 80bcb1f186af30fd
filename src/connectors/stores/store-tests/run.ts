/** Lists the store tests, and runs them on an existing store without writing to it. */
import { plural } from '../../../core/format.ts';
import { cosineSimilarity, matrixOf, rowOf } from '../../../math/vector/matrix.ts';
import {
  MAX_CHUNKS,
  type SampledVectors,
  type SampleRequest,
  type StoreDescription,
  type VectorStore,
} from '../vector-store.ts';
import { searchTests } from './search.ts';
import {
  Away,
  Broken,
  chunksById,
  MAX_UNEVEN,
  must,
  NotSupported,
  NotTried,
  type StoreSubject,
  type StoreTest,
  unevenness,
  valueOf,
} from './subject.ts';

export type StoreVerdict = 'passed' | 'failed' | 'unsupported' | 'not_tried' | 'unreachable';

export interface StoreFinding {
  readonly test: string;
  readonly does: string;
  readonly verdict: StoreVerdict;
  /** The observation, in one sentence. */
  readonly message: string;
}

/** @throws the reason of the subject's signal, and errors that indicate a bug */
export async function runStoreTest(test: StoreTest, subject: StoreSubject): Promise<StoreFinding> {
  const { name, does } = test;
  try {
    return { test: name, does, verdict: 'passed', message: await test.run(subject) };
  } catch (error) {
    return findingOf(error, name, does);
  }
}

/** Converts the error of a store test to a finding. @throws the error if it is not a result of the test */
function findingOf(error: unknown, test: string, does: string): StoreFinding {
  const verdict = verdictOf(error);
  if (verdict === null) throw error;
  return { test, does, verdict, message: (error as Error).message };
}

function verdictOf(error: unknown): StoreVerdict | null {
  if (error instanceof Broken) return 'failed';
  if (error instanceof NotSupported) return 'unsupported';
  if (error instanceof NotTried) return 'not_tried';
  return error instanceof Away ? 'unreachable' : null;
}

/** Number of vectors to sample from an existing store; a smaller store is read completely. */
const KNOWN = 1000;
const QUERIES = 6;

export interface TestedStore {
  readonly store: VectorStore;
  readonly filter: { readonly name: string; readonly value: string } | null;
  readonly signal: AbortSignal;
}

/**
 * Samples a store: all vectors if there are fewer than 1,000, otherwise 1,000 vectors. The test queries are some of the
 * sampled vectors, and sums of two sampled vectors. Returns a finding if the store cannot even be described.
 */
export async function knownSubject(tested: TestedStore) {
  try {
    return { kind: 'subject', subject: await knowStore(tested) } as const;
  } catch (error) {
    const does = 'describes itself and returns some of its vectors';
    return { kind: 'finding', finding: findingOf(error, 'describe', does) } as const;
  }
}

async function knowStore({ store, filter, signal }: TestedStore): Promise<StoreSubject> {
  const description = valueOf(await store.describe(signal));
  const { ids, vectors, contents } = await sampleIfAny(store, signal);
  const known = ids.map((id, row) => ({ id, vector: rowOf(vectors, row), content: contents[row] ?? null }));
  const some = known.slice(0, QUERIES).map(({ vector }) => vector);
  const sums = some.map((vector, place) => {
    const other = known[known.length - 1 - place]?.vector ?? vector;
    return vector.map((value, number) => value + (other[number] ?? 0));
  });
  return {
    store,
    description,
    known,
    byId: chunksById(known),
    isWhole: known.length < KNOWN && known.length >= Math.min(1, description.count),
    queries: [...some, ...sums],
    filter: filter === null ? null : { ...filter, ids: null },
    // Similarities from stores with 8 bits per number are off by about 0.01.
    tolerance: 0.05,
    minRecall: 0.5,
    signal,
  };
}

/**
 * Samples the store. Returns an empty sample if the store does not support sampling; then only the store's description
 * is known.
 */
async function sampleIfAny(store: VectorStore, signal: AbortSignal): Promise<SampledVectors> {
  const outcome = await store.sample({ n: KNOWN, seed: 1, withContent: true }, signal);
  return outcome.kind === 'unsupported'
    ? { ids: [], vectors: matrixOf([]), contents: [], isSeeded: true }
    : valueOf(outcome);
}

/** Ids that no document has. Some of these ids contain characters that end a string in a filter language. */
const impossible = ['', `' or ''='`, '*', 'recalld-store-test-no-such-id', 'a "quoted" \\ id'];
const MAX_PAGES = 20;

async function described({ store, known, isWhole, description, signal }: StoreSubject): Promise<string> {
  const again: StoreDescription = valueOf(await store.describe(signal));
  must(
    JSON.stringify(again.traits) === JSON.stringify(description.traits),
    'The traits of the store change although nothing was written.',
  );
  must(description.traits['size_class'] !== undefined, 'The traits of the store have no size_class.');
  const { count, isExactCount, dimensions, metric } = again;
  const length = known[0]?.vector.length ?? dimensions;
  must(
    dimensions === length || dimensions === null,
    `The store reports ${dimensions} dimensions but contains vectors with ${length}.`,
  );
  const off = Math.abs(count - known.length) / Math.max(1, known.length);
  must(
    !isWhole || off <= (isExactCount ? 0 : 0.1),
    `The store reports ${plural(count, 'vector')} but contains ${known.length}.`,
  );
  const about = isExactCount ? '' : 'about ';
  return `${about}${plural(count, 'vector')} (dimensions: ${dimensions ?? 'unknown'}, metric: ${metric}), ${plural(Object.keys(again.traits).length, 'trait')}.`;
}

async function existing({ store, known, isWhole, signal }: StoreSubject): Promise<string> {
  must(valueOf(await store.existing([], signal)).size === 0, 'A lookup of an empty list of ids returns ids.');
  const there = new Set(known.map(({ id }) => id));
  const [first] = there;
  if (first === undefined) throw new NotTried('The store is empty.');
  const near = [`${first} `, first.slice(0, -1), first.toUpperCase(), first.toLowerCase()];
  const absent = [...impossible, ...(isWhole ? near.filter((id) => !there.has(id)) : [])];
  const few = valueOf(await store.existing([first, ...absent], signal));
  must(
    few.size === 1 && few.has(first),
    'A lookup finds an id that is not in the store, or misses an id that is in the store.',
  );
  const many = Array.from({ length: 2500 }, (_, number) => `recalld-store-test-${number}`);
  const found = valueOf(await store.existing([...there, ...many], signal));
  must(found.size === there.size, `A lookup finds only ${found.size} of ${plural(there.size, 'id')} in the store.`);
  must(
    [...found].every((id) => there.has(id)),
    'A lookup of many ids finds an id that is not in the store.',
  );
  return `${plural(there.size, 'id')} found among ${there.size + many.length} requested.`;
}

async function listed({ store, known, byId, isWhole, signal }: StoreSubject): Promise<string> {
  const ids: string[] = [];
  let from: string | null = null;
  let pages = 0;
  do {
    const page: { readonly ids: readonly string[]; readonly next: string | null } = valueOf(
      await store.list(from, signal),
    );
    ids.push(...page.ids);
    from = page.next;
    pages += 1;
  } while (from !== null && pages < MAX_PAGES);
  if (from !== null) return `The first ${plural(ids.length, 'id')} arrived in ${pages} pages.`;
  const all = new Set(ids);
  const lost = [...byId.keys()].filter((id) => !all.has(id)).length;
  must(lost === 0, `The list lacks ${plural(lost, 'document')} found in the store.`);
  must(!isWhole || ids.every((id) => byId.has(id)), 'The list contains an id that is not in the store.');
  must(
    !isWhole || ids.length <= known.length,
    'The list contains more results of a document than the document has chunks.',
  );
  return `${plural(all.size, 'id')} in ${plural(pages, 'page')}.`;
}

function textsOf(some: readonly { readonly content: string | null }[]): string {
  return JSON.stringify(some.map(({ content }) => content ?? '').toSorted());
}

async function chunks({ store, byId, isWhole, signal }: StoreSubject): Promise<string> {
  must(
    valueOf(await store.chunks([], signal)).length === 0,
    'The store returns chunks for an empty list of documents.',
  );
  const ids = [...byId.keys()].slice(0, 20);
  if (ids.length === 0) throw new NotTried('The store is empty.');
  const found = valueOf(await store.chunks([...ids, ...impossible], signal));
  must(found.length <= MAX_CHUNKS, `The store returns more than ${MAX_CHUNKS} chunks at a time.`);
  const asked = new Set(ids);
  must(
    found.every(({ id }) => asked.has(id)),
    'The store returns chunks of documents that were not requested.',
  );
  const given = new Set(found.map(({ id }) => id));
  must(
    given.size === ids.length || found.length === MAX_CHUNKS,
    `The store returns chunks for only ${given.size} of ${plural(ids.length, 'document')}.`,
  );
  for (const id of isWhole ? ids : []) {
    const own = found.filter((chunk) => chunk.id === id);
    must(textsOf(own) === textsOf(byId.get(id) ?? []), 'The store returns a chunk with the text of another chunk.');
  }
  return `${plural(found.length, 'chunk')} from ${plural(ids.length, 'document')}.`;
}

const contentTests: readonly StoreTest[] = [
  {
    name: 'describe',
    does: 'describes itself, and returns the same description while nothing changes',
    run: described,
  },
  { name: 'ids.existing', does: 'finds which of zero, some or thousands of ids exist', run: existing },
  { name: 'ids.list', does: 'lists the ids of all documents, page by page', run: listed },
  {
    name: 'chunks',
    does: 'returns the chunks of some documents, and no chunks for documents that are not in the store',
    run: chunks,
  },
];

async function draw({ store, signal }: StoreSubject, n: number, more: Partial<SampleRequest> = {}) {
  return valueOf(await store.sample({ n, seed: 7, withContent: false, ...more }, signal));
}

/** Returns a unique key for each chunk, because several chunks may share a document id. */
function keysOf({ ids, vectors }: SampledVectors): string[] {
  return ids.map((id, row) => `${id}\u0000${Buffer.from(rowOf(vectors, row).slice().buffer).toString('base64')}`);
}

function mustBeDrawn({ byId, isWhole, description }: StoreSubject, sample: SampledVectors): void {
  const { ids, vectors, contents } = sample;
  must(
    vectors.rows === ids.length && contents.length === ids.length,
    'A sample has different numbers of ids, vectors and texts.',
  );
  must(vectors.data.every(Number.isFinite), 'A sampled vector contains a number that is not finite.');
  const { dimensions } = description;
  must(
    ids.length === 0 || dimensions === null || vectors.columns === dimensions,
    'Sampled vectors do not have the length that the store reports.',
  );
  const times = new Map<string, number>();
  for (const [row, id] of ids.entries()) {
    times.set(id, (times.get(id) ?? 0) + 1);
    const same = byId.get(id);
    must(same !== undefined || !isWhole, 'A sample contains a document that is not in the store.');
    if (same === undefined || !isWhole) continue;
    // Vectors are compared by direction, because some stores normalize them to norm 1.
    const vector = rowOf(vectors, row);
    const isKnown = same.some((chunk) => isAlike(chunk.vector, vector));
    must(isKnown, 'A sample contains a vector that does not belong to its document.');
    must((times.get(id) ?? 0) <= same.length, 'A sample contains a chunk twice.');
  }
}

function isAlike(a: Float32Array, b: Float32Array): boolean {
  return cosineSimilarity(a, b) > 1 - 1e-4 || (a.every((value) => value === 0) && b.every((value) => value === 0));
}

async function distinct(subject: StoreSubject): Promise<string> {
  const { known, isWhole } = subject;
  const n = Math.min(100, known.length);
  const sample = await draw(subject, n);
  must(sample.ids.length === n, `A sample has ${plural(sample.ids.length, 'vector')} instead of ${n}.`);
  mustBeDrawn(subject, sample);
  const hasNoTexts = sample.contents.every((content) => content === null);
  must(hasNoTexts, 'The store returns texts that were not requested.');
  if (!isWhole) return `A sample has ${plural(n, 'vector')}, all finite and of the right length.`;
  const all = await draw(subject, known.length + 400);
  must(
    all.ids.length === known.length,
    `When asked for more vectors than the store has, it returned ${all.ids.length} of ${known.length}.`,
  );
  mustBeDrawn(subject, all);
  return `A sample has ${plural(n, 'vector')}, and a request for more vectors returns all ${known.length}.`;
}

async function texts(subject: StoreSubject): Promise<string> {
  const byId = chunksById(subject.known.filter(({ content }) => content !== null));
  if (byId.size === 0) throw new NotTried('The config does not name the text field of chunks.');
  const sample = await draw(subject, 20, { withContent: true, seed: 3 });
  must(
    sample.contents.some((content) => content !== null),
    'A sample has no texts, although texts were requested.',
  );
  for (const [row, id] of subject.isWhole ? sample.ids.entries() : []) {
    const isOwn = byId.get(id)?.some(({ content }) => content === sample.contents[row]) ?? false;
    must(isOwn, 'A sampled chunk has the text of another chunk.');
  }
  return `Sampled chunks with their own texts: ${sample.contents.filter((content) => content !== null).length} of ${sample.ids.length}.`;
}

async function seeded(subject: StoreSubject): Promise<string> {
  const n = Math.min(50, Math.floor(subject.known.length / 2));
  if (n < 10) throw new NotTried('The store is too small to distinguish two samples.');
  const first = await draw(subject, n, { seed: 11 });
  const [again, other] = [await draw(subject, n, { seed: 11 }), await draw(subject, n, { seed: 12 })];
  const isSame = JSON.stringify(keysOf(again)) === JSON.stringify(keysOf(first));
  must(
    isSame || !first.isSeeded,
    'The same seed returns two different samples, although the store reports seeded sampling.',
  );
  const differs = JSON.stringify(keysOf(other).toSorted()) !== JSON.stringify(keysOf(first).toSorted());
  must(differs, 'Different seeds return the same sample.');
  return first.isSeeded
    ? 'The same seed returns the same sample, and another seed returns a different one.'
    : 'The store reports that it does not support seeded sampling.';
}

/**
 * For a completely known store, checks how often each chunk was sampled. For a larger store, counts how many chunks
 * each pair of samples shares. Two samples of n chunks from a store of N chunks share n² / N chunks on average
 * if every chunk is equally likely, and more if some chunks are preferred.
 */
async function uniform(subject: StoreSubject): Promise<string> {
  const { known, isWhole, description } = subject;
  const n = isWhole ? Math.min(150, Math.floor(known.length / 4)) : Math.min(500, known.length);
  if (n < 10) throw new NotTried('The store is too small to check whether its samples are uniform.');
  const drawn: Set<string>[] = [];
  for (let seed = 1; seed <= (isWhole ? 20 : 4); seed += 1) {
    drawn.push(new Set(keysOf(await draw(subject, n, { seed }))));
  }
  const times = new Map<string, number>();
  for (const sample of drawn) for (const key of sample) times.set(key, (times.get(key) ?? 0) + 1);
  if (isWhole) {
    const never = Array.from({ length: Math.max(0, known.length - times.size) }, () => 0);
    const uneven = unevenness([[...times.values(), ...never]], n / known.length);
    must(
      Math.abs(uneven) < MAX_UNEVEN,
      `Some chunks are sampled more often than chance allows (z = ${uneven.toFixed(1)}).`,
    );
    return `${drawn.length} samples of ${n} chunks: no chunk is sampled too often (z = ${uneven.toFixed(1)}).`;
  }
  const pairs = (drawn.length * (drawn.length - 1)) / 2;
  const expected = (pairs * n * n) / Math.max(n, description.count);
  const common = [...times.values()].reduce((sum, count) => sum + (count * (count - 1)) / 2, 0);
  const sentence = `${drawn.length} samples of ${n} from ${description.count} chunks: pairs of samples share ${plural(common, 'chunk')} in total; ${expected.toFixed(1)} are expected by chance.`;
  must(common <= expected + 5 * Math.sqrt(expected) + 5, sentence);
  return sentence;
}

const sampleTests: readonly StoreTest[] = [
  {
    name: 'sample.distinct',
    does: 'samples the requested number of different chunks with their vectors',
    run: distinct,
  },
  { name: 'sample.texts', does: 'returns the texts of a sample on request', run: texts },
  {
    name: 'sample.seed',
    does: 'returns the same sample for the same seed, or reports that it does not support seeds',
    run: seeded,
  },
  { name: 'sample.uniform', does: 'samples every chunk with the same probability', run: uniform },
];

/** Requirements for every store. recalld's test suite tests the same requirements on stores that it fills. */
export const storeTests: readonly StoreTest[] = [...contentTests, ...searchTests, ...sampleTests];
