/** A sample: distinct, with its vectors and texts, by its seed, and uniform. */
import { cosineSimilarity, rowOf } from '../../vector/matrix.ts';
import type { SampledVectors, SampleRequest } from '../vector-store.ts';
import { chunksById, must, NotTried, type StoreSubject, type StoreTest, valueOf } from './subject.ts';
import { MAX_UNEVEN, unevenness } from './truth.ts';

async function draw({ store, signal }: StoreSubject, n: number, more: Partial<SampleRequest> = {}) {
  return valueOf(await store.sample({ n, seed: 7, withContent: false, ...more }, signal));
}

/** Each chunk by itself: the id of a document may stand for several. */
function keysOf({ ids, vectors }: SampledVectors): string[] {
  return ids.map((id, row) => `${id}\u0000${Buffer.from(rowOf(vectors, row).slice().buffer).toString('base64')}`);
}

function mustBeDrawn({ byId, isWhole, description }: StoreSubject, sample: SampledVectors): void {
  const { ids, vectors, contents } = sample;
  must(vectors.rows === ids.length && contents.length === ids.length, 'Ids, vectors and texts are not as many.');
  must(vectors.data.every(Number.isFinite), 'A vector has a number that is not finite.');
  const { dimensions } = description;
  must(ids.length === 0 || dimensions === null || vectors.columns === dimensions, 'Vectors are not of its length.');
  const times = new Map<string, number>();
  for (const [row, id] of ids.entries()) {
    times.set(id, (times.get(id) ?? 0) + 1);
    const same = byId.get(id);
    must(same !== undefined || !isWhole, 'It drew a document that is not there.');
    if (same === undefined || !isWhole) continue;
    // Some stores keep vectors of length 1 only.
    const vector = rowOf(vectors, row);
    const isKnown = same.some((chunk) => isAlike(chunk.vector, vector));
    must(isKnown, 'A vector of a sample is not that of its document.');
    must((times.get(id) ?? 0) <= same.length, 'It drew a chunk twice.');
  }
}

function isAlike(a: Float32Array, b: Float32Array): boolean {
  return cosineSimilarity(a, b) > 1 - 1e-4 || (a.every((value) => value === 0) && b.every((value) => value === 0));
}

async function distinct(subject: StoreSubject): Promise<string> {
  const { known, isWhole } = subject;
  const n = Math.min(100, known.length);
  const sample = await draw(subject, n);
  must(sample.ids.length === n, `It drew ${sample.ids.length} where ${n} were asked for.`);
  mustBeDrawn(subject, sample);
  const nobodyAsked = sample.contents.every((content) => content === null);
  must(nobodyAsked, 'It gives texts that nobody asked for.');
  if (!isWhole) return `${n} vectors, all finite and of its length.`;
  const all = await draw(subject, known.length + 400);
  must(all.ids.length === known.length, `Of more than it holds it drew ${all.ids.length} of ${known.length}.`);
  mustBeDrawn(subject, all);
  return `${n} vectors, and all ${known.length} where more are asked for.`;
}

async function texts(subject: StoreSubject): Promise<string> {
  const byId = chunksById(subject.known.filter(({ content }) => content !== null));
  if (byId.size === 0) throw new NotTried('The config names no field of the text of a chunk.');
  const sample = await draw(subject, 20, { withContent: true, seed: 3 });
  must(
    sample.contents.some((content) => content !== null),
    'No text came with a sample.',
  );
  for (const [row, id] of subject.isWhole ? sample.ids.entries() : []) {
    const isOwn = byId.get(id)?.some(({ content }) => content === sample.contents[row]) ?? false;
    must(isOwn, 'A sample comes with another text than its own.');
  }
  return `${sample.contents.filter((content) => content !== null).length} of ${sample.ids.length} with their texts.`;
}

async function seeded(subject: StoreSubject): Promise<string> {
  const n = Math.min(50, Math.floor(subject.known.length / 2));
  if (n < 10) throw new NotTried('The store holds too little to tell two samples apart.');
  const first = await draw(subject, n, { seed: 11 });
  const [again, other] = [await draw(subject, n, { seed: 11 }), await draw(subject, n, { seed: 12 })];
  const isSame = JSON.stringify(keysOf(again)) === JSON.stringify(keysOf(first));
  must(isSame || !first.isSeeded, 'The same seed gives another sample, though it says that it has a seed.');
  const differs = JSON.stringify(keysOf(other).toSorted()) !== JSON.stringify(keysOf(first).toSorted());
  must(differs, 'Another seed gives the same sample.');
  return first.isSeeded ? 'The same seed gives the same sample, another another.' : 'It has no seed, and says so.';
}

/**
 * Of a store that is known whole, how often each chunk was drawn. Of a larger one, how many two samples have in common:
 * n² / N where every chunk is as likely, and more where some are preferred.
 */
async function uniform(subject: StoreSubject): Promise<string> {
  const { known, isWhole, description } = subject;
  const n = isWhole ? Math.min(150, Math.floor(known.length / 4)) : Math.min(500, known.length);
  if (n < 10) throw new NotTried('The store holds too little to tell whether its samples are uniform.');
  const drawn: Set<string>[] = [];
  for (let seed = 1; seed <= (isWhole ? 20 : 4); seed += 1) {
    drawn.push(new Set(keysOf(await draw(subject, n, { seed }))));
  }
  const times = new Map<string, number>();
  for (const sample of drawn) for (const key of sample) times.set(key, (times.get(key) ?? 0) + 1);
  if (isWhole) {
    const never = Array.from({ length: Math.max(0, known.length - times.size) }, () => 0);
    const uneven = unevenness([[...times.values(), ...never]], n / known.length);
    must(Math.abs(uneven) < MAX_UNEVEN, `Some chunks are drawn more often than chance allows (${uneven.toFixed(1)}).`);
    return `${drawn.length} samples of ${n}: no chunk is preferred (normal deviate ${uneven.toFixed(1)}).`;
  }
  const pairs = (drawn.length * (drawn.length - 1)) / 2;
  const expected = (pairs * n * n) / Math.max(n, description.count);
  const common = [...times.values()].reduce((sum, count) => sum + (count * (count - 1)) / 2, 0);
  const sentence = `${drawn.length} samples of ${n} of ${description.count} have ${common} in common; chance gives ${expected.toFixed(1)}.`;
  must(common <= expected + 5 * Math.sqrt(expected) + 5, sentence);
  return sentence;
}

export const sampleTests: readonly StoreTest[] = [
  {
    name: 'sample.distinct',
    does: 'draws as many different chunks as are asked for, with their vectors',
    run: distinct,
  },
  { name: 'sample.texts', does: 'gives the texts of a sample when they are asked for', run: texts },
  { name: 'sample.seed', does: 'draws the same again by the same seed, or says that it cannot', run: seeded },
  { name: 'sample.uniform', does: 'prefers no chunk', run: uniform },
];
