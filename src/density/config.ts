import { z } from 'zod';
import { durationSchema } from '../platform/config/times.ts';

export const densitySchema = z
  .strictObject({
    window: durationSchema('5m', '1d')
      .default('1h')
      .describe('Length of each window of live traffic that is tested for drift.'),
    grace: durationSchema('5m', '1d')
      .default('10m')
      .describe(
        'How long a window stays open after its end. Queries that arrive later are not used for drift detection.',
      ),
    max_per_second: z
      .number()
      .positive()
      .max(10_000)
      .default(20)
      .describe(
        'Maximum number of vector store searches per second. If more live queries arrive, recalld measures a random share of them.',
      ),
    baseline: z
      .strictObject({
        days: z
          .int()
          .min(2)
          .max(90)
          .default(14)
          .describe('Minimum number of days that a baseline must cover before its alerts can page.'),
        sessions: z
          .int()
          .min(500)
          .default(2000)
          .describe('Minimum number of sampled sessions in a baseline before its alerts can page.'),
      })
      .prefault({})
      .describe(
        'Minimum traffic in a baseline before an alert can page. Ticket alerts never require more than 3 days and 500 sessions.',
      ),
  })
  .describe('Settings for query density monitoring, which requires a vector store.');
