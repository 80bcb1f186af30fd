import type { Config, PipelineConfig } from '../app/config/schema.ts';
import { createChatModel } from '../connectors/models/chat-model.ts';
import { createReranker } from '../connectors/models/reranker.ts';
import { hasContent } from '../connectors/stores/config.ts';
import type { WatchedPipeline } from '../golden/watched-pipeline.ts';
import { durationMs } from '../platform/config/times.ts';
import { createChatJudge, createRerankerJudge, type Judge } from './judge.ts';

export type JudgingPlan = ReturnType<typeof createJudgingPlans>[number];

/**
 * Creates a plan for each pipeline with `judged`. A judge opens its connections on its first call.
 *
 * @throws RecalldError config_invalid if the address or a file of a judge is unusable
 */
export function createJudgingPlans(config: Config, pipelines: readonly WatchedPipeline[]) {
  return config.pipelines.flatMap(({ name, judged, segments, episodes, privacy, shadow, vector_store: store }) => {
    const parts = pipelines.find((one) => one.name === name);
    if (judged === undefined || parts === undefined) return [];
    const judge = judgeOf(judged.judge, config);
    const isSearchable = judge !== null && judged.pooling.share > 0 && store !== undefined && hasContent(store);
    return [
      {
        pipeline: name,
        judge,
        queriesPerDay: judged.queries_per_day,
        depth: judged.depth,
        windowMs: durationMs(judged.window),
        /**
         * Share of selected queries with a judgment pool, and number of chunks per pool; null if pooling is impossible.
         */
        pooling: isSearchable ? judged.pooling : null,
        /** Share of selected episodes that are graded as a whole. */
        episodeShare: judge === null ? 0 : judged.episode_share,
        /** Pause after which a retrieval with the same episode id starts a new episode. */
        episodeIdleMs: durationMs(episodes.idle),
        /**
         * Number of shadows to which live queries are sent; the documents that they return for selected queries are
         * graded too.
         */
        shadowLists: judge === null ? 0 : shadow.filter(({ live_rate: rate }) => rate > 0).length,
        /** Maximum cost per day in US dollars. */
        maxCostPerDay: judged.max_cost_per_day,
        // Without a model, every selected query needs human judgments.
        humanShare: judge === null ? 1 : judged.human_share,
        /** Share of human-graded queries that a second person also grades. */
        secondReviewerShare: judged.second_reviewer_share,
        /**
         * An alert fires when the lower bound of the weighted kappa between the judge and people is below this value.
         */
        minAgreement: judged.min_agreement,
        segmentKeys: segments.keys,
        maxSegments: segments.max,
        retentionDays: privacy.retention_days,
        retriever: parts.retriever,
        store: parts.store,
        embedder: parts.embedder,
      },
    ];
  });
}

function judgeOf(judge: NonNullable<PipelineConfig['judged']>['judge'], { llm }: Config): Judge | null {
  switch (judge.kind) {
    case 'none':
      return null;
    case 'llm':
      return createChatJudge(
        createChatModel(llm),
        llm?.base_url ?? '',
        llm?.price_per_million_tokens ?? { input: 0, output: 0 },
      );
    case 'reranker': {
      const { reranker, grades_from: limits } = judge;
      const identity = [reranker.kind, reranker.url, reranker.path, 'model' in reranker ? reranker.model : ''].join(
        ' ',
      );
      return createRerankerJudge(createReranker(reranker, 'judged.judge.reranker'), identity, limits);
    }
  }
}
