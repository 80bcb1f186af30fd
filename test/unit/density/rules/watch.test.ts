/** Density monitoring as a state machine: the effect of each observation on each state. */
import { describe, expect, it } from 'vitest';
import type { FrozenBaseline } from '../../../../src/density/rules/baseline.ts';
import {
  type MeasurementFingerprint,
  measurementFingerprint,
} from '../../../../src/density/rules/measurement-change.ts';
import { isUpgradeDue, learningState, startOver, transition } from '../../../../src/density/rules/watch.ts';
import type {
  DensityState,
  WatchingPhase,
  WatchObservation,
  WatchStep,
} from '../../../../src/density/rules/watch-state.ts';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const NOW = Date.UTC(2026, 10, 20, 12);

const settings = {
  pipeline: 'docs',
  windowMs: HOUR,
  graceMs: 0,
  budget: { count: 1, periodMs: 365 * DAY },
  monitors: 1,
  needs: { days: 14, sessions: 2_000 },
};

const first = measurementFingerprint({ index: null, embedder: { identity: 'first model' } });
const second: MeasurementFingerprint = { ...first, embeddingModel: 'second model' };
const spread = { sessions: 2_400, meanX: 0.99, variance: 0.9, phi: 1, meanXUpper: 1.03 };

function aBaseline(grade: FrozenBaseline['grade']): FrozenBaseline {
  return {
    grade,
    period: { from: new Date(NOW - 14 * DAY), until: new Date(NOW) },
    days: 14,
    sessions: 2_400,
    queries: 5_000,
    dropped: { notMeasurable: 0, notFiniteVector: 0, zeroVector: 0 },
    regions: { count: 0, columns: 0, centroids: new Float64Array(0) },
    scores: { all: new Float64Array(0), regions: [] },
    global: spread,
    meanExcess: 0,
    regionShares: [],
  };
}

function built(grade: FrozenBaseline['grade'], version = 1): WatchObservation {
  const baseline = aBaseline(grade);
  return { kind: 'baseline_built', version, baseline, reason: 'enough traffic', closedMs: NOW, details: {} };
}

const learning = learningState(first, null);
const watching = transition(settings, learning, built('page')).state;
const provisional = transition(settings, learning, built('provisional')).state;
const changedTo = (
  consequence: Extract<WatchObservation, { kind: 'measurement_changed' }>['consequence'],
): WatchObservation => ({
  kind: 'measurement_changed',
  fingerprint: second,
  changed: ['embeddingModel'],
  at: new Date(NOW + DAY),
  consequence,
});
const replay = {
  kind: 'replay',
  queries: 40,
  baselineVersion: 1,
  from: new Date(NOW - DAY),
  until: new Date(NOW),
} as const;
const replaying = transition(settings, watching, changedTo(replay)).state;

/** A window in which all sessions have the same score `y` (higher is worse), after a window with identical coverage. */
function aWindow(sessions: number, y: number): WatchObservation {
  const sumX = sessions * y * Math.log(100);
  const windowAt = (startMs: number) => ({
    startMs,
    endMs: startMs + HOUR,
    measuredMs: startMs + HOUR,
    baselineVersion: 1,
    totals: { startMs, endMs: startMs + HOUR, all: { sessions, sumX }, regions: [] },
    segments: { all: { sessions, queries: sessions, sumX, sumXSquared: 2 * sumX, sumUncovered: sessions } },
  });
  return {
    kind: 'window_measured',
    baseline: aBaseline('page'),
    history: [windowAt(NOW)],
    remeasured: [],
    scores: new Float64Array(sessions).fill(y),
    notMeasurable: { no_vector: 2 },
  };
}

/** Names of everything that a step stores in addition to the state, in order. */
const stored = ({ state: _state, events = [], ...rest }: WatchStep): string[] => [
  ...Object.keys(rest),
  ...events.map((event) => ('raised' in event ? `raised ${event.level}` : 'event')),
];
const sentences = ({ events = [] }: WatchStep): string[] =>
  events.flatMap((event) => ('raised' in event ? [] : [event.sentence]));

describe('the density monitor', () => {
  it.each<[string, DensityState, WatchObservation, DensityState['phase']['kind'], string[]]>([
    [
      'continues to learn while traffic is insufficient',
      learning,
      { kind: 'traffic_insufficient', progress: { days: 2, sessions: 90 }, untilMs: NOW },
      'learning',
      [],
    ],
    [
      'starts watching with a baseline, and releases the queries of older baselines',
      learning,
      built('page'),
      'watching',
      ['releaseBefore', 'event'],
    ],
    ['stores the measurements of a closed window', watching, aWindow(20, 0.2), 'watching', ['measurements', 'windows']],
    [
      'raises alerts of both levels for a poorly covered window',
      watching,
      aWindow(400, 0.9),
      'watching',
      ['measurements', 'windows', 'raised page', 'raised ticket'],
    ],
    ['waits while the baseline queries are replayed', watching, changedTo(replay), 'replaying', ['event']],
    [
      'learns again if the baseline queries cannot be replayed',
      watching,
      changedTo({ kind: 'learn' }),
      'learning',
      ['event'],
    ],
    [
      'continues with the baseline if its queries still find the same chunks',
      watching,
      changedTo({
        kind: 'keep',
        searched: { queries: 30, meanOverlap: 1, meanScoreChange: 0 },
      }),
      'watching',
      ['event'],
    ],
    ['learns again if the replay was insufficient', replaying, { kind: 'replay_insufficient' }, 'learning', []],
    ['continues with the baseline of the replay', replaying, built('page', 2), 'watching', ['releaseBefore', 'event']],
    [
      'continues unchanged if an unknown part of its fingerprint is identified',
      watching,
      { kind: 'measurement_identified', fingerprint: second },
      'watching',
      [],
    ],
  ])('%s', (_, state, observed, phase, expected) => {
    const step = transition(settings, state, observed);
    expect(step.state.phase.kind).toBe(phase);
    expect(stored(step)).toEqual(expected);
  });

  it('does not compare measurements before a change with later ones', () => {
    const { state } = transition(settings, watching, changedTo({ kind: 'learn' }));
    expect(state).toMatchObject({ sinceMs: NOW + DAY, closedMs: NOW + DAY, fingerprint: second });
    expect(replaying).toMatchObject({ sinceMs: NOW + DAY, closedMs: NOW + DAY, fingerprint: second });
    expect(transition(settings, replaying, { kind: 'replay_insufficient' }).state.sinceMs).toBe(NOW + DAY);
  });

  it('counts a window once, as evidence for both levels', () => {
    const { state, events = [] } = transition(settings, watching, aWindow(400, 0.9));
    expect(state.closedMs).toBe(NOW + HOUR);
    expect(events).toMatchObject([{ level: 'page' }, { level: 'ticket' }]);
    expect(() => transition(settings, state, aWindow(400, 0.9))).toThrow('Each window must be tested exactly once');
  });

  it('measures the density, sessions and evidence of a closing window', () => {
    const { measurements: outcomes = [] } = transition(settings, watching, aWindow(400, 0.2));
    expect(outcomes.map(({ measure }) => measure)).toEqual([
      'query_density',
      'query_uncovered_ratio',
      'query_uncovered_excess_ratio',
      'density_sessions',
      'density_page_evidence_ratio',
      'density_ticket_evidence_ratio',
    ]);
    expect(outcomes[3]).toMatchObject({ value: 400, details: { not_measurable: { no_vector: 2 } } });
  });

  it('rejects a window if there is no baseline', () => {
    expect(() => transition(settings, learning, aWindow(20, 0.2))).toThrow('learning');
  });

  it('creates only tickets with a provisional baseline, and tries to replace that baseline once a day', () => {
    expect(Object.keys((provisional.phase as WatchingPhase).alerts)).toEqual(['ticket']);
    const nextDay = { ...provisional, closedMs: NOW + DAY };
    expect(isUpgradeDue(settings, provisional, new Date(NOW))).toBe(false);
    expect(isUpgradeDue(settings, nextDay, new Date(NOW + DAY))).toBe(true);
    // An hour later, a window can be closed, and closing it has priority over the upgrade.
    expect(isUpgradeDue(settings, nextDay, new Date(NOW + DAY + HOUR))).toBe(false);
    const { state } = transition(settings, nextDay, { kind: 'upgrade_insufficient' });
    expect(isUpgradeDue(settings, state, new Date(NOW + DAY))).toBe(false);
    expect(isUpgradeDue(settings, { ...state, closedMs: NOW + 2 * DAY }, new Date(NOW + 2 * DAY))).toBe(true);
  });

  it.each([
    ['watching', watching],
    ['a replay', replaying],
    ['learning', learning],
  ])('starts over on request, from %s', (_, state) => {
    const since = new Date(NOW + 2 * DAY);
    const step = startOver('docs', state, { at: new Date(NOW + 3 * DAY), reason: 'new product', since });
    expect(step.state).toMatchObject({ phase: { kind: 'learning' }, sinceMs: since.getTime(), closedMs: 0 });
    expect(sentences(step)).toEqual(['A new density baseline for docs was requested manually: new product.']);
  });

  it('states that a change is not drift, and what happens to the baseline', () => {
    expect(sentences(transition(settings, watching, changedTo(replay)))).toEqual([
      'The embedding model of docs changed; this is not drift. 40 baseline queries are being replayed; density alerts are paused until the replay has finished.',
    ]);
    expect(sentences(transition(settings, learning, changedTo({ kind: 'learn' })))).toEqual([
      'The embedding model of docs changed; this is not drift. recalld now learns a new baseline.',
    ]);
  });
});
