/** What people complain about, with why they did not get what others liked, for commands, routes and pages. */

import type { Context } from '../../core/context.ts';
import { DAY_MS } from '../../core/time.ts';
import { findPipeline, type WatchedPipeline } from '../../golden/watched-pipeline.ts';
import { type Explained, explainAll, filtersOf, type MissedQuestion } from '../../incidents/explain/answers.ts';
import { findComplaints, type NamedComplaint } from '../find-complaints.ts';

/** Queries of a topic that are explained, each asked about five times. */
const EXPLAINED = 3;
/** Topics whose queries are explained, the largest first. */
const EXPLAINED_TOPICS = 10;
/** Queries that one report explains at most. */
export const MAX_COMPLAINTS_EXPLAINED = EXPLAINED * EXPLAINED_TOPICS;
/** Where the service did not say how many it asked for. */
const USUAL_K = 10;

export interface ComplaintsRequest {
  /** Live queries of so many days. */
  readonly days: number;
  /** Fields that the retriever filters by, to ask it why; null: it is not asked. */
  readonly filters: readonly string[] | null;
}

/** A topic with why its queries did not get what others liked; null: nobody asked. */
export interface ExplainedComplaint {
  readonly topic: NamedComplaint;
  readonly why: readonly Explained[] | null;
}

export type ComplaintsReport = Awaited<ReturnType<typeof readComplaints>>;

export async function readComplaints(
  context: Context,
  pipeline: WatchedPipeline,
  { days, filters }: ComplaintsRequest,
  signal: AbortSignal,
) {
  const since = new Date(context.clock.now().getTime() - days * DAY_MS);
  const found = await findComplaints(context, pipeline.name, since, signal);
  const topics: ExplainedComplaint[] = [];
  for (const [place, topic] of (found.kind === 'topics' ? found.topics : []).entries()) {
    const isAsked = filters !== null && place < EXPLAINED_TOPICS;
    const why = !isAsked ? null : await explainAll(context, pipeline, missedOf(topic), filters, signal);
    topics.push({ topic, why });
  }
  return { pipeline: pipeline.name, days, found, topics };
}

/** A page or a caller of the API waits no longer. */
const TIMEOUT_MS = 60_000;

/** @throws RecalldError pipeline_unknown */
export function readComplaintsInTime(context: Context, name: string, days: number, why: boolean) {
  const filters = why ? filtersOf(context.config, name) : null;
  const pipeline = findPipeline(context.pipelines, name);
  return readComplaints(context, pipeline, { days, filters }, AbortSignal.timeout(TIMEOUT_MS));
}

/** What a query of the topic did not get and people liked who asked alike. */
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

/** Why nothing is said. */
export function lackingSentence({ found, days }: ComplaintsReport): string | null {
  if (found.kind === 'topics') return null;
  const whose = found.of === 'negative' ? 'with negative feedback' : 'without negative feedback';
  return `Too little is known: of ${days} days ${found.have} sessions ${whose} have a vector, and ${found.need} are needed.`;
}
