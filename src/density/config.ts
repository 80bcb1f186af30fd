import { z } from 'zod';
import { durationSchema } from '../platform/config/times.ts';

export const densitySchema = z
  .strictObject({
    window: durationSchema('5m', '1d')
      .default('1h')
      .describe('Length of each live traffic window that is tested for drift.'),
    grace: durationSchema('5m', '1d')
      .default('10m')
      .describe(
        'How long recalld waits for late queries after the end of a window. Drift detection ignores queries that arrive later.',
      ),
    max_per_second: z
      .number()
      .positive()
      .max(10_000)
      .default(20)
      .describe(
        'Maximum number of vector store searches per second. If live queries need more searches, recalld measures a random share of them.',
      ),
    baseline: z
      .strictObject({
        days: z.int().min(2).max(90).default(14).describe('Minimum number of days that the baseline must cover.'),
        sessions: z.int().min(500).default(2000).describe('Minimum number of sampled sessions in the baseline.'),
      })
      .prefault({})
      .describe(
        'Minimum traffic in a baseline before a drift alert can page. For a ticket, 3 days and 500 sessions are enough.',
      ),
  })
  .describe('Monitoring of query density, which requires a vector store.');
