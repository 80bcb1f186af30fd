/** The record of an incident: alerts that fired on a pipeline, their diagnoses, and the resolution. */
import type { Severity } from '../../../core/model.ts';
import { HOUR_MS, MINUTE_MS } from '../../../core/time.ts';
import type { Cause } from './cause.ts';
import type { Findings } from './diagnose.ts';
import { isWithheldAlert } from './own-delays.ts';
import type { Sign } from './signs.ts';

/** An alert, firing or resolved. */
export interface NamedAlert {
  readonly name: string;
  /** Name of the alert rule with the same condition; the rule contains the summary and the runbook. */
  readonly rule: string;
  readonly severity: Severity;
  /** The golden set whose runs the alert covers; null for an alert that covers no golden runs. */
  readonly goldenSet: string | null;
  /** The stored measure of the alert, for its chart; absent if the alert has no stored measure. */
  readonly measured?: Measured | undefined;
}

/** The failing condition of an alert. */
interface AlertCondition {
  /** Title that fits a lock screen: `nDCG@10 0.55, below 0.7`. */
  readonly headline: string;
  /** The failing condition with its numbers, in one or two sentences. */
  readonly text: string;
  /** The measured value; null if the alert has no number. */
  readonly value: number | null;
  /** The threshold of the value; null if the alert has no number. */
  readonly threshold: number | null;
  /** The pinned run with which the value was compared; absent for an absolute value. */
  readonly comparedWith?: string | null | undefined;
}

/** A firing alert. */
export interface Alert extends NamedAlert, AlertCondition {
  /** Start of the data on which the alert is based, such as a live window; absent for a golden score or a state. */
  readonly from?: Date | undefined;
}

/**
 * Creates an alert: by default, a warning without a golden set, value or threshold; `parts` overrides these defaults.
 */
export function alertOf(name: string, rule: string, headline: string, text: string, parts: Partial<Alert> = {}): Alert {
  return { name, rule, severity: 'warning', goldenSet: null, headline, text, value: null, threshold: null, ...parts };
}

/** A golden score such as `ndcg@10`, or a measure in the measure table, for one segment. */
export interface Measured {
  readonly measure: string;
  readonly segment: string;
}

export interface Diagnosis extends Findings {
  readonly pipeline: string;
  /** Names of the alerts that fired. */
  readonly alerts: readonly string[];
  /** Id of the examined golden run; null if no run was examined. */
  readonly runId: string | null;
  /** Id of the good run with which the examined run was compared; null if there was no such run. */
  readonly referenceRunId: string | null;
}

/** An alert during an incident, with its worst severity and the rule of that severity. */
export interface AlertTimeline extends NamedAlert {
  /** Current severity; null if the alert is resolved. */
  readonly currentSeverity: Severity | null;
  readonly openedAt: Date;
  /** Time at which the alert was last resolved; null while it fires. */
  readonly endedAt: Date | null;
  /** Times at which the alert became critical; more than one if its severity dropped in between. */
  readonly criticalAt: readonly Date[];
  readonly worst: AlertCondition & { readonly at: Date };
  /**
   * Measurement that last resolved the alert: `nDCG@10 recovered to 0.82`; null while the alert fires, or if nothing
   * was measured.
   */
  readonly recovered: string | null;
}

/** Measurements that resolved alerts, such as `nDCG@10 recovered to 0.82`, keyed by alert name. */
export type Recoveries = ReadonlyMap<string, string>;

/** `left_config`: the alerts were removed from the config before they were resolved. */
export const closingReasons = ['resolved', 'left_config'] as const;

export type ClosingReason = (typeof closingReasons)[number];

/** An incident with its latest diagnosis and all earlier diagnoses. A recorded diagnosis never changes. */
export interface Incident extends Diagnosis {
  readonly id: string;
  readonly openedAt: Date;
  readonly closedAt: Date | null;
  readonly closedBecause: ClosingReason | null;
  /** Worst severity during the incident. */
  readonly severity: Severity;
  /** Time at which a second evaluation confirmed the diagnosis and thus allowed it to be sent; null until then. */
  readonly confirmedAt: Date | null;
  readonly diagnosedAt: Date;
  readonly timeline: readonly AlertTimeline[];
  /** Earlier diagnoses, newest first. */
  readonly earlier: readonly EarlierDiagnosis[];
  readonly acknowledgedAt: Date | null;
  /** Person or API key that acknowledged the incident; null until then, or if API keys are not required. */
  readonly acknowledgedBy: string | null;
  readonly mark: CauseMark | null;
}

/** A user's mark that a diagnosed cause is right or wrong. */
export interface CauseMark extends Pick<Diagnosis, 'cause' | 'confidence'> {
  readonly isRight: boolean;
  /** The actual cause; null if the diagnosed cause was right, or if the actual cause is unknown. */
  readonly actualCause: Cause | null;
  readonly markedAt: Date;
  readonly markedBy: string;
}

export interface EarlierDiagnosis extends Omit<Diagnosis, 'pipeline' | 'ranked' | 'referenceRunId'> {
  readonly diagnosedAt: Date;
}

/**
 * Minimum time between the first diagnosis and its confirmation. The next evaluation, 15 s later, often corrects a
 * first guess, so notifications contain no cause until then.
 */
const CONFIRMATION_DELAY_MS = 10_000;

export function isFinal(openedAt: Date, at: Date): boolean {
  return at.getTime() - openedAt.getTime() >= CONFIRMATION_DELAY_MS;
}

/** Updates the alert timelines of an incident with the alerts that fire now. */
export function updateTimelines(
  timeline: readonly AlertTimeline[],
  firing: readonly Alert[],
  at: Date,
  recoveries: Recoveries = new Map(),
): AlertTimeline[] {
  const known = new Set(timeline.map(({ name }) => name));
  return [
    ...timeline.map((one) => {
      const alert = firing.find(({ name }) => name === one.name);
      return alert === undefined ? ended(one, at, recoveries) : carriedOn(one, alert, at);
    }),
    ...firing.filter(({ name }) => !known.has(name)).map((alert) => begun(alert, at)),
  ];
}

function begun(alert: Alert, at: Date): AlertTimeline {
  const { name, rule, goldenSet, severity, measured } = alert;
  return {
    name,
    rule,
    goldenSet,
    severity,
    currentSeverity: severity,
    openedAt: at,
    endedAt: null,
    criticalAt: severity === 'critical' ? [at] : [],
    worst: worstAt(alert, at),
    recovered: null,
    ...(measured === undefined ? {} : { measured }),
  };
}

function ended(timeline: AlertTimeline, at: Date, recoveries: Recoveries): AlertTimeline {
  const recovered = recoveries.get(timeline.name) ?? null;
  return timeline.currentSeverity === null ? timeline : { ...timeline, currentSeverity: null, endedAt: at, recovered };
}

function carriedOn(timeline: AlertTimeline, alert: Alert, at: Date): AlertTimeline {
  const { severity, currentSeverity, criticalAt, worst } = timeline;
  const isEscalated = timeline.severity === 'warning' && alert.severity === 'critical';
  const isWorst = isEscalated || isBeyond(alert, worst);
  return {
    ...timeline,
    rule: isEscalated ? alert.rule : timeline.rule,
    severity: alert.severity === 'critical' ? 'critical' : severity,
    currentSeverity: alert.severity,
    endedAt: null,
    criticalAt: alert.severity === 'critical' && currentSeverity !== 'critical' ? [...criticalAt, at] : criticalAt,
    worst: isWorst ? worstAt(alert, at) : worst,
    recovered: null,
  };
}

function worstAt({ headline, text, value, threshold, comparedWith }: Alert, at: Date): AlertTimeline['worst'] {
  return { at, headline, text, value, threshold, comparedWith };
}

/**
 * Returns true if the value of an alert is worse than its worst value so far; false if the two values were compared
 * with different baselines.
 */
function isBeyond({ value, threshold, comparedWith }: Alert, than: AlertTimeline['worst']): boolean {
  if (value === null || threshold === null || than.value === null || !isSameBaseline(comparedWith, than)) return false;
  return than.value < threshold ? value < than.value : value > than.value;
}

function isSameBaseline(comparedWith: Alert['comparedWith'], than: AlertTimeline['worst']): boolean {
  return (comparedWith ?? null) === (than.comparedWith ?? null);
}

export type Trend = 'worse' | 'steady' | 'recovering';

/**
 * Time after a recovery during which alerts on data from before the recovery are ignored. An alert that fires later
 * counts even if its window starts before the recovery.
 */
const ECHO_MS = 2 * HOUR_MS;

/** A density alert is based on all windows since coverage dropped. */
const isDensity = ({ rule }: Alert): boolean => rule.startsWith('RecalldDensity');

/** Returns true if an alert is based on data from before a recovery; such data may still show the fault. */
function looksBack(alert: Alert, recoveredAt: Date): boolean {
  return isDensity(alert) || (alert.from !== undefined && alert.from < recoveredAt);
}

/**
 * Returns true if an alert only shows the fault of an incident that is already resolved; such an alert opens no new
 * incident. For a critical alert, returns true only if it concerns query density: any other critical alert may mean
 * that the fault has returned.
 */
export function isEcho(alert: Alert, resolvedAt: Date, at: Date): boolean {
  if (at.getTime() - resolvedAt.getTime() > ECHO_MS || (alert.severity === 'critical' && !isDensity(alert)))
    return false;
  return looksBack(alert, resolvedAt);
}

/**
 * Trend of the firing alerts. `worse`: an alert is new, or worse than ever before in the incident. `recovering`: all
 * alerts have data and are better than at their worst, so new signs come from the repair, not from the fault. For a
 * limited time after a recovery, ignores two kinds of alerts: those based on data from before the recovery, and those
 * that have no golden set and had already fired during the incident. Ignores alerts about recalld itself if any other
 * alert fires.
 */
export function trendOf(timeline: readonly AlertTimeline[], alerts: readonly Alert[], at: Date): Trend {
  const ofService = alerts.filter(({ name }) => !isWithheldAlert(name));
  const firing = ofService.length === 0 ? alerts : ofService;
  const isKnown = (alert: Alert): boolean => timeline.some(({ name }) => name === alert.name);
  const isRecent = (recovered: Date): boolean => at.getTime() - recovered.getTime() <= ECHO_MS;
  const recoveries = timeline.flatMap((known) => recoveredAt(known, firing, at) ?? []);
  const latest = recoveries.length === 0 ? at : new Date(Math.max(...recoveries.map((one) => one.getTime())));
  const isFixed = timeline.length > 0 && recoveries.length === timeline.length && recoveries.every(isRecent);
  if (isFixed && firing.every((alert) => isKnown(alert) || looksBack(alert, latest))) return 'recovering';
  const heard =
    recoveries.length > 0 && isRecent(latest)
      ? firing.filter((alert) => !looksBack(alert, latest) && (alert.goldenSet !== null || !isKnown(alert)))
      : firing;
  const trends = new Set(heard.map((alert) => trendOfAlert(timeline, alert)));
  if (trends.has('worse')) return 'worse';
  return trends.has('steady') ? 'steady' : 'recovering';
}

/**
 * Returns when an alert resolved; the current time if the alert still fires only because of hysteresis; null if the
 * alert has not recovered.
 */
function recoveredAt(known: AlertTimeline, firing: readonly Alert[], at: Date): Date | null {
  const alert = firing.find(({ name }) => name === known.name);
  if (alert === undefined) return known.endedAt ?? at;
  return isGood(alert, known.worst) ? at : null;
}

/** Returns true if the value of a firing alert is on the good side of its threshold. */
function isGood({ value, threshold }: Alert, worst: AlertTimeline['worst']): boolean {
  if (value === null || threshold === null || worst.value === null) return false;
  return worst.value < threshold ? value >= threshold : value <= threshold;
}

function trendOfAlert(timeline: readonly AlertTimeline[], alert: Alert): Trend {
  const known = timeline.find(({ name }) => name === alert.name);
  if (known === undefined) return 'worse';
  if (known.severity === 'warning' && alert.severity === 'critical') return 'worse';
  const { worst } = known;
  if (worst.value === null || alert.value === null || alert.value === worst.value) return 'steady';
  if (!isSameBaseline(alert.comparedWith, worst)) return 'steady';
  return isBeyond(alert, worst) ? 'worse' : 'recovering';
}

const topicId = /\bt-[0-9a-f]{10}\b/g;

type SummaryTexts = Pick<Diagnosis, 'summary' | 'signs'>;
type WithEarlier<Texts> = Texts & { readonly earlier?: readonly SummaryTexts[] };

export function topicIdsIn({ summary, signs, earlier = [] }: WithEarlier<SummaryTexts>): string[] {
  const own = [summary, ...signs.map(({ sentence }) => sentence)].flatMap((text) => text.match(topicId) ?? []);
  return [...own, ...earlier.flatMap((one) => topicIdsIn(one))];
}

/** @param names topic names, keyed by topic id; a topic without a name keeps its id */
export function withTopicNames<Texts extends WithEarlier<Diagnosis>>(
  texts: Texts,
  names: ReadonlyMap<string, string>,
): Texts {
  if (names.size === 0) return texts;
  const named = (text: string): string =>
    text.replaceAll(topicId, (id) => {
      const name = names.get(id);
      return name === undefined || name === id ? id : `"${name}"`;
    });
  const read = (signs: readonly Sign[]): Sign[] => signs.map((sign) => ({ ...sign, sentence: named(sign.sentence) }));
  return {
    ...texts,
    summary: named(texts.summary),
    signs: read(texts.signs),
    ranked: texts.ranked.map((one) => ({
      ...one,
      supporting: read(one.supporting),
      opposing: read(one.opposing),
    })),
    ...(texts.earlier === undefined
      ? {}
      : { earlier: texts.earlier.map((one) => ({ ...one, summary: named(one.summary), signs: read(one.signs) })) }),
  };
}

export const BRIEF_MS = 30 * MINUTE_MS;

/** Counts pages from `from` (inclusive) to `until` (exclusive). */
export function pageStatistics(incidents: readonly Incident[], from: Date, until: Date) {
  const pages = incidents.flatMap(({ timeline, cause }) =>
    timeline.flatMap(({ criticalAt, endedAt }) =>
      criticalAt
        .filter((at) => at >= from && at < until)
        .map((at) => ({
          isUnexplained: cause === 'unknown',
          isBrief: endedAt !== null && endedAt.getTime() - at.getTime() <= BRIEF_MS,
        })),
    ),
  );
  return {
    /** Number of pages: how often any alert became critical. */
    pages: pages.length,
    /** Number of pages during incidents whose cause is unknown. */
    unexplained: pages.filter(({ isUnexplained }) => isUnexplained).length,
    /** Number of pages for alerts that resolved within `BRIEF_MS`. */
    brief: pages.filter(({ isBrief }) => isBrief).length,
    /** Number of pages that are unexplained or brief. */
    suspect: pages.filter(({ isUnexplained, isBrief }) => isUnexplained || isBrief).length,
  };
}

/**
 * Returns the alert that represents the incident. While alerts fire, this is the first firing alert of the worst
 * current severity, because a resolved alert must not be reported as a present fault. Once all alerts have resolved, it
 * is the first alert of the worst severity.
 */
export function worstAlert({ timeline, severity }: Incident): AlertTimeline | undefined {
  const firing = timeline.filter(({ currentSeverity }) => currentSeverity !== null);
  return (
    firing.find(({ currentSeverity }) => currentSeverity === 'critical') ??
    firing[0] ??
    timeline.find((one) => one.severity === severity) ??
    timeline[0]
  );
}
