import { signal } from '../../../support/promtool.ts';
import type { AlertFixture } from './fixture.ts';
import { always, growing } from './signals.ts';

const docs = { pipeline: 'docs' };
const DAY = 1440;

const recall = (high: number) => [
  signal('recalld_ann_recall_ratio', { ...docs, k: '10' }, always(high - 0.02)),
  signal('recalld_ann_recall_ratio_ci_high', { ...docs, k: '10' }, always(high)),
];

const canary = (median: number, least: number) => [
  signal('recalld_embedding_canary_median_similarity', docs, always(median)),
  signal('recalld_embedding_canary_min_similarity', docs, always(least)),
];

const probe = { ...docs, measure: 'store_vectors' };
const storeSample = { ...docs, measure: 'store_sample_vectors' };
const now = (minute: number) => 60 * minute;

export const partsFixtures: readonly AlertFixture[] = [
  {
    alert: 'RecalldStoreShrank',
    labels: docs,
    breaching: [signal('recalld_store_vectors', docs, (m) => (m < DAY ? 9000 : 6000))],
    healthy: [signal('recalld_store_vectors', docs, (m) => (m < DAY ? 9000 : 8500))],
    minutes: DAY + 120,
    step: 5,
    says: 'The vector store of docs has 6k vectors, less than 80 % of the number one day ago.',
  },
  {
    alert: 'RecalldIndexRecallLow',
    labels: { ...docs, k: '10' },
    breaching: recall(0.82),
    healthy: recall(0.99),
    says: 'The index of docs returns at most 82% (upper bound of the 95 % CI) of the 10 exact nearest neighbors; the minimum is 90 %.',
  },
  {
    alert: 'RecalldStoreLostContent',
    labels: docs,
    breaching: [signal('recalld_repeat_density_ci_high', docs, always(0.81))],
    healthy: [signal('recalld_repeat_density_ci_high', docs, always(0.97))],
    says: 'The store covers replayed baseline queries at most 81% as well as before (upper bound of the 95 % CI). The queries are the same, so content is missing.',
  },
  {
    alert: 'RecalldEmbedderChanged',
    labels: docs,
    breaching: canary(0.61, 0.4),
    healthy: canary(0.9999, 0.999),
    says: 'The embedder of docs now returns different vectors for the canary texts: cosine 0.61 to the first vectors (1 for an unchanged model). The embedding model has probably changed.',
  },
  {
    alert: 'RecalldProbesStopped',
    labels: probe,
    breaching: [signal('recalld_probe_last_success_timestamp_seconds', probe, always(0))],
    healthy: [
      signal('recalld_probe_last_success_timestamp_seconds', probe, now),
      signal('recalld_probe_last_success_timestamp_seconds', storeSample, always(0)),
      // These measures may have no value for a long time: a golden set may run only daily, and a run that missed no
      // document has no `missed_foreign_ratio`.
      signal('recalld_probe_last_success_timestamp_seconds', { ...docs, measure: 'store_agreement' }, always(0)),
      signal('recalld_probe_last_success_timestamp_seconds', { ...docs, measure: 'missed_foreign_ratio' }, always(0)),
      signal('recalld_probe_last_success_timestamp_seconds', { ...docs, measure: 'missed_changed_ratio' }, always(0)),
    ],
    minutes: 240,
    says: 'The probe store_vectors of docs has not returned a value for 4h 0m 0s.',
  },
  {
    alert: 'RecalldStoreSampleOld',
    labels: docs,
    breaching: [signal('recalld_probe_last_success_timestamp_seconds', storeSample, always(0))],
    // A sample is taken every six hours; when the test ends, the latest sample is more than five hours old.
    healthy: [signal('recalld_probe_last_success_timestamp_seconds', storeSample, (m) => 21_600 * Math.floor(m / 360))],
    minutes: 1060,
    step: 5,
    says: 'The latest sample of the store of docs is 17h 40m 0s old; it should be renewed every 6 hours. Measures of the store content may be outdated.',
  },
  {
    alert: 'RecalldLiveMeasuresStopped',
    labels: docs,
    breaching: [signal('recalld_live_measure_last_success_timestamp_seconds', docs, always(0))],
    healthy: [signal('recalld_live_measure_last_success_timestamp_seconds', docs, now)],
    minutes: 120,
    says: 'Samples of live traffic for docs were last measured 2h 0m 0s ago.',
  },
  {
    alert: 'RecalldRedactionFailing',
    labels: { ...docs, outcome: 'timeout' },
    breaching: [signal('recalld_redaction_service_total', { ...docs, outcome: 'timeout' }, growing(10))],
    healthy: [
      signal('recalld_redaction_service_total', { ...docs, outcome: 'ok' }, growing(100)),
      signal('recalld_redaction_service_total', { ...docs, outcome: 'timeout' }, (m) => Math.floor(m / 10)),
    ],
    says: 'The redaction service failed for 300 texts of docs in the last 15 minutes (timeout). recalld stores only a hash of each of these texts.',
  },
];
