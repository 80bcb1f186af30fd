/**
 * When a baseline stops being one: another embedding model, another index, or a store that grew. The canary tells: the
 * same golden queries, embedded and searched again.
 */
import { mean, median } from '../../math/stats/descriptive.ts';
import { binomialUpperTail } from '../../math/stats/distributions.ts';
import { dotProduct, lengthOf } from '../../math/vector/matrix.ts';

/** `changed` takes precedence over every drift alarm: it is another embedding model, not worse coverage. */
export type CanaryVerdict = 'same' | 'noisy' | 'changed';

const CHANGED_MEDIAN = 0.995;
const CHANGED_LEAST = 0.98;
const NOISY_MEDIAN = 0.9995;

/**
 * Compares stored with recomputed embeddings, pair by pair. `changed`: median < 0.995 or least < 0.98. `noisy`: median
 * < 0.9995, as providers that do not repeat themselves give.
 *
 * A pair of different dimension, or with a vector without direction, has the cosine 0: that is no repetition.
 *
 * @throws RangeError without pairs: no canary is not a changed one
 */
export function embeddingCanary(
  pairs: readonly { readonly stored: ArrayLike<number>; readonly recomputed: ArrayLike<number> }[],
) {
  if (pairs.length === 0) throw new RangeError('A canary needs at least one golden query.');
  const cosines = pairs.map(({ stored, recomputed }) => cosine(stored, recomputed));
  const middle = median(cosines);
  const least = Math.min(...cosines);
  return {
    /** Of each stored to its recomputed vector. */
    cosines,
    median: middle,
    least,
    verdict: embeddingCanaryVerdict(middle, least),
  };
}

/** What cosines of repeated embeddings say, by their median and the least of them. */
export function embeddingCanaryVerdict(median: number, least: number): CanaryVerdict {
  if (median < CHANGED_MEDIAN || least < CHANGED_LEAST) return 'changed';
  return median < NOISY_MEDIAN ? 'noisy' : 'same';
}

/** Cosine of two vectors, in float64; 0 where it is not defined. */
function cosine(a: ArrayLike<number>, b: ArrayLike<number>): number {
  const lengths = lengthOf(a) * lengthOf(b);
  if (a.length !== b.length || !(lengths > 0 && lengths < Number.POSITIVE_INFINITY)) return 0;
  return dotProduct(a, b) / lengths;
}

/** One golden query before and after: its k best chunks and its score. */
export interface RepeatedSearch {
  readonly before: { readonly chunks: readonly (string | number)[]; readonly score: number };
  readonly after: { readonly chunks: readonly (string | number)[]; readonly score: number };
}

/**
 * Compares two searches of the same queries.
 *
 * @throws RangeError without searches
 * @param k how many chunks were asked for, >= 1
 */
export function searchCanary(searches: readonly RepeatedSearch[], k: number) {
  const overlaps = searches.map(({ before, after }) => {
    const found = new Set(after.chunks);
    return new Set(before.chunks.filter((chunk) => found.has(chunk))).size / k;
  });
  const changes = searches.map(({ before, after }) => after.score - before.score);
  const worse = changes.filter((change) => change < 0).length;
  const changed = changes.filter((change) => change !== 0).length;
  return {
    /** |before and after| / k of each query. */
    overlaps,
    meanOverlap: mean(overlaps),
    /** After less before, mean over the queries. */
    meanScoreChange: mean(changes),
    /** Share of the queries whose score fell. */
    shareWorse: worse / changes.length,
    /** One-sided sign test against no change: P(Bin(changed, 1/2) >= fallen). */
    signTestP: binomialUpperTail(worse, changed, 0.5),
  };
}

/**
 * Texts that are embedded again and again: when their vectors move, another model answers. They are fixed, since the
 * vectors of an installation are compared over years, and of several languages, lengths and kinds, since a change may
 * touch one kind only.
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

/** What scores depend on beside queries and content. Values are short texts; an unknown one is empty. */
export interface MeasurementFingerprint {
  readonly embeddingModel: string;
  readonly embeddingRevision: string;
  readonly dimension: string;
  readonly normalisation: string;
  readonly queryPrefix: string;
  readonly documentPrefix: string;
  readonly metric: string;
  readonly chunkerVersion: string;
  readonly indexType: string;
  readonly searchParameters: string;
  readonly k: string;
  readonly filterClass: string;
  readonly scoreField: string;
}

export type FingerprintField = keyof MeasurementFingerprint;

/** A change of one of these makes vectors, or what is compared, others: no replay can save the baseline. */
const INCOMPARABLE: ReadonlySet<FingerprintField> = new Set([
  'embeddingModel',
  'embeddingRevision',
  'dimension',
  'normalisation',
  'queryPrefix',
  'documentPrefix',
  'metric',
  'k',
  'filterClass',
  'scoreField',
]);

/** The fields that differ, in the order of their names. Content that comes or goes is no difference. */
export function fingerprintDifferences(
  before: MeasurementFingerprint,
  after: MeasurementFingerprint,
): readonly FingerprintField[] {
  return (Object.keys(before) as FingerprintField[]).filter((field) => before[field] !== after[field]).toSorted();
}

/** The retained baseline queries searched again through what is new. */
export interface Replay {
  /** Mean over the queries of the score after less before. */
  readonly meanScoreChange: number;
  /** Mean share of the k best chunks that stayed. */
  readonly meanOverlap: number;
}

const MAX_REPLAY_CHANGE = 0.01;
const MIN_REPLAY_OVERLAP = 0.9;

/** Whether a replay shows that an index change left the scores as they were: |change| < 0.01 and overlap > 0.9. */
export function replayAgrees({ meanScoreChange, meanOverlap }: Replay): boolean {
  return Math.abs(meanScoreChange) < MAX_REPLAY_CHANGE && meanOverlap > MIN_REPLAY_OVERLAP;
}

/**
 * `keep`: go on. `replay`: freeze the detectors until the baseline queries were searched again. `rebaseline`: freeze
 * them until there is a new baseline. Freezing is one annotated change, never drift.
 */
interface RebaselineDecision {
  readonly action: 'keep' | 'replay' | 'rebaseline';
  readonly changed: readonly FingerprintField[];
  readonly canary: CanaryVerdict | null;
}

/**
 * What a changed fingerprint or canary asks for. A new embedding always asks for a new baseline; a new index of the
 * same model keeps the old one when a replay agrees.
 *
 * @param replay null when none was made
 */
export function rebaselineDecision(
  changed: readonly FingerprintField[],
  canary: CanaryVerdict | null,
  replay: Replay | null,
): RebaselineDecision {
  const decide = (action: RebaselineDecision['action']): RebaselineDecision => ({ action, changed, canary });
  if (canary === 'changed' || changed.some((field) => INCOMPARABLE.has(field))) return decide('rebaseline');
  if (changed.length === 0) return decide('keep');
  if (replay === null) return decide('replay');
  return decide(replayAgrees(replay) ? 'keep' : 'rebaseline');
}

const GROWTH = 1.1;
export const GROWTH_DAYS = 14;

/**
 * Whether the store covers live queries so much better than the baseline that a later loss of the gain would stay
 * unseen: density above 1.1 times that of the baseline on each of the last 14 days. A day without a density breaks the
 * row.
 *
 * @param dailyDensities in the order of time
 * @param baselineDensity of the baseline itself, cross-fitted: near 1, and above it when few questions are repeated
 */
export function outgrewBaseline(dailyDensities: readonly (number | null)[], baselineDensity: number): boolean {
  const last = dailyDensities.slice(-GROWTH_DAYS);
  const enough = GROWTH * Math.max(1, baselineDensity);
  return last.length === GROWTH_DAYS && last.every((density) => density !== null && density > enough);
}

// What is known of index and embedder, as the fingerprint that decides when a baseline ends.

type Traits = Readonly<Record<string, string>>;

interface MeasuredParts {
  /** Null while nobody looked at it. */
  readonly index: Traits | null;
  readonly embedder: Traits | null;
}

/** Traits of the content, not of how it is measured: content comes and goes. */
const OF_CONTENT: ReadonlySet<string> = new Set(['size_class']);
/** Traits of the index that have a field of their own. */
const NAMED: ReadonlySet<string> = new Set(['metric', 'dimensions']);

/** The fingerprint of what is measured now; what is not known is empty. */
export function measurementFingerprint({ index, embedder }: MeasuredParts): MeasurementFingerprint {
  const rest = Object.entries(index ?? {})
    .filter(([trait]) => !OF_CONTENT.has(trait) && !NAMED.has(trait))
    .toSorted(([a], [b]) => (a < b ? -1 : 1));
  return {
    embeddingModel: embedder?.['identity'] ?? '',
    embeddingRevision: embedder?.['canary'] ?? '',
    dimension: index?.['dimensions'] ?? embedder?.['dimensions'] ?? '',
    normalisation: '',
    queryPrefix: '',
    documentPrefix: '',
    metric: index?.['metric'] ?? '',
    chunkerVersion: '',
    indexType: index === null ? '' : JSON.stringify(rest),
    searchParameters: '',
    k: '1',
    filterClass: '',
    scoreField: 'top-1-less-mean',
  };
}

/** The fields that changed from one known value to another. A value that becomes known is no change. */
export function knownDifferences(
  before: MeasurementFingerprint,
  after: MeasurementFingerprint,
): readonly FingerprintField[] {
  return fingerprintDifferences(before, after).filter((field) => before[field] !== '' && after[field] !== '');
}

/** `after`, with what it does not know taken from `before`. */
export function completedFingerprint(
  before: MeasurementFingerprint,
  after: MeasurementFingerprint,
): MeasurementFingerprint {
  const known = Object.fromEntries(Object.entries(after).filter(([, value]) => value !== ''));
  return { ...before, ...known };
}
