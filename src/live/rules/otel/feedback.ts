/** From an annotation to feedback: which judgments are a user's, and what kind of feedback they are. */
import type { Feedback, FeedbackKind } from '../live-query.ts';
import type { Annotation } from './annotation.ts';
import { readFirst, readId, readNumber } from './attribute.ts';
import type { Attributes } from './span.ts';

/** Feedback whose live query may still have to be found. Its `id` is no sender's: see `annotationFeedbackId`. */
export interface TracedFeedback extends Feedback {
  readonly traceId: string;
  /**
   * Whether `queryId` is a live query of the same export. When it is not, the span that was judged may be one of
   * another export, or no retriever: then the feedback is about the live query of `traceId`, if it has only one.
   */
  readonly isResolved: boolean;
}

/** What an annotation says, as feedback. */
export interface Opinion {
  readonly kind: FeedbackKind;
  readonly value: Feedback['value'];
}

/** `machine`: no person judged. `unknown`: nothing that we know how to count. */
export type AnnotationReading =
  | { readonly kind: 'opinion'; readonly opinion: Opinion }
  | { readonly kind: 'machine' }
  | { readonly kind: 'unknown' };

const thumbNames = /thumb|feedback|helpful|vote|(?:^|[^a-z])likes?(?:$|[^a-z])|satisf/i;
const ratingNames = /rating|rated|stars?\b|csat/i;
const relevanceNames = /relevan/i;

const goodLabels =
  /^(thumbs?[\s_-]?up|up|good|positive|like|liked|helpful|correct|yes|true|pass|passed|accepted|satisfied|👍.*)$/iu;
const badLabels =
  /^(thumbs?[\s_-]?down|down|bad|negative|dislike|disliked|unhelpful|not[\s_-]helpful|incorrect|wrong|no|false|fail|failed|rejected|unsatisfied|dissatisfied|👎.*)$/iu;
const relevantLabels = /^(relevant|highly[\s_-]relevant)$/i;
const irrelevantLabels = /^(irrelevant|not[\s_-]relevant|unrelated)$/i;

/**
 * Reads an annotation as feedback.
 *
 * Judgments by an `annotator_kind` other than HUMAN are not feedback of users. Where the kind is not told, as in
 * every `gen_ai.evaluation.result`, the name has to say that it is one of these:
 *
 * | name holds | kind | value |
 * |---|---|---|
 * | `relevan` | relevance | the score, else 1 or 0 for the labels relevant and not_relevant |
 * | `rating`, `stars`, `csat` | rating | the score |
 * | `thumb`, `feedback`, `helpful`, `vote`, `like`, `satisf` | thumb | up or down by the label, else by a score of 1, 0 or -1; another score is a rating |
 * | anything else, by a HUMAN | thumb | up or down by the label |
 *
 * A score alone says nothing under a name that we do not know: a `hallucination` of 1 is bad.
 */
export function readOpinion(annotation: Annotation): AnnotationReading {
  const { name, score, label, annotatorKind } = annotation;
  if (annotatorKind !== null && annotatorKind.toUpperCase() !== 'HUMAN') return { kind: 'machine' };
  const thumb = goodLabels.test(label ?? '') ? 'up' : badLabels.test(label ?? '') ? 'down' : null;
  if (relevanceNames.test(name)) return opinion('relevance', score ?? relevanceOf(label));
  if (ratingNames.test(name)) return opinion('rating', score);
  if (thumbNames.test(name)) {
    if (thumb !== null || score === null) return opinion('thumb', thumb);
    return [1, 0, -1].includes(score)
      ? opinion('thumb', score === 1 ? 'up' : 'down')
      : opinion('rating', score);
  }
  return annotatorKind === null ? { kind: 'unknown' } : opinion('thumb', thumb);
}

function opinion(kind: FeedbackKind, value: Feedback['value']): AnnotationReading {
  return value === null ? { kind: 'unknown' } : { kind: 'opinion', opinion: { kind, value } };
}

function relevanceOf(label: string | null): number | null {
  if (relevantLabels.test(label ?? '')) return 1;
  return irrelevantLabels.test(label ?? '') ? 0 : null;
}

const MAX_RANK = 10_000;

/** The document that a judgment is about, by the `metadata` that Phoenix gives document annotations. */
export function readJudgedDocument(metadata: Attributes | null): Pick<Feedback, 'documentId' | 'rank'> {
  const rank = (readNumber(metadata?.['document_position']) ?? -1) + 1;
  return {
    documentId: readFirst(metadata ?? {}, ['document_id', 'document.id'], readId),
    rank: Number.isInteger(rank) && rank >= 1 && rank <= MAX_RANK ? rank : null,
  };
}

/**
 * The idempotency key of an annotation that has an identifier: a later one about the same target by the same name and
 * identifier stands in for it. Null without an identifier: then it is derived from what the feedback says. Identifiers
 * are names of users in many services, so a keyed hash takes its place in the database.
 */
export function annotationFeedbackId(
  { scope, name, identifier }: Annotation,
  queryId: string,
): string | null {
  return identifier === null ? null : JSON.stringify([scope, queryId, name, identifier]);
}
