/** How a pipeline takes in its live queries and feedback: what is kept, what is hidden, what a signal means. */
import { z } from 'zod';
import { scaleProblem } from '../../core/feedback/sentiment-mapping.ts';

const rate = z.number().min(0).max(1);

export const samplingSchema = z
  .strictObject({
    rate: rate.default(0.1).describe('Share of live sessions that is kept.'),
    segments: z
      .record(z.string().regex(/^[^=]+=./, { error: 'must be written key=value' }), rate)
      .default({})
      .describe('Rates by segment, `tenant=acme: 1`; the largest that fits takes the place of `rate`.'),
    max_per_minute: z
      .int()
      .min(1)
      .default(600)
      .describe('Most queries a minute that are kept; the rate is halved until they fit.'),
    always_keep: z
      .array(z.enum(['zero_results', 'error', 'negative_feedback']))
      .default(['zero_results', 'error', 'negative_feedback'])
      .describe('Queries that are kept whatever the rate.'),
  })
  .prefault({})
  .describe('Which live queries are kept.');

export const privacySchema = z
  .strictObject({
    text: z
      .enum(['redact', 'hash', 'keep'])
      .default('redact')
      .describe('What is stored of texts: redacted, a keyed hash alone, or as they are.'),
    retention_days: z
      .int()
      .min(1)
      .max(3650)
      .default(30)
      .describe('Days until live queries and feedback are deleted.'),
    patterns: z
      .array(
        z.strictObject({
          name: z
            .string()
            .regex(/^[a-z][a-z0-9_]{0,31}$/, { error: 'must be lower-case letters, digits and underscore' })
            .describe('Stands in the place of what is found: `employee_id` as [EMPLOYEE_ID].'),
          regex: z.string().min(1).max(500).describe('JavaScript regular expression of what to redact.'),
        }),
      )
      .max(50)
      .default([])
      .describe('What else is redacted beyond emails, phones, cards, IBANs, IP addresses, keys and tokens.'),
  })
  .prefault({})
  .describe('What is kept of live queries.');

const sentiment = z.enum(['positive', 'negative', 'neutral']);

const scale = z
  .strictObject({
    min: z.number(),
    max: z.number().optional().describe('Left out, there is no upper end.'),
    positive_from: z.number().describe('From here on it is positive.'),
    negative_to: z.number().describe('Up to here it is negative.'),
  })
  .superRefine((value, context) => {
    const problem = scaleProblem({
      min: value.min,
      max: value.max ?? Number.POSITIVE_INFINITY,
      positiveFrom: value.positive_from,
      negativeTo: value.negative_to,
    });
    if (problem !== null) context.addIssue({ code: 'custom', message: problem, input: value });
  });

const caps = z.strictObject({ per_hour: z.int().min(1), per_day: z.int().min(1) });

export const feedbackPolicySchema = z
  .strictObject({
    thumb_zero: z
      .enum(['negative', 'neutral'])
      .default('negative')
      .describe(
        'What the number 0 means as a thumb: negative where thumbs are 1 and 0, neutral where they are 1, 0 and -1.',
      ),
    rating: scale
      .prefault({ min: 1, max: 5, positive_from: 4, negative_to: 2 })
      .describe('Scale of ratings.'),
    relevance: scale
      .prefault({ min: 0, positive_from: 1, negative_to: 0 })
      .describe('Scale of relevance grades.'),
    click: sentiment.default('positive').describe('What a click says.'),
    copy: sentiment.default('positive').describe('What copying an answer says.'),
    reformulation: sentiment.default('negative').describe('What asking again in other words says.'),
    abandonment: sentiment.default('negative').describe('What leaving without an answer says.'),
    no_answer: sentiment.default('negative').describe('What "no answer" says.'),
    caps: z
      .strictObject({
        explicit: caps.prefault({ per_hour: 30, per_day: 100 }).describe('thumb, rating, relevance'),
        engagement: caps.prefault({ per_hour: 60, per_day: 300 }).describe('click, copy'),
        struggle: caps
          .prefault({ per_hour: 30, per_day: 100 })
          .describe('reformulation, abandonment, no_answer'),
      })
      .prefault({})
      .describe('Most feedback of one user that counts; what is beyond is stored all the same.'),
  })
  .prefault({})
  .describe('What feedback means.');
