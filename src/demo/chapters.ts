/** The faults of the story, in the order in which they come. */
import type { Cause } from '../incidents/diagnosis/rules/cause.ts';
import { alertNames, GOLDEN_HOURS } from './demo-config.ts';
import { type Gap, MISSING_ARTICLE, missingPassages, type RagFault, SLOW_MS, SLOW_ONE_IN } from './rag/fault.ts';

export type ChapterName = Exclude<RagFault, 'none'> | 'topic' | 'answers';

/** A page that the console shows. */
export type ConsolePage = 'density' | 'overview' | 'run';

export interface Chapter {
  readonly name: ChapterName;
  /** For the closing table. */
  readonly short: string;
  /** What happens, one sentence. */
  readonly happens: string;
  /** How it is mended, one sentence. */
  readonly mended: string;
  /** What is wrong with the RAG service. */
  readonly ragFault: RagFault;
  /** What of the store is missing, and of the sessions those that ask about it from now on; mending it fills the gap. */
  readonly missing: { readonly gap: Gap; readonly share: number } | null;
  /** Alarms that must be raised. */
  readonly mustFire: readonly string[];
  /** What the diagnosis must name. */
  readonly cause: Cause;
  /** That shows it best. */
  readonly page: ConsolePage;
  /** Healthy ones before it, so that a golden run ends its first hour. */
  readonly leadHours: number;
  /** Before the fault, from which on live queries are judged; null where nothing hangs on it. */
  readonly judgedHours: number | null;
  /** That the fault is in place: until it is diagnosed. */
  readonly faultHours: number;
  /** Until nothing is in alarm any more. */
  readonly recoveryHours: number;
}

export const MISSING_TITLE = MISSING_ARTICLE.replaceAll('_', ' ');
/** Shown within half a day, whenever the story begins. */
const TOPIC_SHARE = 0.2;
/** Golden runs do not ask about it, and it lies near to what the store holds. */
const ANSWERS_SHARE = 0.8;
/** A golden run sees the fault, and the next one that it is mended. */
const HOURS = {
  leadHours: GOLDEN_HOURS - 1,
  judgedHours: null,
  faultHours: 1,
  recoveryHours: GOLDEN_HOURS,
} as const;

export const chapters: readonly Chapter[] = [
  {
    name: 'index',
    short: 'index loses documents',
    happens: 'A third of the passages vanish from the index.',
    mended: 'The passages are indexed again.',
    ragFault: 'index',
    missing: null,
    mustFire: [alertNames.scores],
    cause: 'index_lost_documents',
    page: 'run',
    ...HOURS,
  },
  {
    name: 'topic',
    short: `uncovered topic, ${100 * TOPIC_SHARE} %`,
    happens: `${100 * TOPIC_SHARE} % of the sessions now ask about ${MISSING_TITLE}, which the store does not hold.`,
    mended: `${MISSING_TITLE} is written and indexed; people go on asking about it.`,
    ragFault: 'none',
    missing: { gap: 'article', share: TOPIC_SHARE },
    mustFire: [alertNames.density],
    cause: 'uncovered_topic',
    page: 'density',
    leadHours: 0,
    judgedHours: null,
    faultHours: 12,
    // A density alarm is resolved when a whole day is well again.
    recoveryHours: 28,
  },
  {
    name: 'stale',
    short: 'documents are re-chunked',
    happens: 'Every passage is cut in two with new ids: the labels of the golden set go stale.',
    mended: 'The old chunks are back.',
    ragFault: 'stale',
    missing: null,
    mustFire: [alertNames.staleLabels],
    cause: 'corpus_changed',
    page: 'run',
    ...HOURS,
  },
  {
    name: 'embedding',
    short: 'embedding model changes',
    happens: 'Questions are embedded by another model than the passages were.',
    mended: 'Questions are embedded by the old model again.',
    ragFault: 'embedding',
    missing: null,
    mustFire: [alertNames.canary, alertNames.scores],
    cause: 'embedding_model',
    page: 'run',
    ...HOURS,
  },
  {
    name: 'slow',
    short: 'retriever slows',
    happens: `One search in ${SLOW_ONE_IN} takes ${SLOW_MS} ms longer.`,
    mended: 'Searches are as quick as before.',
    ragFault: 'slow',
    missing: null,
    mustFire: [alertNames.latency],
    cause: 'retriever_slow',
    page: 'run',
    ...HOURS,
  },
  {
    name: 'outage',
    short: 'retriever dies',
    happens: 'The search answers every query with status 503.',
    mended: 'The search answers again.',
    ragFault: 'outage',
    missing: null,
    mustFire: [alertNames.goldenFailures, alertNames.liveErrors],
    cause: 'retriever_outage',
    page: 'run',
    ...HOURS,
  },
  {
    name: 'answers',
    short: `answers missing, ${100 * ANSWERS_SHARE} %`,
    happens: `${100 * ANSWERS_SHARE} % of the sessions now ask what ${missingPassages.length} unwritten passages would answer, of articles that the store holds.`,
    mended: 'The passages are written and indexed; people go on asking about them.',
    ragFault: 'none',
    missing: { gap: 'answers', share: ANSWERS_SHARE },
    mustFire: [alertNames.liveHits],
    cause: 'unlike_golden',
    page: 'overview',
    leadHours: GOLDEN_HOURS - 1,
    judgedHours: 3,
    faultHours: 3,
    // The window of judged queries must be rid of them.
    recoveryHours: 6,
  },
];
