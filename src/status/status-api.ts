/** Composes what the HTTP API says of how things stand. */

import { type Dependencies, feedbackSources } from '../app/dependencies.ts';
import { readCheckStates } from '../checks/check-states.ts';
import type { ChecksDeps } from '../checks/routes.ts';
import { findPipeline } from '../golden/watched-pipeline.ts';
import { type FeedbackSummary, summarizeFeedback } from '../live/feedback-summary.ts';
import type { FeedbackSummaryDeps } from '../live/feedback-summary-routes.ts';
import { liveIntervalSeconds } from '../live/live-plans.ts';
import type { PipelinesDeps } from './pipelines.ts';
import { readStatus, readStatuses } from './read-status.ts';

type StatusApi = Omit<PipelinesDeps & ChecksDeps & FeedbackSummaryDeps, 'authentication'>;

export function createStatusApi(dependencies: Dependencies): StatusApi {
  const { config, pipelines, clock, traffic } = dependencies;
  const deps = { ...dependencies, liveIntervalSeconds: liveIntervalSeconds(clock) };
  const sources = feedbackSources(config);
  return {
    clock,
    checkStore: dependencies.checkStore,
    assertPipeline: (name) => void findPipeline(pipelines, name),
    readStatuses: () => readStatuses(deps),
    readStatus: async (name) => readStatus(deps, findPipeline(pipelines, name)),
    readCheckStates: () => readCheckStates(deps),
    async summarizeFeedback(name, window) {
      if (name !== null) findPipeline(pipelines, name);
      const summaries: FeedbackSummary[] = [];
      for (const source of sources.filter(({ pipeline }) => name === null || pipeline === name))
        summaries.push(await summarizeFeedback(traffic, source, window));
      return summaries;
    },
  };
}
