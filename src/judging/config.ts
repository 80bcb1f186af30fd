/** `pipelines[].judged`: whether live queries are graded, by whom, how many, for how much. */
import { z } from 'zod';
import { type RetrieverConfig, rerankerSchema, textFieldMissingIn } from '../connectors/retrievers/config.ts';
import type { VectorStoreConfig } from '../connectors/stores/config.ts';
import { durationSchema } from '../platform/config/times.ts';

/** No score is of older live queries. */
export const LONGEST_WINDOW = '31d';

const llm = z.strictObject({
  kind: z.literal('llm').describe('The chat model of the section `llm`, with a rubric.'),
});

const reranker = z.strictObject({
  kind: z.literal('reranker').describe('A cross-encoder, whose scores become grades.'),
  reranker: rerankerSchema.describe('The service, as under a retriever of kind rerank.'),
  grades_from: z
    .tuple([z.number(), z.number(), z.number()])
    .default([0.1, 0.4, 0.8])
    .refine(([one, two, three]) => one < two && two < three, { error: 'must rise' })
    .describe('Scores from which a document gets the grades 1, 2 and 3.'),
});

const none = z.strictObject({ kind: z.literal('none').describe('People alone.') });

export const judgedSchema = z
  .strictObject({
    judge: z
      .discriminatedUnion('kind', [llm, reranker, none])
      .default({ kind: 'llm' })
      .describe('Who grades what people cannot all grade.'),
    queries_per_day: z
      .int()
      .min(1)
      .max(100_000)
      .default(200)
      .describe('Live queries a day that are drawn, of the kept ones, with a known chance.'),
    window: durationSchema('1h', LONGEST_WINDOW)
      .default('7d')
      .describe('Length of the trailing window that scores are of; falls of live relevance have windows of their own.'),
    depth: z.int().min(1).max(10).default(5).describe('Best documents of each that are graded, 0 to 3.'),
    pooling: z
      .strictObject({
        share: z
          .number()
          .min(0)
          .max(1)
          .default(0.05)
          .describe('Share of the drawn queries that the vector store is searched for; 0 searches for none.'),
        documents: z
          .int()
          .min(1)
          .max(100)
          .default(20)
          .describe('Nearest chunks that are graded beside what users got.'),
      })
      .prefault({})
      .describe(
        'A deeper search than users see, so that the ideal order of nDCG knows of better documents that the store holds; where a model grades and the vector store has the content of chunks.',
      ),
    max_cost_per_day: z
      .number()
      .min(0)
      .max(1_000_000)
      .default(2)
      .describe('Most US dollars a day (UTC) for the judge; what is not affordable is not drawn, and counted.'),
    human_share: z
      .number()
      .gt(0)
      .max(1)
      .default(0.1)
      .describe('Share of the drawn queries that people are asked to grade as well; all of them without a judge.'),
    second_reviewer_share: z
      .number()
      .min(0)
      .max(1)
      .default(0.2)
      .describe('Share of the queries for people that a second person is asked to grade too, unseen.'),
    min_agreement: z
      .number()
      .min(0)
      .max(1)
      .default(0.4)
      .describe(
        'Weighted kappa of the judge with people that its lower bound must reach once both have graded 40 sessions of the window.',
      ),
  })
  .describe(
    'Judged live relevance: a few live queries are graded, and corrected by people; left out, none are (docs/explanation/judging.md).',
  );

export type JudgedConfig = z.infer<typeof judgedSchema>;

/** Whether the store gives the texts of chunks. */
export function hasContent(store: VectorStoreConfig | undefined): boolean {
  return store !== undefined && (store.kind === 'chroma' || store.content !== undefined);
}

/** A judge reads the question and the documents, so that both must be there to be read. */
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
    const wayOut = 'set privacy.text: redact, or let people alone grade with judged.judge: {kind: none}';
    refuse(['judged', 'judge', 'kind'], `is ${kind}, but no text is kept (privacy.text: hash); ${wayOut}`);
  }
  const path = textFieldMissingIn(retriever, store);
  if (path === null || (hasContent(store) && embedder !== undefined)) return;
  const orStore = path[0] === 'vector_store' ? '' : ', or vector_store.content and an embedder';
  refuse(['judged'], `needs the texts of documents; set ${path.filter((key) => key !== 'of').join('.')}${orStore}`);
}

/** The llm section is of all pipelines. */
export function refuseJudgeWithoutModel(
  config: {
    readonly llm?: { readonly price_per_million_tokens?: unknown } | undefined;
    readonly pipelines: readonly { readonly judged?: JudgedConfig | undefined }[];
  },
  context: z.core.$RefinementCtx,
): void {
  // A misspelt key of the section is one problem, not two.
  if (context.issues.length > 0) return;
  for (const [index, { judged }] of config.pipelines.entries()) {
    if (judged?.judge.kind !== 'llm') continue;
    const path = ['pipelines', index, 'judged', 'judge', 'kind'];
    if (config.llm === undefined) {
      const message = 'is llm, but the config names no chat model; add llm: {base_url, model, api_key}';
      context.addIssue({ code: 'custom', path, message });
    } else if (config.llm.price_per_million_tokens === undefined) {
      const message =
        'is llm, whose cost is capped by max_cost_per_day; add llm.price_per_million_tokens: {input, output}, 0 for a model of your own';
      context.addIssue({ code: 'custom', path, message });
    }
  }
}

/** Where no model grades anything there is nothing to send. */
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
    'is evaluations, but no pipeline has live queries judged by a model; add `judged` to one, or leave it out';
  context.addIssue({ code: 'custom', path: ['metrics', 'otlp', 'send', index], message });
}
