/** What is stored of feedback, before any database. */
import { expect, it } from 'vitest';
import { privacySchema } from '../../../src/live/config.ts';
import { ingestFeedback } from '../../../src/live/ingest-feedback.ts';
import type { TracedFeedback } from '../../../src/live/rules/otel/feedback.ts';
import type { StoredFeedback } from '../../../src/live/sql/feedback-rows.ts';
import { createPersonalData } from '../../../src/privacy/personal-data.ts';
import { silentLogger } from '../../support/log.ts';
import { MemoryLiveTraffic } from '../../support/memory-live-traffic.ts';
import { MemoryMeter } from '../../support/memory-telemetry.ts';
import { SteerableClock } from '../../support/steerable-clock.ts';
import { aFeedback } from './rules/feedback/builders.ts';

it('of an annotation that names who judged keeps a keyed hash in its id, and no name', async () => {
  const stored: StoredFeedback[] = [];
  const traffic = Object.assign(new MemoryLiveTraffic(), {
    countedHours: async () => [],
    recordFeedback: async (rows: readonly StoredFeedback[]) => {
      stored.push(...rows);
      return { isNew: rows.map(() => true) };
    },
  });
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
  const cap = { perHour: 10, perDay: 10 };
  await ingestFeedback(
    {
      traffic,
      clock,
      meter,
      promoteNegativeFeedback: async () => undefined,
      feedbackPolicy: () => ({
        mapping: {
          thumb: { zero: 'negative' },
          rating: { min: 1, max: 5, positiveFrom: 4, negativeTo: 2 },
          relevance: { min: 0, max: 3, positiveFrom: 1, negativeTo: 0 },
          click: 'positive',
          copy: 'positive',
          reformulation: 'negative',
          abandonment: 'negative',
          no_answer: 'negative',
        },
        caps: { explicit: cap, engagement: cap, struggle: cap },
        retentionDays: 30,
        personalData,
      }),
    },
    [annotation],
  );
  expect(stored.map(({ id }) => id)).toEqual([`otel-${personalData.hash(annotation.id ?? '')}`]);
});
