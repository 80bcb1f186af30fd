/** Search tests: order, similarity, exactness, filters, invalid vectors, concurrent callers. */
import { decimal, percentage } from '../../../core/format.ts';
import type { Nearest, NearestRequest, ScoreKind } from '../vector-store.ts';
import {
  bruteForce,
  chunkOf,
  chunksById,
  goodness,
  must,
  NotTried,
  recallOf,
  type StoreSubject,
  type StoreTest,
  valueOf,
} from './subject.ts';

const K = 10;

/** Score kinds for which a lower score is better. */
const lowIsBetter = new Set<ScoreKind>(['cosine_distance', 'negative_dot', 'one_minus_dot', 'l2', 'squared_l2']);

function ask({ store, signal }: StoreSubject, vector: Float32Array, more: Partial<NearestRequest> = {}) {
  return store.nearest({ vector, k: K, filter: {}, exact: false, withContent: false, ...more }, signal);
}

async function nearest(subject: StoreSubject, vector: Float32Array, more?: Partial<NearestRequest>): Promise<Nearest> {
  return valueOf(await ask(subject, vector, more));
}

/**
 * Checks the order of the neighbors, their scores and ids, and the cosines of known chunks.
 *
 * @returns the largest difference between a similarity and the cosine of the stored vector
 */
function mustBeTrue(subject: StoreSubject, query: Float32Array, { neighbours, isShort }: Nearest, k: number): number {
  const { byId, isWhole, tolerance } = subject;
  must(neighbours.length <= k, `The store returned ${neighbours.length} neighbors instead of ${k}.`);
  must(
    isShort === neighbours.length < k,
    'The store reports a short result as complete, or a complete result as short.',
  );
  const times = new Map<string, number>();
  let last = Number.NEGATIVE_INFINITY;
  const offs: number[] = [];
  for (const neighbour of neighbours) {
    const { id, similarity, score, scoreKind } = neighbour;
    must(
      Number.isFinite(score) && Math.abs(similarity) <= 1 + 1e-6,
      'A score is not finite, or a similarity is outside the range of a cosine.',
    );
    const badness = lowIsBetter.has(scoreKind) ? score : -score;
    must(badness >= last, 'Neighbors are not sorted best first.');
    last = badness;
    times.set(id, (times.get(id) ?? 0) + 1);
    const found = chunkOf(neighbour, query, byId);
    must(found !== null || !isWhole, 'A search returned a neighbor that is not in the store.');
    if (found !== null) offs.push(found.off);
  }
  // In a completely known store, the similarity of every neighbor must match. Otherwise, one match is enough, because a
  // neighbor may be an unknown chunk of a known document.
  const near = offs.filter((off) => off <= tolerance);
  const isTrue = near.length === offs.length || (!isWhole && near.length > 0);
  must(
    isTrue,
    `A similarity differs by ${decimal(Math.max(...offs))} from the cosine between the query and the stored vector.`,
  );
  if (isWhole) {
    for (const [id, count] of times) {
      must(
        count <= (byId.get(id)?.length ?? 0),
        'A search returned a document more often than the document has chunks.',
      );
    }
  }
  return Math.max(0, ...near);
}

/** Runs searches, checks all of them, and returns their results. */
async function trueSearches(subject: StoreSubject, exact: boolean): Promise<{ readonly all: Nearest[]; off: number }> {
  if (subject.queries.length === 0) throw new NotTried('The store is empty.');
  const all: Nearest[] = [];
  let off = 0;
  for (const query of subject.queries) {
    const found = await nearest(subject, query, { exact });
    off = Math.max(off, mustBeTrue(subject, query, found, K));
    all.push(found);
  }
  return { all, off };
}

async function recall(subject: StoreSubject): Promise<string> {
  const { known, isWhole, queries, description, minRecall } = subject;
  const { all } = await trueSearches(subject, false);
  let sum = 0;
  for (const [place, query] of queries.entries()) {
    const ids = all[place]?.neighbours.map(({ id }) => id) ?? [];
    const truth = isWhole
      ? bruteForce(known, query, K, description.metric)
      : (await nearest(subject, query, { exact: true })).neighbours;
    must(truth.length > 0, 'An exact search returns nothing.');
    sum += recallOf(ids, truth) / queries.length;
  }
  const sentence = `The index finds ${percentage(sum)} of the ${K} nearest neighbors for ${queries.length} queries.`;
  must(sum >= minRecall, sentence);
  return sentence;
}

async function exact(subject: StoreSubject): Promise<string> {
  const { known, byId, isWhole, queries, description, tolerance } = subject;
  const { all } = await trueSearches(subject, true);
  if (!isWhole) return 'The neighbors are valid and sorted; the store is too large for a comparison with all vectors.';
  for (const [place, query] of queries.entries()) {
    const truth = bruteForce(known, query, K, description.metric);
    const found = all[place]?.neighbours ?? [];
    must(
      found.length === truth.length,
      `An exact search returned ${found.length} of ${truth.length} nearest neighbors.`,
    );
    for (const [rank, neighbour] of found.entries()) {
      const best = truth[rank]?.goodness ?? 0;
      const vector = chunkOf(neighbour, query, byId)?.chunk.vector ?? new Float32Array(query.length);
      const lost = best - goodness(vector, query, description.metric);
      must(
        lost <= tolerance * Math.max(1, Math.abs(best)),
        `In an exact search, the neighbor at rank ${rank + 1} is not the nearest of the remaining chunks.`,
      );
    }
  }
  return `For ${queries.length} queries, the results equal those of a brute-force search of ${known.length} vectors.`;
}

async function short(subject: StoreSubject): Promise<string> {
  const { known, isWhole, queries } = subject;
  const [query] = queries;
  if (query === undefined || !isWhole)
    throw new NotTried('The store is too large for a test that requests more neighbors than the store contains.');
  const one = await nearest(subject, query, { k: 1 });
  must(one.neighbours.length === 1 && !one.isShort, 'A search for one neighbor does not return exactly one neighbor.');
  const k = known.length + 50;
  const compared = await ask(subject, query, { k, exact: true });
  const all = compared.kind === 'unsupported' ? await nearest(subject, query, { k }) : valueOf(compared);
  mustBeTrue(subject, query, all, k);
  // If the store does not support exact search, its approximate index may lose some neighbors.
  must(
    all.neighbours.length >= known.length / 2,
    `A search for ${k} neighbors returned ${all.neighbours.length} of ${known.length}.`,
  );
  return `A search for ${k} neighbors returns ${all.neighbours.length} of ${known.length} and reports a short result.`;
}

async function texts(subject: StoreSubject): Promise<string> {
  const byId = chunksById(subject.known.filter(({ content }) => content !== null));
  const [query] = subject.queries;
  if (query === undefined || byId.size === 0) throw new NotTried('The config does not name the text field of chunks.');
  const without = await nearest(subject, query);
  must(
    without.neighbours.every(({ content }) => content === null),
    'The store returns texts that were not requested.',
  );
  let compared = 0;
  for (const vector of subject.queries) {
    for (const neighbour of (await nearest(subject, vector, { withContent: true })).neighbours) {
      const known = byId.get(neighbour.id);
      if (known === undefined) continue;
      compared += 1;
      const isThere = known.some(({ content }) => content === neighbour.content) || !subject.isWhole;
      must(isThere && neighbour.content !== null, 'A search returned a neighbor with the text of another chunk.');
    }
  }
  must(compared > 0, 'No neighbor had a text, although texts were requested.');
  return `${compared} neighbors were returned with their texts.`;
}

async function filtered(subject: StoreSubject): Promise<string> {
  const { filter, queries } = subject;
  const [query] = queries;
  if (filter === null || query === undefined)
    throw new NotTried('To run this test, name a field and one of its values: --filter FIELD=VALUE.');
  const { name, value, ids } = filter;
  let found = await nearest(subject, query, { filter: { [name]: value }, k: 5 });
  mustBeTrue(subject, query, found, 5);
  // An index that filters only after the search may lose all matching chunks that are far from the query.
  for (const other of queries.slice(1)) {
    if (found.neighbours.length > 0) break;
    found = await nearest(subject, other, { filter: { [name]: value }, k: 5 });
    mustBeTrue(subject, other, found, 5);
  }
  must(found.neighbours.length > 0, `No query found a chunk with the given value of ${name}.`);
  must(
    ids === null || found.neighbours.every(({ id }) => ids.has(id)),
    "A filtered search returned a neighbor that does not have the filter's value.",
  );
  let refused = 0;
  for (const hostile of [`' or ''='`, '*', '" || true || "', '', `it's "${name}"`]) {
    const outcome = await ask(subject, query, { filter: { [name]: hostile } });
    if (outcome.kind === 'unsupported') refused += 1;
    else must(valueOf(outcome).neighbours.length === 0, 'A filter interprets its value as syntax.');
  }
  const refusals = refused === 0 ? '' : `; the store refuses ${refused} values that its filter language cannot express`;
  return `${found.neighbours.length} neighbors for the value of ${name}, and none for values that no chunk has${refusals}.`;
}

async function otherLength(subject: StoreSubject): Promise<string> {
  const { dimensions } = subject.description;
  if (dimensions === null) throw new NotTried('The store does not report the length of its vectors.');
  for (const length of [dimensions - 1, dimensions + 1]) {
    const outcome = await ask(subject, new Float32Array(length).fill(0.123456789));
    const isRefused = outcome.kind === 'failed' && outcome.code === 'dimension_mismatch';
    if (!isRefused)
      must(
        outcome.kind !== 'ok' && valueOf(outcome) === null,
        'The store accepted a query vector with the wrong number of dimensions.',
      );
    const sentence = outcome.kind === 'failed' ? outcome.message : '';
    const says = new RegExp(`\\b${length}\\b.*\\b${dimensions}\\b`).test(sentence);
    must(
      says && !sentence.includes('0.1234'),
      'The error message for a query vector of the wrong length omits one of the two lengths, or shows the vector.',
    );
  }
  return `Vectors with ${dimensions - 1} and ${dimensions + 1} numbers are rejected; the store's vectors have ${dimensions}.`;
}

async function manyCallers(subject: StoreSubject): Promise<string> {
  const queries = [...subject.queries, ...subject.queries];
  if (queries.length === 0) throw new NotTried('The store is empty.');
  const answers = await Promise.all(queries.map((query) => ask(subject, query)));
  for (const [place, query] of queries.entries()) {
    const answer = answers[place];
    if (answer !== undefined) mustBeTrue(subject, query, valueOf(answer), K);
  }
  return `Each of ${queries.length} concurrent searches returned its own result.`;
}

async function aborted(subject: StoreSubject): Promise<string> {
  const vector = subject.queries[0] ?? new Float32Array(subject.description.dimensions ?? 1).fill(1);
  const request = { vector, k: K, filter: {}, exact: false, withContent: false };
  const reason = new Error('the run was cancelled');
  const controller = new AbortController();
  const pending = subject.store.nearest(request, controller.signal);
  controller.abort(reason);
  for (const call of [pending, subject.store.nearest(request, AbortSignal.abort(reason))]) {
    const thrown: unknown = await call.catch((error: unknown) => error);
    must(thrown === reason, 'A cancelled search does not fail with the reason given for the cancellation.');
  }
  return 'A cancelled search fails with the reason given for the cancellation.';
}

export const searchTests: readonly StoreTest[] = [
  {
    name: 'search.order',
    does: 'returns the nearest neighbors, best first, with their cosines, whatever distance the index uses',
    run: async (subject) => {
      const { all, off } = await trueSearches(subject, false);
      const given = all.reduce((sum, { neighbours }) => sum + neighbours.length, 0);
      must(given > 0, 'No search returned a neighbor.');
      return `${given} neighbors; similarities differ by at most ${decimal(off)} from the cosines between the query and the stored vectors.`;
    },
  },
  {
    name: 'search.recall',
    does: 'finds the same neighbors through its index as by comparing the query with all vectors',
    run: recall,
  },
  { name: 'search.exact', does: 'compares the query with all vectors in an exact search', run: exact },
  { name: 'search.short', does: 'reports a short result when it has fewer neighbors than requested', run: short },
  { name: 'search.texts', does: 'returns the text of a chunk only on request', run: texts },
  { name: 'search.filter', does: 'applies a filter, and never interprets its value as syntax', run: filtered },
  {
    name: 'search.length',
    does: 'refuses a vector of a different length, and does not show the vector in the error message',
    run: otherLength,
  },
  { name: 'search.callers', does: 'returns the right result to each concurrent caller', run: manyCallers },
  { name: 'search.cancel', does: 'ends a cancelled search with the reason for the cancellation', run: aborted },
];
