/** What is known of index and embedder, as the fingerprint that decides when a baseline ends. */
import {
  type FingerprintField,
  fingerprintDifferences,
  type MeasurementFingerprint,
} from './rebaseline-rule.ts';

type Traits = Readonly<Record<string, string>>;

export interface MeasuredParts {
  /** Null while nobody looked at it. */
  readonly index: Traits | null;
  readonly embedder: Traits | null;
}

/** Traits of the content, not of how it is measured: content comes and goes. */
const OF_CONTENT: ReadonlySet<string> = new Set(['size_class']);
/** Traits of the index that have a field of their own. */
const NAMED: ReadonlySet<string> = new Set(['metric', 'dimensions']);

/** The fingerprint of what is measured now; what is not known is empty. */
export function measurementFingerprint(
  { index, embedder }: MeasuredParts,
  k: number,
): MeasurementFingerprint {
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
    k: String(k),
    filterClass: '',
    scoreField: '',
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
