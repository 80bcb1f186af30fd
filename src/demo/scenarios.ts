/** The demo's incidents, in order. */
import type { Cause } from '../incidents/diagnosis/rules/cause.ts';
import { ANSWERED_SHARE } from './agent.ts';
import { alertNames, GOLDEN_HOURS } from './demo-config.ts';
import { type Gap, MISSING_ARTICLE, missingPassages, type RagFault, SLOW_MS, SLOW_ONE_IN } from './rag/fault.ts';

export type ScenarioName = Exclude<RagFault, 'none'> | 'topic' | 'answers' | 'isolation' | 'agent';

export interface Scenario {
  readonly name: ScenarioName;
  readonly title: string;
  readonly change: string;
  readonly fix: string;
  readonly ragFault: RagFault;
  /**
   * Documents that are missing until the fix, and the share of sessions that ask about them once the fault has started.
   */
  readonly missing: { readonly gap: Gap; readonly share: number } | null;
  readonly expectedAlerts: readonly string[];
  readonly cause: Cause;
  readonly page: 'density' | 'overview' | 'run' | 'traffic';
  /** Number of healthy hours before the fault, chosen so that a golden run ends in the first hour of the fault. */
  readonly leadHours: number;
  /** Grading of live queries starts this many hours before the fault; null if the fault does not need grades. */
  readonly judgedHours: number | null;
  /** Hours from the fault to its diagnosis. */
  readonly faultHours: number;
  /** Hours from the fix until all alerts must be resolved. */
  readonly recoveryHours: number;
}

export const MISSING_TITLE = MISSING_ARTICLE.replaceAll('_', ' ');
/**
 * Share of sessions about the uncovered topic. With this share, recalld detects the drift within half a day, whatever
 * the time of day at which the drift begins.
 */
const TOPIC_SHARE = 0.2;
/**
 * Share of sessions about the missing passages. The share is large because only live queries show this fault: golden
 * runs do not cover these passages, and the store contains similar passages.
 */
const ANSWERS_SHARE = 0.8;
/**
 * Default values of a scenario. With these phases, one golden run detects the fault of the RAG service, and the next
 * run detects the fix.
 */
const usual = {
  ragFault: 'none',
  missing: null,
  page: 'run',
  leadHours: GOLDEN_HOURS - 1,
  judgedHours: null,
  faultHours: 1,
  recoveryHours: GOLDEN_HOURS,
} as const;

export const scenarios: readonly Scenario[] = [
  {
    ...usual,
    name: 'index',
    title: 'index loses documents',
    change: 'A third of the passages disappeared from the index.',
    fix: 'The missing passages were indexed again.',
    ragFault: 'index',
    expectedAlerts: [alertNames.scores],
    cause: 'index_lost_documents',
  },
  {
    ...usual,
    name: 'topic',
    title: `uncovered topic, ${100 * TOPIC_SHARE} %`,
    change: `In ${100 * TOPIC_SHARE} % of sessions, users started to ask about ${MISSING_TITLE}, which the store does not cover.`,
    fix: `Passages about ${MISSING_TITLE} were added to the index. Users still ask about this subject.`,
    missing: { gap: 'article', share: TOPIC_SHARE },
    expectedAlerts: [alertNames.density],
    cause: 'uncovered_topic',
    page: 'density',
    leadHours: 0,
    faultHours: 12,
    // A density alert resolves only after a whole healthy day.
    recoveryHours: 28,
  },
  {
    ...usual,
    name: 'stale',
    title: 'documents re-chunked',
    change: 'Every passage was split into two chunks with new ids, so the judgments of the golden set became stale.',
    fix: 'The old chunks were restored.',
    ragFault: 'stale',
    expectedAlerts: [alertNames.staleLabels],
    cause: 'corpus_changed',
  },
  {
    ...usual,
    name: 'embedding',
    title: 'embedding model changed',
    change: 'Queries were embedded with a different model than the passages.',
    fix: 'The embedding model was rolled back.',
    ragFault: 'embedding',
    expectedAlerts: [alertNames.canary, alertNames.scores],
    cause: 'embedding_model',
  },
  {
    ...usual,
    name: 'slow',
    title: 'retriever slow',
    change: `One in ${SLOW_ONE_IN} searches took ${SLOW_MS} ms longer.`,
    fix: 'The latency is back to normal.',
    ragFault: 'slow',
    expectedAlerts: [alertNames.latency],
    cause: 'retriever_slow',
  },
  {
    ...usual,
    name: 'outage',
    title: 'retriever down',
    change: 'The retriever responded to every query with status 503.',
    fix: 'The retriever was restarted.',
    ragFault: 'outage',
    expectedAlerts: [alertNames.goldenFailures, alertNames.liveErrors],
    cause: 'retriever_outage',
  },
  {
    ...usual,
    name: 'answers',
    title: `answers missing, ${100 * ANSWERS_SHARE} %`,
    change: `In ${100 * ANSWERS_SHARE} % of sessions, users started to ask about ${missingPassages.length} passages that are missing from the store. The store contains the other passages of the same articles. The golden set has no queries about the missing passages.`,
    fix: 'The missing passages were added to the index. Users still ask about these passages.',
    missing: { gap: 'answers', share: ANSWERS_SHARE },
    expectedAlerts: [alertNames.liveHits],
    cause: 'unlike_golden',
    page: 'overview',
    judgedHours: 3,
    faultHours: 3,
    // The check passes only after all queries that were graded during the fault have left the window.
    recoveryHours: 6,
  },
  {
    ...usual,
    name: 'isolation',
    title: "another tenant's document",
    change: "The results for one user contained another tenant's document.",
    fix: 'The tenant was added to the key of the result cache.',
    expectedAlerts: [alertNames.isolation],
    cause: 'forbidden_documents',
    page: 'traffic',
  },
  {
    ...usual,
    name: 'agent',
    title: 'rewriter answers',
    change: `An agent queries the retriever on behalf of the users. In ${100 * ANSWERED_SHARE} % of turns, the agent's model answered the question from memory instead of rewriting it as a query.`,
    fix: "The rewriter's prompt was corrected.",
    expectedAlerts: [alertNames.rewriting],
    cause: 'query_rewriting',
    page: 'traffic',
  },
];

/**
 * The demo's incidents in order. Two more incidents run only on request: the isolation violation, which changes no
 * measure, and the agent incident, which needs an agent.
 */
export const story: readonly Scenario[] = scenarios.filter(({ name }) => name !== 'isolation' && name !== 'agent');
