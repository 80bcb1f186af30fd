/**
 * What can be behind an alarm, a closed list, so that it can be a label of a metric; and what each can bring about: a
 * cause that cannot is not offered.
 */

export interface CauseText {
  /** What to call it. */
  readonly title: string;
  /** What to do first, one sentence. */
  readonly action: string;
  /** What a person sees if it is this one and not another, as the end of a sentence that begins with "if". */
  readonly shows: string;
}

/** Every cause, in the order in which equally likely ones are listed. */
export const causeTexts = {
  retriever_outage: {
    title: 'the retriever is down',
    action: 'Look at the retriever and what it calls; scores come back with it.',
    shows: 'calls from elsewhere fail too',
  },
  retriever_failing: {
    title: 'some calls to the retriever fail',
    action:
      'Look at the log of the retriever for what the failed calls share: an instance, a shard, a kind of question.',
    shows: 'the same call, made again, is answered',
  },
  retriever_slow: {
    title: 'the retriever is slow',
    action: 'Look at the load of the retriever and its store, and at timeout_ms.',
    shows: 'answers take long and do not get faster',
  },
  cold_cache: {
    title: 'the caches of the retriever are cold',
    action: 'Wait for the next run; if a restart or an eviction comes often, warm the caches before traffic.',
    shows: 'the next run is fast again',
  },
  access_denied: {
    title: 'the retriever refuses the credentials',
    action: 'Renew the key or token in `retriever.headers`; it expired, was revoked or lost a right.',
    shows: 'the same call with a new key is answered',
  },
  rate_limited: {
    title: 'the retriever limits the rate of calls',
    action: 'Raise the limit of the retriever for recalld, or lower `max_per_second` of the golden set.',
    shows: 'a call a minute later is answered',
  },
  error_page: {
    title: 'an error page comes in place of answers',
    action: 'Look at the proxy, gateway or login before the retriever: something answers in its place.',
    shows: 'the body of an answer is no result list',
  },
  empty_lists: {
    title: 'the search answers with empty lists',
    action: 'Look for an error that the search service swallows, and at the name of the index that it asks.',
    shows: 'a call without any filter is empty too',
  },
  filter: {
    title: 'a filter drops documents',
    action: 'Compare the filter of a call with the fields of the documents: a value, a field or a tenant was renamed.',
    shows: 'a call without the filter finds them',
  },
  live_traffic: {
    title: 'only live queries are hurt',
    action: 'Compare a live call with a golden one: its filter, tenant, length and credentials; golden ones are well.',
    shows: 'a live query, asked again, is hurt again',
  },
  index_parameters: {
    title: 'the index misses near neighbours',
    action: 'Undo the change of index or search parameters (ef, nprobe, quantisation), or rebuild the index.',
    shows: 'an exact search of the store finds more',
  },
  index_lost_documents: {
    title: 'documents are gone from the index',
    action: 'Find the job that deleted or did not finish indexing, and index the missing documents again.',
    shows: 'the store does not have them by their ids',
  },
  index_behind: {
    title: 'changes of documents reach the index late',
    action:
      'Look at the queue and the errors of the job that indexes; `recalld index check` lists what is not there yet.',
    shows: 'new versions of documents wait to be indexed',
  },
  corpus_changed: {
    title: 'the documents were chunked anew',
    action: 'Carry the labels over with `recalld golden check`, then pin a new baseline.',
    shows: 'the new ids hold parts of the old texts',
  },
  ids_renamed: {
    title: 'the documents have other ids',
    action:
      'Mend `results.id` of the retriever if it reads another field, else carry the labels over with `recalld golden check`.',
    shows: 'the new ids hold the same texts',
  },
  old_index: {
    title: 'an old index answers',
    action: 'Point the alias of the index to the current one, and find out why it moved back.',
    shows: 'the alias leads to an index from before',
  },
  split_index: {
    title: 'a second index answers part of the time',
    action: 'Find the replica or index that differs from the others, and take it out until it holds the same.',
    shows: 'one question, asked twice, has two answers',
  },
  one_segment: {
    title: 'one segment alone is hurt',
    action: 'Look at what only this segment goes through: its filter, its tenant, its shard or its index.',
    shows: 'all other segments are as before',
  },
  random_answers: {
    title: 'answers do not depend on the question',
    action:
      'Look at what the search gets of a question: an empty text, a vector of zeros, an order that is not by relevance.',
    shows: 'the question does not reach the search',
  },
  cut_off_answers: {
    title: 'answers are cut short',
    action: 'Look at the limit that the retriever applies: it returns fewer documents than it is asked for.',
    shows: 'fewer documents come than were asked for',
  },
  ranking: {
    title: 'the order of the results changed',
    action:
      'Look at the reranker, the sort order and the weights of the search; the same documents come in another order.',
    shows: 'nothing was deployed that can be undone',
  },
  deployment: {
    title: 'a deployment made it worse',
    action: 'Roll the deployment back, or compare the runs before and after it query by query.',
    shows: 'rolling it back brings the scores back',
  },
  embedding_model: {
    title: 'another embedding model answers',
    action: 'Embed questions and documents by the same model and revision again.',
    shows: 'a stored text, embedded anew, differs',
  },
  uncovered_topic: {
    title: 'people ask what the store does not hold',
    action: 'Write or index documents for the uncovered topics; `recalld topics list` shows them.',
    shows: 'no document has the answer',
  },
  unlike_golden: {
    title: 'live questions are unlike the golden ones',
    action:
      'Promote the worst judged ones into the golden set with `recalld golden promote`, and look for what they share.',
    shows: 'promoted live questions score badly too',
  },
  judge: {
    title: 'the judge of live queries changed',
    action: 'Name a fixed version of its model; the retriever is not at fault.',
    shows: 'fixed pairs get other grades than at first',
  },
  forbidden_documents: {
    title: 'documents come back that must not',
    action:
      'Look at the filter by tenant or right that the search applies, and delete from the index what was withdrawn; the run lists what came back.',
    shows: 'a call from another tenant brings them too',
  },
  golden_labels: {
    title: 'the labels of the golden set are out of date',
    action: 'Mend the labels with `recalld golden check`; the retriever is not at fault.',
    shows: 'people find the new answers right',
  },
  recalld: {
    title: 'recalld itself does not work',
    action: 'Look at the scheduler, the workers and the queue of recalld: `recalld doctor`.',
    shows: '`recalld doctor` finds what is broken',
  },
  unknown: {
    title: 'unknown',
    action: 'Compare the runs query by query, and look at what changed around then.',
    shows: 'none of the causes on the list fits',
  },
} as const satisfies Readonly<Record<string, CauseText>>;

export type Cause = keyof typeof causeTexts;

export const causes = Object.keys(causeTexts) as [Cause, ...Cause[]];

export type NamedCause = Exclude<Cause, 'unknown'>;

export const namedCauses: readonly NamedCause[] = causes.filter((cause): cause is NamedCause => cause !== 'unknown');

/** The look that tells two causes apart. */
export function tellApart(first: Cause, second: Cause): string {
  return `Tell them apart: if ${causeTexts[first].shows}, the first; if ${causeTexts[second].shows}, the second.`;
}

/** In whole percent, and never 100: nothing that follows from judged weights is certain. */
export function probabilityText(probability: number): string {
  return `${Math.min(99, Math.round(100 * probability))} %`;
}

/** How far to trust a diagnosis; see docs/diagnosis.md. */
export const confidences = ['high', 'medium', 'low'] as const;

export type Confidence = (typeof confidences)[number];

/** What can be in alarm. */
export const effectKinds = [
  'score',
  'failures',
  'latency',
  'labels',
  'forbidden',
  'live_errors',
  'live_empty',
  'feedback',
  'relevance',
  'judge',
  'density',
  'recall',
  'canary',
  'index',
  'runs',
] as const;

export type EffectKind = (typeof effectKinds)[number];

/** What to call each, as the object of "likely cause of". */
export const effectTitles: Readonly<Record<EffectKind, string>> = {
  score: 'the lower scores',
  failures: 'the failed queries',
  latency: 'the slow answers',
  labels: 'the missing judged documents',
  forbidden: 'the forbidden documents',
  live_errors: 'the failed live queries',
  live_empty: 'the live queries without a document',
  feedback: 'the negative feedback',
  relevance: 'the lower live relevance',
  judge: 'the other grades of the judge',
  density: 'the lower query density',
  recall: 'the lower recall of the index',
  canary: 'the changed embedding canary',
  index: 'the findings of the index check',
  runs: 'the golden runs that did not end',
};

/** The queries that a fall or a rise is made of. */
export const effectParts = ['failed', 'timed_out', 'empty', 'stale', 'unshared', 'answers'] as const;

export type EffectPart = (typeof effectParts)[number];

/** How much of something is in alarm, and, where it is known, which queries make it up; the parts sum to the size. */
export interface Effect {
  readonly kind: EffectKind;
  /** Above 0; 0 where the measure in alarm is as it was before. */
  readonly size: number;
  readonly parts: Readonly<Partial<Record<EffectPart, number>>> | null;
}

interface Reach {
  readonly moves: readonly EffectKind[];
  /** The parts of a score or of failures that it moves. */
  readonly through: readonly EffectPart[];
  /** Least share of the queries that must have failed. */
  readonly leastFailed?: number;
}

/** Below this share of failed queries nobody is down. */
const DOWN = 0.9;

const calls = ['score', 'failures', 'live_errors', 'feedback', 'relevance', 'runs'] as const;
const answers = ['score', 'feedback', 'relevance', 'live_empty'] as const;

export const reaches: Readonly<Record<NamedCause, Reach>> = {
  retriever_outage: { moves: [...calls, 'latency'], through: ['failed', 'timed_out'], leastFailed: DOWN },
  retriever_failing: { moves: calls, through: ['failed'] },
  retriever_slow: { moves: [...calls, 'latency'], through: ['timed_out'] },
  cold_cache: { moves: ['score', 'failures', 'latency', 'live_errors'], through: ['timed_out'] },
  access_denied: { moves: calls, through: ['failed'] },
  rate_limited: { moves: calls, through: ['failed'] },
  error_page: { moves: calls, through: ['failed'] },
  empty_lists: { moves: answers, through: ['empty'] },
  filter: { moves: answers, through: ['empty', 'answers'] },
  live_traffic: { moves: ['live_errors', 'live_empty', 'feedback', 'relevance'], through: [] },
  index_parameters: { moves: ['score', 'feedback', 'relevance', 'recall', 'latency', 'index'], through: ['answers'] },
  index_lost_documents: { moves: [...answers, 'labels', 'density', 'index'], through: ['empty', 'stale', 'answers'] },
  index_behind: { moves: ['index', 'density', 'feedback', 'relevance'], through: [] },
  corpus_changed: {
    moves: ['score', 'feedback', 'relevance', 'labels', 'density', 'index'],
    through: ['stale', 'answers'],
  },
  ids_renamed: { moves: ['score', 'labels', 'density'], through: ['stale', 'answers'] },
  old_index: { moves: [...answers, 'labels', 'density', 'index'], through: ['empty', 'stale', 'answers'] },
  split_index: { moves: [...answers, 'labels', 'density', 'index'], through: ['empty', 'stale', 'answers'] },
  one_segment: {
    moves: [...answers, 'failures', 'live_errors', 'labels'],
    through: ['failed', 'timed_out', 'empty', 'stale', 'answers'],
  },
  random_answers: { moves: ['score', 'feedback', 'relevance'], through: ['answers'] },
  cut_off_answers: { moves: ['score', 'feedback', 'relevance'], through: ['answers'] },
  ranking: { moves: ['score', 'feedback', 'relevance'], through: ['answers'] },
  deployment: {
    moves: effectKinds.filter((kind) => kind !== 'runs' && kind !== 'judge'),
    through: effectParts.filter((part) => part !== 'unshared'),
  },
  embedding_model: { moves: [...answers, 'density', 'canary', 'index'], through: ['empty', 'answers'] },
  uncovered_topic: { moves: ['density', 'live_empty', 'feedback', 'relevance'], through: [] },
  unlike_golden: { moves: ['feedback', 'relevance'], through: [] },
  judge: { moves: ['judge', 'relevance'], through: [] },
  forbidden_documents: { moves: ['forbidden'], through: [] },
  golden_labels: { moves: ['score', 'labels'], through: ['stale', 'unshared'] },
  recalld: { moves: ['runs', 'latency'], through: [] },
};

/** The share of an effect that a cause can bring about, 0..1. */
function explains(cause: NamedCause, { kind, size, parts }: Effect, failedShare: number | null): number {
  const { moves, through, leastFailed = 0 } = reaches[cause];
  if (!moves.includes(kind) || size <= 0) return 0;
  if (failedShare !== null && failedShare < leastFailed) return 0;
  if (parts === null) return 1;
  const moved = through.reduce((sum, part) => sum + Math.max(0, parts[part] ?? 0), 0);
  return Math.min(1, moved / size);
}

/** A cause that brings about less than this share of everything in alarm is not offered. */
const MIN_EXPLAINED = 0.5;

/** Whether a cause can bring about most of one thing that is in alarm. */
export function canExplain(cause: NamedCause, effect: Effect, failedShare: number | null): boolean {
  return explains(cause, effect, failedShare) >= MIN_EXPLAINED;
}

/** Whether a cause can be behind at least one thing that is in alarm; without knowing of any, every cause can. */
export function isPossible(cause: NamedCause, effects: readonly Effect[], failedShare: number | null): boolean {
  return effects.length === 0 || effects.some((effect) => canExplain(cause, effect, failedShare));
}

/** What each thing in alarm that a cause leaves unexplained says against it, in nats. */
const UNEXPLAINED = -1.5;

export function weightOfUnexplained(cause: NamedCause, effects: readonly Effect[], failedShare: number | null): number {
  const left = effects.filter((effect) => effect.size > 0 && !canExplain(cause, effect, failedShare)).length;
  return left * UNEXPLAINED;
}
