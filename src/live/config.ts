/** How a pipeline takes in its live queries and feedback: what is kept, what is hidden, what a signal means. */
import { z } from 'zod';
import { headersSchema } from '../platform/config/connection.ts';
import { durationSchema } from '../platform/config/times.ts';
import { patternProblems } from './privacy/rules/redactor.ts';
import { scaleProblem, sentiments } from './rules/feedback/sentiment.ts';
import { defaultFeedbackCaps, type KindGroup } from './rules/feedback/user-cap.ts';

const rate = z.number().min(0).max(1);

export const samplingSchema = z
  .strictObject({
    rate: rate.default(0.1).describe('Share of live sessions that is kept.'),
    segments: z
      .record(z.string().regex(/^[^=]+=./, { error: 'must be written key=value' }), rate)
      .default({})
      .describe('Rates by segment, such as `tenant=acme: 1`; the largest that matches a query replaces `rate`.'),
    max_per_minute: z
      .int()
      .min(1)
      .default(600)
      .describe('Most queries a minute that are kept; the rate is halved until they fit.'),
    always_keep: z
      .array(z.enum(['zero_results', 'error', 'negative_feedback']))
      .default(['zero_results', 'error', 'negative_feedback'])
      .describe('Queries that are kept whatever the rate.'),
    low_similarity_below: z
      .number()
      .min(-1)
      .max(1)
      .nullable()
      .default(null)
      .describe(
        'Queries whose best document scores below this are kept whatever the rate, where scores are cosines; null: no such rule.',
      ),
  })
  .prefault({})
  .describe('Which live queries are kept.');

const presidioSchema = z
  .strictObject({
    url: z
      .string()
      .regex(/^https?:\/\//, { error: 'must be an http:// or https:// URL' })
      .describe('Where the analyzer of Presidio is, up to `/analyze`.')
      .meta({ secret: 'url' }),
    headers: headersSchema,
    language: z.string().min(2).max(16).default('en').describe('Language of the texts.'),
    score_threshold: z.number().min(0).max(1).default(0.5).describe('Finds with a lower score are ignored.'),
    entities: z
      .array(z.string().regex(/^[A-Z][A-Z0-9_]*$/, { error: 'must be written like PERSON' }))
      .min(1)
      .optional()
      .describe('Types to look for; left out, all that the service knows.'),
    timeout_ms: z
      .int()
      .min(10)
      .max(10_000)
      .default(500)
      .describe('Longest that an ingest request waits for it; texts that are not back by then are not stored.'),
    concurrency: z.int().min(1).max(256).default(8).describe('Most texts with the service at a time.'),
  })
  .describe('A Presidio analyzer that looks for names and more in what our own rules left.');

export const privacySchema = z
  .strictObject({
    text: z
      .enum(['redact', 'hash', 'keep'])
      .default('redact')
      .describe(
        'How texts are stored: `redact` takes personal data out, `hash` keeps only a keyed hash, `keep` stores them as they are.',
      ),
    retention_days: z.int().min(1).max(3650).default(30).describe('Days until live queries and feedback are deleted.'),
    patterns: z
      .array(
        z.strictObject({
          name: z
            .string()
            .regex(/^[a-z][a-z0-9_]{0,31}$/, { error: 'must be lower-case letters, digits and underscore' })
            .describe('Name of the placeholder: `employee_id` is written as [EMPLOYEE_ID].'),
          regex: z.string().min(1).max(500).describe('JavaScript regular expression of what to redact.'),
        }),
      )
      .max(50)
      .default([])
      .superRefine((patterns, context) => {
        const problems = patternProblems(patterns.map(({ name, regex }) => ({ name, source: regex })));
        for (const [index, problem] of problems.entries()) {
          if (problem !== null) context.addIssue({ code: 'custom', message: problem, path: [index] });
        }
      })
      .describe('What else is redacted beyond emails, phones, cards, IBANs, IP addresses, keys and tokens.'),
    presidio: presidioSchema.optional(),
  })
  .superRefine(({ text, presidio }, context) => {
    if (presidio === undefined || text === 'redact') return;
    const message = `has no effect with text: ${text}; set text: redact, or leave it out`;
    context.addIssue({ code: 'custom', message, path: ['presidio'], input: presidio });
  })
  .prefault({})
  .describe('What is kept of live queries.');

export const liveSchema = z
  .strictObject({
    window: durationSchema('5m', '31d')
      .default('24h')
      .describe('Length of the trailing window of live queries and feedback that is measured every 5 minutes.'),
    baseline: durationSchema('1h', '90d')
      .default('7d')
      .describe(
        'Length of the time before the window from which it is learnt, once a day, how often users click at each rank and which share of their opinions is positive.',
      ),
  })
  .prefault({})
  .describe('How live traffic is measured. Nothing older than `privacy.retention_days` is seen.');

const sentiment = z.enum(sentiments);

const scale = z
  .strictObject({
    min: z.number().describe('Lowest value.'),
    max: z.number().optional().describe('Highest value; left out, there is none.'),
    positive_from: z.number().describe('Values from here up are positive.'),
    negative_to: z.number().describe('Values up to here are negative.'),
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

/** Caps of a group of kinds of feedback; left out, those of core. */
function capsOf(group: KindGroup) {
  const { perHour, perDay } = defaultFeedbackCaps[group];
  return z
    .strictObject({
      per_hour: z.int().min(1).describe('Most in an hour (UTC).'),
      per_day: z.int().min(1).describe('Most in a day (UTC).'),
    })
    .prefault({ per_hour: perHour, per_day: perDay });
}

export const feedbackPolicySchema = z
  .strictObject({
    // Where 0 was meant as taken back, `negative` gives a ratio that is too low, and somebody asks why. With `neutral`
    // where it was meant as down, the ratio would be 1 whatever the users say, and nobody would ask.
    thumb_zero: z
      .enum(['negative', 'neutral'])
      .default('negative')
      .describe(
        'What the number 0 means as a thumb: negative where thumbs are 1 and 0, neutral where they are 1, 0 and -1.',
      ),
    rating: scale.prefault({ min: 1, max: 5, positive_from: 4, negative_to: 2 }).describe('Scale of ratings.'),
    relevance: scale.prefault({ min: 0, positive_from: 1, negative_to: 0 }).describe('Scale of relevance grades.'),
    click: sentiment.default('positive').describe('What a click says.'),
    copy: sentiment.default('positive').describe('What copying an answer says.'),
    reformulation: sentiment.default('negative').describe('What asking again in other words says.'),
    abandonment: sentiment.default('negative').describe('What leaving without an answer says.'),
    no_answer: sentiment.default('negative').describe('What "no answer" says.'),
    caps: z
      .strictObject({
        explicit: capsOf('explicit').describe('Of thumb, rating and relevance.'),
        engagement: capsOf('engagement').describe('Of click and copy.'),
        struggle: capsOf('struggle').describe('Of reformulation, abandonment and no_answer.'),
      })
      .prefault({})
      .describe('Most feedback of one user that counts; what is beyond is stored all the same.'),
  })
  .prefault({})
  .describe('What feedback means.');
