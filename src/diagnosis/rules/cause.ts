/** What can be behind an alarm. A closed list, so that it can be a label of a metric. */

export const causes = [
  'retriever_outage',
  'retriever_slow',
  'index_parameters',
  'index_lost_documents',
  'corpus_changed',
  'deployment',
  'embedding_model',
  'uncovered_topic',
  'golden_labels',
  'recalld',
  'unknown',
] as const;

export type Cause = (typeof causes)[number];

export type NamedCause = Exclude<Cause, 'unknown'>;

export const namedCauses: readonly NamedCause[] = causes.filter((cause): cause is NamedCause => cause !== 'unknown');

export interface CauseText {
  /** What to call it. */
  readonly title: string;
  /** What to do first, one sentence. */
  readonly action: string;
}

export const causeTexts: Readonly<Record<Cause, CauseText>> = {
  retriever_outage: {
    title: 'the retriever is down',
    action: 'Look at the retriever and what it calls; scores come back with it.',
  },
  retriever_slow: {
    title: 'the retriever is slow',
    action: 'Look at the load of the retriever and its store, and at timeout_ms.',
  },
  index_parameters: {
    title: 'the index misses near neighbours',
    action: 'Undo the change of index or search parameters (ef, nprobe, quantisation), or rebuild the index.',
  },
  index_lost_documents: {
    title: 'documents are gone from the index',
    action: 'Find the job that deleted or did not finish indexing, and index the missing documents again.',
  },
  corpus_changed: {
    title: 'the documents were chunked or numbered anew',
    action: 'Carry the labels over with `recalld golden check`, then pin a new baseline.',
  },
  deployment: {
    title: 'a deployment made it worse',
    action: 'Roll the deployment back, or compare the runs before and after it query by query.',
  },
  embedding_model: {
    title: 'another embedding model answers',
    action: 'Embed questions and documents by the same model and revision again.',
  },
  uncovered_topic: {
    title: 'people ask what the store does not hold',
    action: 'Write or index documents for the uncovered topics; `recalld topics list` shows them.',
  },
  golden_labels: {
    title: 'the labels of the golden set are out of date',
    action: 'Mend the labels with `recalld golden check`; the retriever is not at fault.',
  },
  recalld: {
    title: 'recalld itself does not work',
    action: 'Look at the scheduler, the workers and the queue of recalld: `recalld doctor`.',
  },
  unknown: {
    title: 'unknown',
    action: 'Compare the runs query by query, and look at what changed around then.',
  },
};

/** In whole percent, and never 100: nothing that follows from judged weights is certain. */
export function probabilityText(probability: number): string {
  return `${Math.min(99, Math.round(100 * probability))} %`;
}

/** How far to trust a diagnosis; see docs/diagnosis.md. */
export const confidences = ['high', 'medium', 'low'] as const;

export type Confidence = (typeof confidences)[number];
