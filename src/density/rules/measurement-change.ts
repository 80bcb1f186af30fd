/**
 * Decides when a baseline becomes invalid. To detect changes, recalld embeds fixed texts again and repeats fixed
 * searches.
 */
import { mean, median } from '../../math/stats/descriptive.ts';
import { dotProduct, lengthOf } from '../../math/vector/matrix.ts';

/** `changed` takes precedence over every drift alert: the embedding model changed, so coverage cannot be compared. */
export type CanaryVerdict = 'same' | 'noisy' | 'changed';

const CHANGED_MEDIAN = 0.995;
const CHANGED_MINIMUM = 0.98;
const NOISY_MEDIAN = 0.9995;

/**
 * Compares each stored embedding with the recomputed embedding of the same text. `changed`: the median cosine is below
 * 0.995, or the minimum is below 0.98. `noisy`: the median is below 0.9995, which is usual for non-deterministic
 * embedding services.
 *
 * A pair with different dimensions, or with a vector that has no direction, has cosine 0.
 *
 * @throws RangeError if there are no pairs, because a missing canary must not count as a changed canary
 */
export function embeddingCanary(
  pairs: readonly { readonly stored: ArrayLike<number>; readonly recomputed: ArrayLike<number> }[],
) {
  if (pairs.length === 0) throw new RangeError('A canary needs at least one pair of embeddings.');
  const cosines = pairs.map(({ stored, recomputed }) => cosine(stored, recomputed));
  const middle = median(cosines);
  const least = Math.min(...cosines);
  return {
    cosines,
    median: middle,
    least,
    verdict: embeddingCanaryVerdict(middle, least),
  };
}

export function embeddingCanaryVerdict(median: number, least: number): CanaryVerdict {
  if (median < CHANGED_MEDIAN || least < CHANGED_MINIMUM) return 'changed';
  return median < NOISY_MEDIAN ? 'noisy' : 'same';
}

/** Cosine of two vectors in float64; 0 if undefined. */
function cosine(a: ArrayLike<number>, b: ArrayLike<number>): number {
  const lengths = lengthOf(a) * lengthOf(b);
  if (a.length !== b.length || !(lengths > 0 && lengths < Number.POSITIVE_INFINITY)) return 0;
  return dotProduct(a, b) / lengths;
}

/** Result of comparing two searches for the same queries, one before and one after a change. */
export type Replay = ReturnType<typeof searchCanary>;

/**
 * Compares the results of the same queries before and after a change: each query's k nearest chunks, and its score.
 *
 * @param k number of requested chunks, >= 1
 * @throws RangeError if there are no searches
 */
export function searchCanary(
  searches: readonly Readonly<
    Record<'before' | 'after', { readonly chunks: readonly (string | number)[]; readonly score: number }>
  >[],
  k: number,
) {
  const overlaps = searches.map(({ before, after }) => {
    const found = new Set(after.chunks);
    return new Set(before.chunks.filter((chunk) => found.has(chunk))).size / k;
  });
  return {
    queries: searches.length,
    /** Share of the k chunks that both searches returned, averaged over the queries. */
    meanOverlap: mean(overlaps),
    /** Mean score change of the queries: the score after the change minus the score before it. */
    meanScoreChange: mean(searches.map(({ before, after }) => after.score - before.score)),
  };
}

/**
 * Texts that recalld embeds repeatedly: if their vectors change, the model has changed. The texts stay the same,
 * because recalld compares their vectors over years, and are varied, because a change may affect only one kind of text.
 */
export const canaryTexts: readonly string[] = [
  'How do I reset my password?',
  'refund policy',
  'The invoice was paid twice in March 2024.',
  'Which documents do I need to open an account for a company?',
  'What is the maximum file size of an upload?',
  'error 0x80070057 the parameter is incorrect',
  'Wie kündige ich meinen Vertrag?',
  'Où puis-je trouver ma facture ?',
  '¿Cuánto tarda el envío a Canarias?',
  '配送状況を確認するにはどうすればよいですか',
  'как изменить адрес доставки',
  'SELECT count(*) FROM orders WHERE status = 7;',
  'vacation days part time employee',
  'Compare the premium plan with the basic plan and list the differences in price, storage and support.',
  'yes',
  'photosynthesis in desert plants',
  'When was the treaty signed, and by whom?',
  'https://example.com/docs/api#limits',
  'My parcel arrived damaged, two of the six glasses are broken and the box is wet. What should I do now?',
  'Newton\u2019s second law of motion',
];

export type MeasurementFingerprint = Readonly<ReturnType<typeof measurementFingerprint>>;

export type FingerprintField = keyof MeasurementFingerprint;

/** If one of these fields changes, scores are not comparable, and a replay cannot keep the baseline valid. */
const INCOMPARABLE: ReadonlySet<FingerprintField> = new Set([
  'embeddingModel',
  'embeddingRevision',
  'dimension',
  'metric',
  'k',
  'scoreField',
]);

/** Returns the names of the fields that differ. A change in the content of the store does not count as a difference. */
export function fingerprintDifferences(
  before: MeasurementFingerprint,
  after: MeasurementFingerprint,
): readonly FingerprintField[] {
  return (Object.keys(before) as FingerprintField[]).filter((field) => before[field] !== after[field]).toSorted();
}

/**
 * True if scores may still be comparable after these changes, for example after a switch to a new index. A replay then
 * shows whether the scores are comparable.
 */
export function allowsComparison(changed: readonly FingerprintField[]): boolean {
  return !changed.some((field) => INCOMPARABLE.has(field));
}

type ReplayChange = Readonly<Record<'meanScoreChange' | 'meanOverlap', number>>;

const MAX_REPLAY_CHANGE = 0.01;
const MIN_REPLAY_OVERLAP = 0.9;

/** True if a replay shows that an index change did not affect scores: |change| < 0.01 and overlap > 0.9. */
export function replayAgrees({ meanScoreChange, meanOverlap }: ReplayChange): boolean {
  return Math.abs(meanScoreChange) < MAX_REPLAY_CHANGE && meanOverlap > MIN_REPLAY_OVERLAP;
}

const GROWTH = 1.1;
export const GROWTH_DAYS = 14;

/**
 * True if coverage has improved so much that a drop back to the baseline would go unnoticed: density has been above 1.1
 * times the baseline on each of the last 14 days. A day without a density restarts the count of days.
 *
 * @param dailyDensities in chronological order
 * @param baselineDensity cross-fitted density of the baseline queries: usually near 1, but above 1 if few queries
 *   repeat
 */
export function outgrewBaseline(dailyDensities: readonly (number | null)[], baselineDensity: number): boolean {
  const last = dailyDensities.slice(-GROWTH_DAYS);
  const enough = GROWTH * Math.max(1, baselineDensity);
  return last.length === GROWTH_DAYS && last.every((density) => density !== null && density > enough);
}

type Traits = Readonly<Record<string, string>>;

/** Traits that describe the content rather than how it is measured. */
const OF_CONTENT: ReadonlySet<string> = new Set(['size_class']);
/** Index traits that have a fingerprint field of their own. */
const NAMED: ReadonlySet<string> = new Set(['metric', 'dimensions']);

/**
 * Returns the values that scores depend on, except queries and content. Values are short strings; an unknown value is
 * an empty string.
 *
 * Traits are null before the first probe.
 */
export function measurementFingerprint({ index, embedder }: Readonly<Record<'index' | 'embedder', Traits | null>>) {
  const rest = Object.entries(index ?? {})
    .filter(([trait]) => !OF_CONTENT.has(trait) && !NAMED.has(trait))
    .toSorted(([a], [b]) => (a < b ? -1 : 1));
  return {
    embeddingModel: embedder?.['identity'] ?? '',
    embeddingRevision: embedder?.['canary'] ?? '',
    dimension: index?.['dimensions'] ?? embedder?.['dimensions'] ?? '',
    metric: index?.['metric'] ?? '',
    indexType: index === null ? '' : JSON.stringify(rest),
    k: '1',
    scoreField: 'top-1-less-mean',
  };
}

/**
 * Returns the fields that changed from one known value to another. An unknown value that becomes known is not a change.
 */
export function knownDifferences(
  before: MeasurementFingerprint,
  after: MeasurementFingerprint,
): readonly FingerprintField[] {
  return fingerprintDifferences(before, after).filter((field) => before[field] !== '' && after[field] !== '');
}

/** Returns `after`, with its unknown values replaced by those of `before`. */
export function completedFingerprint(
  before: MeasurementFingerprint,
  after: MeasurementFingerprint,
): MeasurementFingerprint {
  const known = Object.fromEntries(Object.entries(after).filter(([, value]) => value !== ''));
  return { ...before, ...known };
}
