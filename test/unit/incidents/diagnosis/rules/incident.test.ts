import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  type Alert,
  type AlertTimeline,
  isEcho,
  isFinal,
  trendOf,
  updateTimelines,
  worstAlert,
} from '../../../../../src/incidents/diagnosis/rules/incident.ts';
import { anAlert, anIncident } from '../../../../support/builders.ts';
import { hours } from '../../../../support/measurements.ts';

/** An alert from a check with a threshold of 0.8; `value` is the score. */
const floor = (value: number, severity: Alert['severity'] = 'critical'): Alert =>
  anAlert({
    name: 'floor',
    rule: severity === 'critical' ? 'RecalldCheckCritical' : 'RecalldCheckWarning',
    value,
    threshold: 0.8,
    severity,
    text: `It is ${value}.`,
  });

const timelineOf = (...each: readonly (readonly Alert[])[]): AlertTimeline[] =>
  each.reduce<AlertTimeline[]>((timeline, firing, hour) => updateTimelines(timeline, firing, hours(hour)), []);

describe('the timeline of an alert', () => {
  it('keeps its worst state and the time of that state, even while the alert recovers', () => {
    expect(timelineOf([floor(0.7, 'warning')], [floor(0.04)], [floor(0.65, 'warning')], [])).toEqual([
      {
        name: 'floor',
        rule: 'RecalldCheckCritical',
        goldenSet: 'faq',
        severity: 'critical',
        currentSeverity: null,
        openedAt: hours(0),
        endedAt: hours(3),
        criticalAt: [hours(1)],
        worst: { at: hours(1), headline: anAlert().headline, text: 'It is 0.04.', value: 0.04, threshold: 0.8 },
        recovered: null,
      },
    ]);
  });

  it('keeps the recovery measurement until the alert fires again', () => {
    const recovered = 'nDCG@10 recovered to 0.82';
    const resolved = updateTimelines(timelineOf([floor(0.04)]), [], hours(1), new Map([['floor', recovered]]));
    expect(resolved).toMatchObject([{ recovered }]);
    expect(updateTimelines(resolved, [], hours(2))).toMatchObject([{ recovered, endedAt: hours(1) }]);
    expect(updateTimelines(resolved, [floor(0.04)], hours(2))).toMatchObject([{ recovered: null }]);
  });

  it('does not compare differences from two baselines', () => {
    const drop = (value: number, comparedWith: string) => anAlert({ value, threshold: -0.02, comparedWith });
    const [timeline] = timelineOf([drop(-0.1, 'run-1')], [drop(-0.3, 'run-2')]);
    expect(timeline?.worst).toMatchObject({ value: -0.1, comparedWith: 'run-1' });
    expect(timelineOf([drop(-0.1, 'run-1')], [drop(-0.3, 'run-1')])[0]?.worst).toMatchObject({ value: -0.3 });
  });

  it('records each time at which the alert became critical, and reopens when the alert fires again', () => {
    const [timeline] = timelineOf([floor(0.1)], [floor(0.7, 'warning')], [floor(0.1)], [], [floor(0.1)]);
    expect(timeline).toMatchObject({
      criticalAt: [hours(0), hours(2), hours(4)],
      currentSeverity: 'critical',
      endedAt: null,
    });
  });

  it('treats the highest value as the worst if the threshold is an upper limit', () => {
    const errors = (value: number) => anAlert({ value, threshold: 0.05, text: `${value}` });
    expect(timelineOf([errors(0.1)], [errors(0.9)], [errors(0.3)])[0]?.worst).toMatchObject({
      value: 0.9,
      at: hours(1),
    });
  });

  it('keeps the worst value of all evaluations in which the alert fired', () => {
    const step = fc.option(fc.double({ min: 0, max: 0.79, noNaN: true }), { nil: null });
    fc.assert(
      fc.property(fc.array(step, { minLength: 1, maxLength: 20 }), (values) => {
        const [timeline] = timelineOf(...values.map((value) => (value === null ? [] : [floor(value)])));
        const fired = values.filter((value) => value !== null);
        expect(timeline?.worst.value ?? null).toBe(fired.length === 0 ? null : Math.min(...fired));
      }),
    );
  });
});

describe('the alert that represents an incident', () => {
  const drift = anAlert({ name: 'drift', severity: 'warning' });
  const named = (timeline: readonly AlertTimeline[]) =>
    worstAlert({ ...anIncident(), severity: 'critical', timeline })?.name;

  it('is the worst firing alert, not a worse one that has resolved', () => {
    expect(named(timelineOf([drift, floor(0.04)]))).toBe('floor');
    expect(named(timelineOf([floor(0.04), drift], [drift]))).toBe('drift');
  });

  it('is the worst alert once all are resolved', () => {
    expect(named(timelineOf([drift, floor(0.04)], []))).toBe('floor');
  });
});

describe('the trend', () => {
  it('is recovering if all firing alerts are better than at their worst', () => {
    const timeline = timelineOf([floor(0.04)]);
    expect(trendOf(timeline, [floor(0.65)], hours(1))).toBe('recovering');
    expect(trendOf(timeline, [floor(0.04)], hours(1))).toBe('steady');
  });

  it('is worse if an alert exceeds its earlier worst value, escalates, or is new', () => {
    expect(trendOf(timelineOf([floor(0.04)]), [floor(0.02)], hours(1))).toBe('worse');
    expect(trendOf(timelineOf([floor(0.04)]), [floor(0.65), anAlert()], hours(1))).toBe('worse');
    expect(trendOf(timelineOf([floor(0.5, 'warning')]), [floor(0.6, 'critical')], hours(1))).toBe('worse');
  });

  it('is recovering if an alert with a look-back window fires within two hours of a fix', () => {
    const echo = anAlert({ name: 'drift', rule: 'RecalldDensityDrift', severity: 'warning' });
    expect(trendOf(timelineOf([floor(0.04)]), [floor(0.81), echo], hours(1))).toBe('recovering');
    expect(trendOf(timelineOf([floor(0.04)], []), [echo], hours(2))).toBe('recovering');
    expect(trendOf(timelineOf([floor(0.04)], []), [echo], hours(4))).toBe('worse');
    expect(trendOf(timelineOf([floor(0.04)], []), [{ ...echo, rule: 'RecalldCheckWarning' }], hours(2))).toBe('worse');
  });

  it('is not worse if the only new alert is about the processor time of recalld', () => {
    const busy = anAlert({ name: 'latencies of faq are not evaluated', severity: 'warning' });
    expect(trendOf(timelineOf([floor(0.04)]), [floor(0.65), busy], hours(1))).toBe('recovering');
    expect(trendOf([], [busy], hours(1))).toBe('worse');
  });

  it('is recovering if a new alert rests on live traffic from before another alert resolved', () => {
    const opinions = (from: Date) => anAlert({ name: 'feedback', severity: 'warning', goldenSet: null, from });
    const timeline = timelineOf([floor(0.04)], []);
    expect(trendOf(timeline, [opinions(hours(0.5))], hours(1.5))).toBe('recovering');
    expect(trendOf(timeline, [opinions(hours(1))], hours(2))).toBe('worse');
  });

  it('is recovering if an alert with a look-back window fires after one alert has resolved and the others improve', () => {
    const echo = anAlert({ name: 'drift', rule: 'RecalldDensityDrift', severity: 'warning' });
    const empty = (value: number) => anAlert({ name: 'zero results', value, threshold: 0.05 });
    const timeline = timelineOf([floor(0.04), empty(0.3)], [empty(0.2)]);
    expect(trendOf(timeline, [empty(0.1), echo], hours(2))).toBe('recovering');
    expect(trendOf(timeline, [empty(0.4), echo], hours(2))).toBe('worse');
    expect(trendOf(timelineOf([floor(0.04), empty(0.3)]), [floor(0.5), empty(0.1), echo], hours(1))).toBe('worse');
  });

  it('is recovering if a window that still contains the fault gets worse after another alert has resolved', () => {
    const drift = (value: number) =>
      anAlert({ name: 'drift', rule: 'RecalldDensityDrift', goldenSet: null, value, threshold: 1 });
    const errors = (value: number) => anAlert({ name: 'errors', goldenSet: null, value, threshold: 0.05 });
    const timeline = timelineOf([floor(0.04), drift(1.2), errors(0.2)]);
    expect(trendOf(timeline, [drift(3), errors(0.23)], hours(1))).toBe('recovering');
    expect(trendOf(timeline, [floor(0.04), drift(3), errors(0.2)], hours(1))).toBe('worse');
    expect(trendOf(timeline, [errors(0.23), anAlert({ name: 'outage', goldenSet: null })], hours(1))).toBe('worse');
  });

  it('is recovering if live traffic from before a good golden run gets worse while the golden alert still fires', () => {
    const empty = (value: number) =>
      anAlert({ name: 'empty', goldenSet: null, value, threshold: 0.05, from: hours(1) });
    const timeline = timelineOf([floor(0.7), empty(0.06)]);
    expect(trendOf(timeline, [floor(0.82), empty(0.08)], hours(2))).toBe('recovering');
    expect(trendOf(timeline, [floor(0.75), empty(0.08)], hours(2))).toBe('worse');
  });

  it('is steady for alerts without values, which may be as bad as before', () => {
    const overdue = anAlert({ value: null, threshold: null });
    expect(trendOf(timelineOf([overdue]), [overdue], hours(1))).toBe('steady');
  });
});

describe('an alert after an incident has resolved', () => {
  const feedback = anAlert({ rule: 'RecalldCheckWarning', severity: 'warning', goldenSet: null });

  it('is an echo for at most two hours, while its window starts before the recovery', () => {
    expect(isEcho({ ...feedback, from: hours(0.4) }, hours(1), hours(1.4))).toBe(true);
    expect(isEcho({ ...feedback, from: hours(1) }, hours(1), hours(2))).toBe(false);
    expect(isEcho({ ...feedback, from: hours(-21) }, hours(1), hours(3))).toBe(true);
    expect(isEcho({ ...feedback, from: hours(-20) }, hours(1), hours(4))).toBe(false);
  });

  it('is not an echo if it pages, or if it is based on a golden run', () => {
    expect(isEcho({ ...feedback, severity: 'critical', from: hours(0.4) }, hours(1), hours(1.4))).toBe(false);
    expect(isEcho(feedback, hours(1), hours(1.4))).toBe(false);
  });
});

it('treats a diagnosis as final from the second evaluation on', () => {
  expect(isFinal(hours(0), hours(0))).toBe(false);
  expect(isFinal(hours(0), new Date(hours(0).getTime() + 60_000))).toBe(true);
});
