import type { Context } from '../../core/context.ts';
import { DAY_MS } from '../../core/time.ts';
import { findPipeline, type WatchedPipeline } from '../../golden/watched-pipeline.ts';
import { type Explained, explainAll, type MissedQuestion } from '../../incidents/explain/answers.ts';
import { depthOf } from '../../live/rules/live-query.ts';
import { findComplaints, type NamedComplaint } from '../find-complaints.ts';

/** Number of queries explained per topic. Each explanation takes about five requests. */
const EXPLAINED = 3;
/** Maximum number of topics whose queries are explained, largest topics first. */
const EXPLAINED_TOPICS = 10;
export const MAX_COMPLAINTS_EXPLAINED = EXPLAINED * EXPLAINED_TOPICS;

export type ComplaintsReport = Awaited<ReturnType<typeof readComplaints>>;

/** `why` is null if explanations were not requested. */
export type ExplainedComplaint = ComplaintsReport['topics'][number];

/** @param isExplained whether to explain why queries of a topic did not return the documents that other users liked */
export async function readComplaints(
  context: Context,
  pipeline: WatchedPipeline,
  days: number,
  isExplained: boolean,
  signal: AbortSignal,
) {
  const since = new Date(context.clock.now().getTime() - days * DAY_MS);
  const found = await findComplaints(context, pipeline.name, since, signal);
  const topics: { readonly topic: NamedComplaint; readonly why: readonly Explained[] | null }[] = [];
  for (const [place, topic] of (found.kind === 'topics' ? found.topics : []).entries()) {
    const isAsked = isExplained && place < EXPLAINED_TOPICS;
    const why = isAsked ? await explainAll(context, pipeline, missedOf(topic), signal) : null;
    topics.push({ topic, why });
  }
  return { pipeline: pipeline.name, days, found, topics };
}

const TIMEOUT_MS = 60_000;

/** @throws RecalldError pipeline_unknown */
export function readComplaintsInTime(context: Context, name: string, days: number, why: boolean) {
  const pipeline = findPipeline(context.pipelines, name);
  return readComplaints(context, pipeline, days, why, AbortSignal.timeout(TIMEOUT_MS));
}

/** Returns queries of the topic, each with the liked documents that are missing from its results. */
function missedOf({ shown, liked }: NamedComplaint): MissedQuestion[] {
  return shown
    .flatMap(({ text, tags, topK, documentIds }): MissedQuestion[] => {
      const documents = liked.filter((id) => !documentIds.includes(id));
      return text === null || documents.length === 0
        ? []
        : [{ id: null, question: { text, tags, k: depthOf(topK, documentIds.length) }, documents }];
    })
    .slice(0, EXPLAINED);
}
