/** What an alarm of query density says to people, with its numbers. */

import { percent } from '../../number-text.ts';
import type { CauseReading, CoverageCause } from '../cause/cause-reading.ts';
import type { PooledDensity, Scope } from '../coverage/pooled-density.ts';
import type { UncoveredShare } from '../coverage/query-density.ts';
import type { RegionRow } from '../coverage/region-table.ts';
import type { AlarmLevel } from './alarm-levels.ts';

export interface RaisedAlarm {
  readonly pipeline: string;
  readonly level: AlarmLevel;
  readonly renewed: boolean;
  readonly scope: Scope;
  readonly size: PooledDensity;
  /** Of all traffic in the same time. */
  readonly uncovered: UncoveredShare;
  readonly evidenceRatio: number;
  /** The region that explains most of the fall; null when there is none. */
  readonly region: RegionRow | null;
  readonly reading: CauseReading;
}

const causeSentences: Readonly<Record<CoverageCause, string>> = {
  embedding_changed: 'The embedding model changed, so that densities before and after cannot be compared.',
  content_gap: 'The questions are new: people ask what the store does not hold.',
  lost_content: 'The questions are the old ones: the store or its index lost something.',
  topic_mix: 'Other topics are asked about, all of them covered: no action is needed.',
  steady: 'Nothing else changed.',
};

export function raisedSentence(alarm: RaisedAlarm): string {
  const { pipeline, level, renewed, scope, size, uncovered, evidenceRatio, region, reading } = alarm;
  const of = scope === 'global' ? pipeline : `region ${scope} of ${pipeline}`;
  const sentences = [
    `Query density of ${of} ${renewed ? 'is still' : 'fell to'} ${size.density.toFixed(2)} ${boundsOf(size)}, where 1 is as in the baseline.`,
    `${percent(uncovered.share)} of all traffic is badly covered, where the baseline has ${percent(uncovered.threshold)}: at least ${percent(uncovered.excess)} of it lost its coverage.`,
    ...(region === null ? [] : [regionSentence(region)]),
    ...readingSentences(reading),
    `The evidence is ${evidenceRatio.toPrecision(2)} times what a ${level} takes.`,
  ];
  return sentences.join(' ');
}

const likeKnownQuestions =
  'The questions are like the old ones, but the golden queries are covered as before and no chunk is known to be missing: probably people ask what the store does not hold, in words that it knows.';

function readingSentences({ cause, confidence, confirmed }: CauseReading): readonly string[] {
  const weighed = confidence === null ? [] : [`The confidence in this reading is ${confidence}.`];
  if (cause === 'content_gap' && confidence === 'low') return [likeKnownQuestions, ...weighed];
  const golden =
    confirmed === null ? [] : [`The golden queries ${confirmed ? 'bear it out' : 'do not bear it out'}.`];
  return [causeSentences[cause], ...golden, ...weighed];
}

export function resolvedSentence(
  pipeline: string,
  level: AlarmLevel,
  scope: Scope,
  size: PooledDensity,
): string {
  const of = scope === 'global' ? pipeline : `region ${scope} of ${pipeline}`;
  return `Query density of ${of} is back at ${size.density.toFixed(2)} ${boundsOf(size)}; the ${level} is resolved.`;
}

function regionSentence({ region, share, baselineShare, density }: RegionRow): string {
  const now = density === null ? '' : ` at a density of ${density.toFixed(2)}`;
  return `Most of the fall lies in region ${region}, which has ${percent(share)} of the traffic${now} and had ${percent(baselineShare)}.`;
}

function boundsOf({ low, high, sessions, startMs }: PooledDensity): string {
  return `(95 % ${low.toFixed(2)} to ${high.toFixed(2)}, ${sessions} sessions since ${new Date(startMs).toISOString().slice(0, 16)}Z)`;
}
