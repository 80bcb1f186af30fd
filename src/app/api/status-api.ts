/** Composes what the HTTP API says of how things stand. */
import type { FeedbackSummaryDeps } from '../../http/feedback-summary.ts';
import type { PipelinesDeps } from '../../http/pipelines.ts';
import { type FeedbackSummary, summarizeFeedback } from '../../pipeline/live/feedback-summary.ts';
import { readCheckStates, readStatus, readStatuses } from '../../pipeline/publish/read-status.ts';
import { type Dependencies, feedbackSources } from '../dependencies.ts';
import { liveIntervalSeconds } from '../live-measures.ts';
import { findPipeline } from '../pipelines.ts';

type StatusApi = Omit<PipelinesDeps & FeedbackSummaryDeps, 'authentication'>;

export function createStatusApi(dependencies: Dependencies): StatusApi {
  const { config, pipelines, schedule, clock, traffic } = dependencies;
  const deps = { ...dependencies, liveIntervalSeconds: liveIntervalSeconds(schedule, clock) };
  const sources = feedbackSources(config);
  return {
    clock,
    history: dependencies.history,
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
