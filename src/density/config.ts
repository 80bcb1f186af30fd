/** Config section `pipelines[].density`. */
import { z } from 'zod';
import { durationSchema } from '../platform/config/times.ts';

export const densitySchema = z
  .strictObject({
    window: durationSchema('5m', '1d').default('1h').describe('Length of the windows in which drift is tested.'),
    grace: durationSchema('5m', '1d')
      .default('10m')
      .describe('How long a window stays open after its end. Later queries are not used for drift detection.'),
    max_per_second: z
      .number()
      .positive()
      .max(10_000)
      .default(20)
      .describe(
        'Maximum searches per second in the vector store. With more live queries, a random share of them is measured.',
      ),
    baseline: z
      .strictObject({
        days: z.int().min(2).max(90).default(14).describe('Days of traffic required for pages.'),
        sessions: z.int().min(500).default(2000).describe('Sampled sessions required for pages.'),
      })
      .prefault({})
      .describe('Traffic required for a baseline that can page. Tickets need 3 days and 500 sessions.'),
  })
  .describe('Settings of query density monitoring, which needs a vector store.');
