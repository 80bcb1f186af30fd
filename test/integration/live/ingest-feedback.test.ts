import { expect, it } from 'vitest';
import { privacySchema } from '../../../src/live/config.ts';
import { ingestFeedback } from '../../../src/live/ingest-feedback.ts';
import { createPersonalData } from '../../../src/live/privacy/personal-data.ts';
import type { TracedFeedback } from '../../../src/live/rules/otel/feedback.ts';
import { createLiveTraffic } from '../../../src/live/sql/live-traffic.ts';
import { NOON } from '../../support/builders.ts';
import { contextOf } from '../../support/context.ts';
import { useDatabase } from '../../support/database.ts';
import { silentLogger } from '../../support/log.ts';
import { MemoryMeter } from '../../support/memory-telemetry.ts';
import { SteerableClock } from '../../support/steerable-clock.ts';
import { aFeedback, usualSentimentMapping as mapping } from '../../unit/live/rules/feedback/builders.ts';

const database = useDatabase();

it('an annotation whose id names a user is stored with a keyed hash of this id', async () => {
  const traffic = createLiveTraffic(database.pool, 'a');
  await traffic.createPartitions(NOON);
  const annotation: TracedFeedback = {
    ...aFeedback({ id: '["span","q1","user thumb","ann"]', kind: 'thumb', value: 'up' }),
    traceId: 'a'.repeat(32),
    isResolved: true,
  };
  const [clock, meter] = [new SteerableClock(), new MemoryMeter()];
  const personalData = createPersonalData({
    pipeline: 'docs',
    privacy: privacySchema.parse({ text: 'hash' }),
    key: 'key-of-the-hashes-0123456789',
    thread: { redact: async () => '' },
    meter,
    logger: silentLogger,
    clock,
  });
  const cap = { per_hour: 10, per_day: 10 };
  const context = contextOf({ db: { live: { traffic } }, clock, meter });
  const caps = { explicit: cap, engagement: cap, struggle: cap };
  const limits = { dimensions: null, retentionDays: 30 };
  const live = new Map([[annotation.pipeline, { feedback: { ...mapping, caps }, limits, personalData }]]);
  await ingestFeedback(context, live, async () => undefined, [annotation]);
  const { rows } = await database.pool.query('select * from feedback');
  expect(rows).toMatchObject([{ id: `otel-${personalData.hash(annotation.id ?? '')}` }]);
  expect(JSON.stringify(rows)).not.toContain('ann');
});
