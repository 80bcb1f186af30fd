/** The demo's incidents, in order. */
import type { Cause } from '../incidents/diagnosis/rules/cause.ts';
import { ANSWERED_SHARE } from './agent.ts';
import { alertNames, GOLDEN_HOURS } from './demo-config.ts';
import { type Gap, MISSING_ARTICLE, missingPassages, type RagFault, SLOW_MS, SLOW_ONE_IN } from './rag/fault.ts';

export type ScenarioName = Exclude<RagFault, 'none'> | 'topic' | 'answers' | 'isolation' | 'agent';

export interface Scenario {
  readonly name: ScenarioName;
  readonly title: string;
  /** One sentence about what changed. */
  readonly change: string;
  /** One sentence about the fix. */
  readonly fix: string;
  readonly ragFault: RagFault;
  /**
   * Documents missing from the store until the fix, and the share of sessions that ask about these documents from the
   * fault on.
   */
  readonly missing: { readonly gap: Gap; readonly share: number } | null;
  /** Names of the alerts that must fire. */
  readonly expectedAlerts: readonly string[];
  /** Cause that the diagnosis must name. */
  readonly cause: Cause;
  /** The console page that best shows the incident. */
  readonly page: 'density' | 'overview' | 'run' | 'traffic';
  /** Healthy hours before the fault, so that a golden run ends in the first hour of the fault. */
  readonly leadHours: number;
  /** Hours before the fault at which grading of live queries starts; null if the fault does not need grades. */
  readonly judgedHours: number | null;
  /** Hours from the fault to its diagnosis. */
  readonly faultHours: number;
  /** Hours from the fix until all alerts must be resolved. */
  readonly recoveryHours: number;
}

export const MISSING_TITLE = MISSING_ARTICLE.replaceAll('_', ' ');
/**
 * Share of sessions about the uncovered topic. The share is large enough for drift to be detected within half a day at
 * any time of day.
 */
const TOPIC_SHARE = 0.2;
/**
 * Share of sessions about the missing passages. The share is large, because only live queries can show this fault:
 * golden runs do not cover these passages, and the store contains similar passages.
 */
const ANSWERS_SHARE = 0.8;
/** Lengths of the phases of a scenario in which one golden run detects the fault, and the next run detects the fix. */
const HOURS = {
  leadHours: GOLDEN_HOURS - 1,
  judgedHours: null,
  faultHours: 1,
  recoveryHours: GOLDEN_HOURS,
} as const;

export const scenarios: readonly Scenario[] = [
  {
    name: 'index',
    title: 'index loses documents',
    change: 'A third of the passages disappeared from the index.',
    fix: 'The missing passages were indexed again.',
    ragFault: 'index',
    missing: null,
    expectedAlerts: [alertNames.scores],
    cause: 'index_lost_documents',
    page: 'run',
    ...HOURS,
  },
  {
    name: 'topic',
    title: `uncovered topic, ${100 * TOPIC_SHARE} %`,
    change: `${100 * TOPIC_SHARE} % of sessions started to ask about ${MISSING_TITLE}, which the store does not cover.`,
    fix: `Passages about ${MISSING_TITLE} were added to the index. Users still ask about it.`,
    ragFault: 'none',
    missing: { gap: 'article', share: TOPIC_SHARE },
    expectedAlerts: [alertNames.density],
    cause: 'uncovered_topic',
    page: 'density',
    leadHours: 0,
    judgedHours: null,
    faultHours: 12,
    // A density alert resolves only after a whole healthy day.
    recoveryHours: 28,
  },
  {
    name: 'stale',
    title: 'documents re-chunked',
    change: 'Every passage was split into two chunks with new ids, so the judgments of the golden set became stale.',
    fix: 'The old chunks were restored.',
    ragFault: 'stale',
    missing: null,
    expectedAlerts: [alertNames.staleLabels],
    cause: 'corpus_changed',
    page: 'run',
    ...HOURS,
  },
  {
    name: 'embedding',
    title: 'embedding model changed',
    change: 'Queries were embedded with a different model than the passages.',
    fix: 'The embedding model was rolled back.',
    ragFault: 'embedding',
    missing: null,
    expectedAlerts: [alertNames.canary, alertNames.scores],
    cause: 'embedding_model',
    page: 'run',
    ...HOURS,
  },
  {
    name: 'slow',
    title: 'retriever slow',
    change: `One search in ${SLOW_ONE_IN} took ${SLOW_MS} ms longer.`,
    fix: 'The latency is back to normal.',
    ragFault: 'slow',
    missing: null,
    expectedAlerts: [alertNames.latency],
    cause: 'retriever_slow',
    page: 'run',
    ...HOURS,
  },
  {
    name: 'outage',
    title: 'retriever down',
    change: 'The retriever responded to every query with status 503.',
    fix: 'The retriever was restarted.',
    ragFault: 'outage',
    missing: null,
    expectedAlerts: [alertNames.goldenFailures, alertNames.liveErrors],
    cause: 'retriever_outage',
    page: 'run',
    ...HOURS,
  },
  {
    name: 'answers',
    title: `answers missing, ${100 * ANSWERS_SHARE} %`,
    change: `${100 * ANSWERS_SHARE} % of sessions started to ask about ${missingPassages.length} passages that are missing from articles in the store. The golden set has no queries about them.`,
    fix: 'The missing passages were added to the index. Users still ask about them.',
    ragFault: 'none',
    missing: { gap: 'answers', share: ANSWERS_SHARE },
    expectedAlerts: [alertNames.liveHits],
    cause: 'unlike_golden',
    page: 'overview',
    leadHours: GOLDEN_HOURS - 1,
    judgedHours: 3,
    faultHours: 3,
    // All queries that were graded during the fault must first leave the window.
    recoveryHours: 6,
  },
  {
    name: 'isolation',
    title: "another tenant's document",
    change: 'The results for one user contained a document of another tenant.',
    fix: 'The tenant was added to the key of the result cache.',
    ragFault: 'none',
    missing: null,
    expectedAlerts: [alertNames.isolation],
    cause: 'forbidden_documents',
    page: 'traffic',
    ...HOURS,
  },
  {
    name: 'agent',
    title: 'rewriter answers',
    change: `An agent retrieves for the users. In ${100 * ANSWERED_SHARE} % of turns, its model answered the question from memory instead of rewriting it as a query.`,
    fix: 'The prompt of the rewriter was corrected.',
    ragFault: 'none',
    missing: null,
    expectedAlerts: [alertNames.rewriting],
    cause: 'query_rewriting',
    page: 'traffic',
    ...HOURS,
  },
];

/**
 * The demo's incidents in order. Two more incidents run only on request: the isolation violation, which changes no
 * measure, and the agent incident, which needs an agent that is absent from the other incidents.
 */
export const story: readonly Scenario[] = scenarios.filter(({ name }) => name !== 'isolation' && name !== 'agent');
