import { signal } from '../../../support/promtool.ts';
import type { AlertFixture } from './fixture.ts';
import { always } from './signals.ts';

const docs = { pipeline: 'docs' };
const all = { ...docs, segment: 'all' };

const share = (alert: string, measure: 'missing' | 'orphaned' | 'superseded' | 'other_model', says: string) => ({
  alert,
  labels: docs,
  breaching: [signal(`recalld_index_${measure}_ratio_ci_low`, all, always(0.0125))],
  healthy: [
    signal(`recalld_index_${measure}_ratio_ci_low`, all, always(0.002)),
    // Only one segment is affected, and segments have separate checks.
    signal(`recalld_index_${measure}_ratio_ci_low`, { ...docs, segment: 'tenant=a' }, always(0.5)),
  ],
  minutes: 30,
  says,
});

export const indexFixtures: readonly AlertFixture[] = [
  share(
    'RecalldIndexMissing',
    'missing',
    'At least 1.25% (lower bound of the 95 % CI) of the documents in the manifest of docs are missing from its vector store.',
  ),
  share(
    'RecalldIndexOrphaned',
    'orphaned',
    'At least 1.25% (lower bound of the 95 % CI) of the documents in the vector store of docs are not in its manifest, or are listed as deleted.',
  ),
  share(
    'RecalldIndexSuperseded',
    'superseded',
    'At least 1.25% (lower bound of the 95 % CI) of the documents of docs have chunks from more than one version in the vector store.',
  ),
  share(
    'RecalldIndexModelsMixed',
    'other_model',
    'At least 1.25% (lower bound of the 95 % CI) of the stored vectors of docs differ from what its embedder returns for the stored texts.',
  ),
  {
    alert: 'RecalldIndexLate',
    labels: docs,
    breaching: [
      signal('recalld_index_lag_seconds_ci_low', all, always(7200)),
      signal('recalld_index_lag_seconds', all, always(9000)),
      signal('recalld_index_late_after_seconds', docs, always(3600)),
      signal('recalld_index_changes_overdue', docs, always(3)),
    ],
    healthy: [
      // The lag may exceed the limit by chance alone, because the interval includes the limit.
      signal('recalld_index_lag_seconds_ci_low', all, always(3000)),
      signal('recalld_index_lag_seconds', all, always(9000)),
      signal('recalld_index_late_after_seconds', docs, always(3600)),
      signal('recalld_index_changes_overdue', docs, always(3)),
    ],
    minutes: 30,
    says: 'In the last day, 5 % of the changes took at least 2h 0m 0s (lower bound of the 95 % CI) to reach the vector store of docs. This lag exceeds late_after, and some changes have not arrived yet.',
  },
  {
    alert: 'RecalldIndexCheckStopped',
    labels: docs,
    breaching: [signal('recalld_index_check_last_success_timestamp_seconds', docs, always(0))],
    healthy: [signal('recalld_index_check_last_success_timestamp_seconds', docs, (minute) => 60 * minute)],
    minutes: 1500,
    says: 'The last complete check of the index of docs ended 1d 1h 0m 0s ago. recalld cannot read the manifest, or the store does not respond.',
  },
];
