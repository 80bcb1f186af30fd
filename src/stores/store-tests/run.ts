/** The one list of tests, and how they are run over a store that is there: nothing is written. */
import { matrixOf, rowOf } from '../../vector/matrix.ts';
import type { SampledVectors, VectorStore } from '../vector-store.ts';
import { contentTests } from './content.ts';
import { sampleTests } from './sample.ts';
import { searchTests } from './search.ts';
import {
  Away,
  Broken,
  chunksById,
  NotSupported,
  NotTried,
  type StoreSubject,
  type StoreTest,
  valueOf,
} from './subject.ts';

/** What every store must do. The suite of recalld's own tests runs the same list over stores that it fills itself. */
export const storeTests: readonly StoreTest[] = [...contentTests, ...searchTests, ...sampleTests];

export type StoreVerdict = 'passed' | 'failed' | 'unsupported' | 'not_tried' | 'unreachable';

export interface StoreFinding {
  readonly test: string;
  readonly does: string;
  readonly verdict: StoreVerdict;
  /** What was seen, in one sentence. */
  readonly message: string;
}

/** @throws the reason of the subject's signal, and what is a bug */
export async function runStoreTest(test: StoreTest, subject: StoreSubject): Promise<StoreFinding> {
  const { name, does } = test;
  try {
    return { test: name, does, verdict: 'passed', message: await test.run(subject) };
  } catch (error) {
    return findingOf(error, { test: name, does });
  }
}

/** @throws the error, where it says nothing of the store */
function findingOf(error: unknown, test: Pick<StoreFinding, 'test' | 'does'>): StoreFinding {
  const verdict = verdictOf(error);
  if (verdict === null) throw error;
  return { ...test, verdict, message: (error as Error).message };
}

function verdictOf(error: unknown): StoreVerdict | null {
  if (error instanceof Broken) return 'failed';
  if (error instanceof NotSupported) return 'unsupported';
  if (error instanceof NotTried) return 'not_tried';
  return error instanceof Away ? 'unreachable' : null;
}

/** Vectors that are drawn to know something of a store that others filled; one with fewer is known whole. */
const KNOWN = 1000;
const QUERIES = 6;

export interface TestedStore {
  readonly store: VectorStore;
  readonly filter: { readonly name: string; readonly value: string } | null;
  readonly signal: AbortSignal;
}

/**
 * What is known of a store by its own sample: of one with fewer than 1,000 vectors all, of others as many. Queries are
 * some of those vectors and sums of two of them. A finding, where the store cannot even say what it is made of.
 */
export async function knownSubject(
  tested: TestedStore,
): Promise<
  | { readonly kind: 'subject'; readonly subject: StoreSubject }
  | { readonly kind: 'finding'; readonly finding: StoreFinding }
> {
  try {
    return { kind: 'subject', subject: await knowStore(tested) };
  } catch (error) {
    const test = { test: 'describe', does: 'says what it is made of and gives some of its vectors' };
    return { kind: 'finding', finding: findingOf(error, test) };
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
    // Those that keep 8 bits a number are a hundredth off.
    tolerance: 0.05,
    leastRecall: 0.5,
    signal,
  };
}

/** Of a store that gives no sample nothing is known but what it says. */
async function sampleIfAny(
  store: VectorStore,
  signal: AbortSignal,
): Promise<Pick<SampledVectors, 'ids' | 'vectors' | 'contents'>> {
  const outcome = await store.sample({ n: KNOWN, seed: 1, withContent: true }, signal);
  return outcome.kind === 'unsupported' ? { ids: [], vectors: matrixOf([]), contents: [] } : valueOf(outcome);
}
