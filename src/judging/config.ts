/** Config section `pipelines[].judged`: who grades live queries, how many, and at what cost. */
import { z } from 'zod';
import { type RetrieverConfig, rerankerSchema, textFieldMissingIn } from '../connectors/retrievers/config.ts';
import { hasContent, type VectorStoreConfig } from '../connectors/stores/config.ts';
import { numberIn, wholeIn } from '../platform/config/connection.ts';
import { durationSchema } from '../platform/config/times.ts';

/** Longest trailing window; queries received before it are not part of any score. */
export const LONGEST_WINDOW = '31d';

const llm = z.strictObject({
  kind: z.literal('llm').describe('The chat model configured in `llm`, with a grading rubric.'),
});

const reranker = z.strictObject({
  kind: z.literal('reranker').describe('A cross-encoder; recalld maps its scores to grades.'),
  reranker: rerankerSchema.describe('The reranking service.'),
  grades_from: z
    .tuple([z.number(), z.number(), z.number()])
    .default([0.1, 0.4, 0.8])
    .refine(([one, two, three]) => one < two && two < three, { error: 'must be ascending' })
    .describe('Minimum cross-encoder scores for the grades 1, 2 and 3.'),
});

const none = z.strictObject({
  kind: z.literal('none').describe('No model: all selected queries need human judgments.'),
});

const share = numberIn(0, 1);

export const judgedSchema = z
  .strictObject({
    judge: z
      .discriminatedUnion('kind', [llm, reranker, none])
      .default({ kind: 'llm' })
      .describe('The model that grades selected queries.'),
    queries_per_day: wholeIn(1, 100_000)
      .default(200)
      .describe(
        'Number of live queries to judge per day. recalld selects them at random, with known probabilities, from the sampled queries.',
      ),
    window: durationSchema('1h', LONGEST_WINDOW)
      .default('7d')
      .describe('Length of the trailing window for scores. The detection of drops uses daily means instead.'),
    depth: wholeIn(1, 10).default(5).describe('Number of top documents to grade per query. Grades range from 0 to 3.'),
    pooling: z
      .strictObject({
        share: share
          .default(0.05)
          .describe('Share of the selected queries that get a judgment pool; 0 disables pooling.'),
        documents: wholeIn(1, 100)
          .default(20)
          .describe('Number of nearest chunks to grade in addition to the documents that users got.'),
      })
      .prefault({})
      .describe(
        'Judgment pools: the judge also grades the nearest chunks in the vector store, so that the ideal order of nDCG includes better documents that users did not get. Requires a model judge and a vector store with `content`.',
      ),
    episode_share: share
      .default(0.5)
      .describe(
        'Share of the selected agent turns (episodes) to grade as a whole. The judge grades the results of all retrievals against the original text. recalld also sends the original text to the retriever, and compares the results with those of the first rewritten query. Requires a model judge and queries with `episode.original_text`; 0 disables the grading of episodes.',
      ),
    max_cost_per_day: numberIn(0, 1_000_000)
      .default(2)
      .describe(
        'Maximum cost of the judge per day (UTC), in US dollars. recalld counts queries beyond this limit, but does not select them.',
      ),
    human_share: z
      .number()
      .gt(0)
      .max(1)
      .default(0.1)
      .describe(
        'Share of the selected queries that also need human judgments. Without a model judge, all selected queries need human judgments.',
      ),
    second_reviewer_share: share
      .default(0.2)
      .describe('Share of the human-graded queries that a second person grades independently.'),
    min_agreement: share
      .default(0.4)
      .describe(
        'Minimum for the lower bound of the weighted kappa between the judge and people. An alert fires if the whole 95 % CI of kappa is below this minimum. If the judge and people have both graded at least 40 sessions in the window, the alert fires even if only the lower bound is below the minimum.',
      ),
  })
  .describe(
    'Judged live relevance: a model grades a few live queries, and human judgments correct its grades (docs/explanation/judging.md). Without this section, recalld judges no live queries.',
  );

export type JudgedConfig = z.infer<typeof judgedSchema>;

/** Rejects a model judge if query texts are not stored, or if document texts cannot be read. */
export function refuseUnjudgeableTraffic(
  pipeline: {
    readonly judged?: JudgedConfig | undefined;
    readonly privacy: { readonly text: 'redact' | 'hash' | 'keep' };
    readonly retriever: RetrieverConfig;
    readonly vector_store?: VectorStoreConfig | undefined;
    readonly embedder?: unknown;
  },
  context: z.core.$RefinementCtx,
): void {
  const { judged, privacy, retriever, vector_store: store, embedder } = pipeline;
  if (judged === undefined || judged.judge.kind === 'none') return;
  const refuse = (path: readonly string[], message: string): void => {
    context.addIssue({ code: 'custom', path: [...path], message });
  };
  const { kind } = judged.judge;
  if (privacy.text === 'hash') {
    const fix = 'set privacy.text: redact, or use only human judgments with judged.judge: {kind: none}';
    refuse(['judged', 'judge', 'kind'], `is ${kind}, but query texts are not stored (privacy.text: hash); ${fix}`);
  }
  const path = textFieldMissingIn(retriever, store);
  if (path === null || (store !== undefined && hasContent(store) && embedder !== undefined)) return;
  const orStore = path[0] === 'vector_store' ? '' : ', or vector_store.content and an embedder';
  refuse(['judged'], `needs document texts; set ${path.filter((key) => key !== 'of').join('.')}${orStore}`);
}

/** Rejects `judge: {kind: llm}` without a chat model and its prices. The `llm` section is shared by all pipelines. */
export function refuseJudgeWithoutModel(
  config: {
    readonly llm?: { readonly price_per_million_tokens?: unknown } | undefined;
    readonly pipelines: readonly { readonly judged?: JudgedConfig | undefined }[];
  },
  context: z.core.$RefinementCtx,
): void {
  // A misspelled key in `llm` must not be reported twice.
  if (context.issues.length > 0) return;
  for (const [index, { judged }] of config.pipelines.entries()) {
    if (judged?.judge.kind !== 'llm') continue;
    const path = ['pipelines', index, 'judged', 'judge', 'kind'];
    if (config.llm === undefined) {
      const message = 'is llm, but no chat model is configured; add llm: {base_url, model, api_key}';
      context.addIssue({ code: 'custom', path, message });
    } else if (config.llm.price_per_million_tokens === undefined) {
      const message =
        'is llm, but max_cost_per_day needs token prices; add llm.price_per_million_tokens: {input, output}, with 0 for a self-hosted model';
      context.addIssue({ code: 'custom', path, message });
    }
  }
}

export function refuseEvaluationsWithoutJudge(
  {
    metrics,
    pipelines,
  }: {
    readonly metrics: { readonly otlp?: { readonly send: readonly string[] } | undefined };
    readonly pipelines: readonly { readonly judged?: JudgedConfig | undefined }[];
  },
  context: z.core.$RefinementCtx,
): void {
  const index = metrics.otlp?.send.indexOf('evaluations') ?? -1;
  if (index === -1 || pipelines.some(({ judged }) => judged !== undefined && judged.judge.kind !== 'none')) return;
  const message =
    'is evaluations, but no pipeline has a model judge; add `judged` to a pipeline, or remove evaluations';
  context.addIssue({ code: 'custom', path: ['metrics', 'otlp', 'send', index], message });
}
