/** Config schemas for live traffic: sampling, privacy, live measures, and the interpretation of feedback. */
import { z } from 'zod';
import { tryCompile } from '../connectors/retrievers/results.ts';
import { patternProblem } from '../core/text/document-pattern.ts';
import { headersSchema } from '../platform/config/connection.ts';
import { durationSchema } from '../platform/config/times.ts';
import { patternProblems } from './privacy/rules/redactor.ts';
import { scaleProblem, sentiments } from './rules/feedback/sentiment.ts';
import { defaultFeedbackCaps, type KindGroup } from './rules/feedback/user-cap.ts';

const rate = z.number().min(0).max(1);

export const samplingSchema = z
  .strictObject({
    rate: rate.default(0.1).describe('Share of live sessions to sample.'),
    segments: z
      .record(z.string().regex(/^[^=]+=./, { error: 'must have the form key=value' }), rate)
      .default({})
      .describe('Sampling rates by segment, such as `tenant=acme: 1`. The largest matching rate replaces `rate`.'),
    max_per_minute: z
      .int()
      .min(1)
      .default(600)
      .describe(
        'Maximum number of queries to sample per minute. If more queries arrive, recalld halves the sampling rate until the limit is met.',
      ),
    always_keep: z
      .array(z.enum(['zero_results', 'error', 'negative_feedback']))
      .default(['zero_results', 'error', 'negative_feedback'])
      .describe('Queries to sample regardless of `rate` and `max_per_minute`.'),
    low_similarity_below: z
      .number()
      .min(-1)
      .max(1)
      .nullable()
      .default(null)
      .describe(
        'recalld always samples a query whose best document scores below this value. Requires scores that are cosine similarities.',
      ),
  })
  .prefault({})
  .describe('Sampling of live queries.');

const presidioSchema = z
  .strictObject({
    url: z
      .string()
      .regex(/^https?:\/\//, { error: 'must be an http:// or https:// URL' })
      .describe('Base URL of the Presidio analyzer, without `/analyze`.')
      .meta({ secret: 'url' }),
    headers: headersSchema,
    language: z.string().min(2).max(16).default('en').describe('Language of the texts to analyze.'),
    score_threshold: z.number().min(0).max(1).default(0.5).describe('Minimum confidence score of a detected entity.'),
    entities: z
      .array(
        z.string().regex(/^[A-Z][A-Z0-9_]*$/, {
          error: 'must consist of upper-case letters, digits and underscores, such as PERSON',
        }),
      )
      .min(1)
      .optional()
      .describe('Entity types to detect. Default: all types that the service supports.'),
    timeout_ms: z
      .int()
      .min(10)
      .max(10_000)
      .default(500)
      .describe(
        'Timeout per analysis, in milliseconds. If a text is not analyzed in time, recalld stores only its hash.',
      ),
    concurrency: z.int().min(1).max(256).default(8).describe('Maximum number of concurrent analyses.'),
  })
  .describe('A Presidio analyzer, which detects names and other entities after the built-in rules have been applied.');

export const privacySchema = z
  .strictObject({
    text: z
      .enum(['redact', 'hash', 'keep'])
      .default('redact')
      .describe(
        'How recalld stores query texts: `redact` removes personal data, `hash` stores only a keyed hash, `keep` stores the text unchanged.',
      ),
    retention_days: z
      .int()
      .min(1)
      .max(3650)
      .default(30)
      .describe('Number of days for which live queries and feedback are retained.'),
    patterns: z
      .array(
        z.strictObject({
          name: z
            .string()
            .regex(/^[a-z][a-z0-9_]{0,31}$/, { error: 'must consist of lower-case letters, digits and underscores' })
            .describe('Name of the pattern. recalld replaces a match of the pattern `employee_id` with [EMPLOYEE_ID].'),
          regex: z.string().min(1).max(500).describe('JavaScript regular expression for the text to redact.'),
        }),
      )
      .max(50)
      .default([])
      .superRefine((patterns, context) => {
        const problems = patternProblems(patterns);
        for (const [index, problem] of problems.entries()) {
          if (problem !== null) context.addIssue({ code: 'custom', message: problem, path: [index] });
        }
      })
      .describe(
        'Patterns to redact, in addition to e-mail addresses, phone numbers, cards, IBANs, IP addresses, keys and tokens.',
      ),
    presidio: presidioSchema.optional(),
  })
  .superRefine(({ text, presidio }, context) => {
    if (presidio === undefined || text === 'redact') return;
    const message = `has no effect if text is ${text}; set text to redact, or remove this field`;
    context.addIssue({ code: 'custom', message, path: ['presidio'], input: presidio });
  })
  .prefault({})
  .describe('How recalld stores live queries and feedback, and for how long.');

const isolationRule = z
  .strictObject({
    name: z
      .string()
      .regex(/^[a-z0-9](?:[a-z0-9_-]{0,38}[a-z0-9])?$/, {
        error: 'must be up to 40 lower-case letters, digits, - and _, with a letter or digit at both ends',
      })
      .describe('Name of the rule, used as a metric label.'),
    segment: z
      .string()
      .min(1)
      .max(64)
      .describe(
        'Segment of live queries, such as `tenant`. recalld cannot check queries without this segment, and counts them separately.',
      ),
    field: z
      .string()
      .min(1)
      .max(64)
      .nullable()
      .default(null)
      .describe(
        'Document field to compare with `allow`, from `results[].fields` or from the document metadata in OpenTelemetry spans. If null, recalld compares document ids.',
      ),
    allow: z
      .array(z.string().max(1024))
      .min(1)
      .max(50)
      .describe(
        'Document ids or field values that a query may return. recalld replaces `{{tenant}}` with the `tenant` segment of the query. A `*` at the end matches any suffix.',
      ),
  })
  .superRefine(({ segment, allow }, context) => {
    for (const [index, pattern] of allow.entries()) {
      const problem = patternProblem(pattern, segment);
      if (problem !== null)
        context.addIssue({ code: 'custom', message: problem, path: ['allow', index], input: pattern });
    }
  });

export const isolationSchema = z
  .array(isolationRule)
  .max(20)
  .superRefine((rules, context) => {
    for (const [index, { name }] of rules.entries()) {
      if (rules.findIndex((other) => other.name === name) < index)
        context.addIssue({ code: 'custom', message: `repeats the name ${name}`, path: [index, 'name'], input: name });
    }
  })
  .default([])
  .describe(
    'Rules that restrict which documents the queries of a segment may return, for example only documents of the same tenant. recalld checks the results of every live query, sampled or not. A single violation pages.',
  );

export const episodesSchema = z
  .strictObject({
    idle: durationSchema('1m', '24h')
      .default('10m')
      .describe(
        'Time without a retrieval after which recalld closes and measures an episode. Later retrievals start a new episode.',
      ),
  })
  .prefault({})
  .describe('Episodes: agent turns, each of which may include several retrievals for one question.');

const jmespath = z
  .string()
  .min(1)
  .max(1000)
  .superRefine((text, context) => {
    const compiled = tryCompile(text);
    if ('problem' in compiled)
      context.addIssue({ code: 'custom', message: `is invalid: ${compiled.problem}`, input: text });
  });

export const retrievalToolsSchema = z
  .array(
    z.strictObject({
      name: z
        .string()
        .min(1)
        .max(256)
        .describe('Name of the tool, as in the span attribute `gen_ai.tool.name` or `tool.name`, or in the span name.'),
      text: jmespath
        .nullable()
        .default(null)
        .describe(
          'JMESPath expression for the query text in the arguments of the call. If null, recalld tries the usual names, such as `query`.',
        ),
      results: z
        .strictObject({
          list: jmespath.describe('JMESPath expression for the list of documents in the result of the call.'),
          id: jmespath.default('id').describe('JMESPath expression for the document id in a list element.'),
          score: jmespath.nullable().default('score').describe('JMESPath expression for the score in a list element.'),
        })
        .nullable()
        .default(null)
        .describe(
          'Where to find the documents in the result of the call. If null, recalld tries the usual places, such as `documents`.',
        ),
    }),
  )
  .max(50)
  .default([])
  .describe(
    'Tools that an agent uses for retrieval. recalld reads the OpenTelemetry spans of their calls as live queries.',
  );

export type RetrievalToolConfig = z.infer<typeof retrievalToolsSchema>[number];

export const liveSchema = z
  .strictObject({
    window: durationSchema('5m', '31d')
      .default('24h')
      .describe('Length of the trailing window for live measures. recalld computes these measures every 5 minutes.'),
    baseline: durationSchema('1h', '90d')
      .default('7d')
      .describe(
        'Length of the baseline period before the window. Once a day, recalld computes the expected click-through rate at each rank and the usual share of positive feedback from this period.',
      ),
  })
  .prefault({})
  .describe('How recalld measures live traffic. recalld ignores data older than `privacy.retention_days`.');

const sentiment = z.enum(sentiments);

const scale = z
  .strictObject({
    min: z.number().describe('Lowest value of the scale.'),
    max: z.number().optional().describe('Highest value of the scale. Default: unlimited.'),
    positive_from: z.number().describe('Lowest positive value.'),
    negative_to: z.number().describe('Highest negative value.'),
  })
  .superRefine((value, context) => {
    const problem = scaleProblem(value);
    if (problem !== null) context.addIssue({ code: 'custom', message: problem, input: value });
  });

function capsSchema(group: KindGroup) {
  return z
    .strictObject({
      per_hour: z.int().min(1).describe('Maximum number of feedback items to count per hour (UTC).'),
      per_day: z.int().min(1).describe('Maximum number of feedback items to count per day (UTC).'),
    })
    .prefault(defaultFeedbackCaps[group]);
}

export const feedbackPolicySchema = z
  .strictObject({
    // `negative` is the safer default. If it is wrong (0 means "retracted"), the positive ratio is too low, which you
    // would notice. If `neutral` is wrong (0 means "down"), the positive ratio stays at 1, which you would not notice.
    thumb_zero: z
      .enum(['negative', 'neutral'])
      .default('negative')
      .describe(
        'Meaning of a thumb value of 0: `negative` if the service sends 1 and 0, `neutral` if it sends 1, 0 and -1.',
      ),
    rating: scale.prefault({ min: 1, max: 5, positive_from: 4, negative_to: 2 }).describe('Scale of ratings.'),
    relevance: scale.prefault({ min: 0, positive_from: 1, negative_to: 0 }).describe('Scale of relevance grades.'),
    click: sentiment.default('positive').describe('Meaning of a click on a document.'),
    copy: sentiment.default('positive').describe('Meaning of a copied answer.'),
    reformulation: sentiment.default('negative').describe('Meaning of a rephrased query.'),
    abandonment: sentiment
      .default('negative')
      .describe('Meaning of an abandonment: the user leaves without an answer.'),
    no_answer: sentiment.default('negative').describe('Meaning of a result that a user marks as "no answer".'),
    caps: z
      .strictObject({
        explicit: capsSchema('explicit').describe('Limit for the kinds `thumb`, `rating` and `relevance`.'),
        engagement: capsSchema('engagement').describe('Limit for the kinds `click` and `copy`.'),
        struggle: capsSchema('struggle').describe(
          'Limit for the kinds `reformulation`, `abandonment` and `no_answer`.',
        ),
      })
      .prefault({})
      .describe('Limits on the feedback of one user. recalld stores feedback beyond a limit, but does not count it.'),
  })
  .prefault({})
  .describe('How recalld interprets feedback.');
