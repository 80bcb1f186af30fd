/** The reference CTR as it is stored between two jobs, and read back. */
import type { ReferenceCtr } from './reference-ctr.ts';

/** Plain JSON. */
export function storeReference(reference: ReferenceCtr): Readonly<Record<string, unknown>> {
  return { ...reference };
}

/** Null for what is not a reference that can be used, as another version may have stored it. */
export function readReference(details: Readonly<Record<string, unknown>>): ReferenceCtr | null {
  const { kind, rates, covariance, queries, sessions, clicks } = details;
  if (kind !== 'reference' || !isNumbers(rates) || rates.length === 0) return null;
  if (!rates.every((rate) => rate > 0 && rate <= 1)) return null;
  if (!Array.isArray(covariance) || covariance.length !== rates.length) return null;
  if (!covariance.every((row) => isNumbers(row) && row.length === rates.length)) return null;
  const counts = [queries, sessions, clicks];
  if (!isNumbers(counts)) return null;
  const [queryCount = 0, sessionCount = 0, clickCount = 0] = counts;
  return {
    kind,
    rates,
    covariance: covariance as number[][],
    queries: queryCount,
    sessions: sessionCount,
    clicks: clickCount,
  };
}

function isNumbers(value: unknown): value is number[] {
  return Array.isArray(value) && value.every((item) => Number.isFinite(item));
}
