/**
 * Reads topics with negative feedback, and explains why their queries did not return documents that other users liked.
 */

import type { Context } from '../../core/context.ts';
import { DAY_MS } from '../../core/time.ts';
import { findPipeline, type WatchedPipeline } from '../../golden/watched-pipeline.ts';
import { type Explained, explainAll, type MissedQuestion } from '../../incidents/explain/answers.ts';
import { findComplaints, type NamedComplaint } from '../find-complaints.ts';

/** Number of queries explained per topic. Each explanation takes about five requests. */
const EXPLAINED = 3;
/** Number of topics, largest first, whose queries are explained. */
const EXPLAINED_TOPICS = 10;
/** Maximum number of explained queries per report. */
export const MAX_COMPLAINTS_EXPLAINED = EXPLAINED * EXPLAINED_TOPICS;
/** Number of requested documents (k) to assume if the service did not report it. */
const USUAL_K = 10;

export type ComplaintsReport = Awaited<ReturnType<typeof readComplaints>>;

/**
 * A topic with explanations of why its queries did not return liked documents. The explanations are null if they were
 * not requested.
 */
export type ExplainedComplaint = ComplaintsReport['topics'][number];

/**
 * @param days number of days of live queries
 * @param isExplained explains why queries of a topic did not return other documents
 */
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

/** Timeout of a page or API request. */
const TIMEOUT_MS = 60_000;

/** @throws RecalldError pipeline_unknown */
export function readComplaintsInTime(context: Context, name: string, days: number, why: boolean) {
  const pipeline = findPipeline(context.pipelines, name);
  return readComplaints(context, pipeline, days, why, AbortSignal.timeout(TIMEOUT_MS));
}

/**
 * Returns queries of the topic, each with the documents that users with similar queries liked and that it did not
 * return.
 */
function missedOf({ shown, liked }: NamedComplaint): MissedQuestion[] {
  return shown
    .flatMap(({ text, tags, topK, documentIds }): MissedQuestion[] => {
      const documents = liked.filter((id) => !documentIds.includes(id));
      return text === null || documents.length === 0
        ? []
        : [{ id: null, question: { text, tags, k: topK ?? Math.max(documentIds.length, USUAL_K) }, documents }];
    })
    .slice(0, EXPLAINED);
}

export function complaintsJson({ pipeline, days, found, topics }: ComplaintsReport) {
  const isKnown = found.kind === 'topics';
  return {
    pipeline,
    days,
    negative_sessions: isKnown ? found.negative : null,
    other_sessions: isKnown ? found.others : null,
    lacking: isKnown ? null : { of: found.of, have: found.have, need: found.need },
    topics: topics.map(({ topic, why }) => ({
      label: topic.label,
      sessions: topic.sessions,
      share: topic.share.value,
      share_low: topic.share.low,
      share_high: topic.share.high,
      others_share: topic.othersShare,
      adjusted_p: topic.adjustedP,
      failed: topic.failed,
      empty: topic.empty,
      examples: topic.shown.map(({ id, text }) => ({ id, text })),
      days: topic.days,
      liked_documents: topic.liked,
      why:
        why === null
          ? null
          : why.map(({ question, document, verdict, outrankedBy, evidence }) => ({
              query: question.text,
              document,
              verdict,
              outranked_by: outrankedBy,
              evidence,
            })),
    })),
  };
}

/** Explains why topics could not be searched for; null if there was enough data. */
export function lackingSentence({ found, days }: ComplaintsReport): string | null {
  if (found.kind === 'topics') return null;
  const whose = found.of === 'negative' ? 'with negative feedback' : 'without negative feedback';
  return `Not enough data: ${found.have} sessions ${whose} and a query vector in ${days} days; at least ${found.need} are required.`;
}
