/** How the query density of a pipeline is watched. */
import { z } from 'zod';
import { durationSchema } from '../platform/config/times.ts';

export const densitySchema = z
  .strictObject({
    window: durationSchema('5m', '1d').default('1h').describe('Length of the windows in which evidence is counted.'),
    grace: durationSchema('5m', '1d')
      .default('10m')
      .describe('How long a window stays open after its end; queries that arrive later are no evidence.'),
    max_per_second: z
      .number()
      .positive()
      .max(10_000)
      .default(20)
      .describe(
        'Most searches a second in the vector store; when there are more live queries, a random part of them is measured.',
      ),
    baseline: z
      .strictObject({
        days: z.int().min(2).max(90).default(14).describe('Days of traffic that pages need.'),
        sessions: z.int().min(500).default(2000).describe('Sampled sessions that pages need.'),
      })
      .prefault({})
      .describe('How much traffic makes a baseline that can page; tickets need 3 days and 500 sessions.'),
  })
  .describe('How query density is watched; needs a vector store.');
