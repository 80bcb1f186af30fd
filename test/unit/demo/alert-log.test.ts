import { expect, it } from 'vitest';
import { createAlertLog, elapsedBetween, type FiringAlert } from '../../../src/demo/alert-log.ts';

const elapsed = { goldenRuns: 2, liveQueries: 30 };
const page = (name: string): FiringAlert => ({ name, severity: 'critical', text: '' });
const ticket = (name: string): FiringAlert => ({ name, severity: 'warning', text: '' });

it('the alert log records an alert once while the alert fires, and again if the alert fires after it was resolved', () => {
  const log = createAlertLog();
  expect(log.record([page('scores')], elapsed, false)).toMatchObject([{ name: 'scores', elapsed }]);
  expect(log.record([page('scores')], elapsed, false)).toEqual([]);
  expect(log.record([], elapsed, false)).toEqual([]);
  expect(log.record([page('scores')], elapsed, false)).toHaveLength(1);
  expect(log.raised).toHaveLength(2);
});

it('the alert log counts a ticket that becomes a page as a new alert, but not a page that becomes a ticket', () => {
  const log = createAlertLog();
  log.record([ticket('scores')], elapsed, false);
  expect(log.record([page('scores')], elapsed, false)).toMatchObject([{ severity: 'critical' }]);
  expect(log.record([ticket('scores')], elapsed, false)).toEqual([]);
});

it('the alert log marks alerts as false that fire while nothing is wrong', () => {
  const log = createAlertLog();
  log.record([page('scores')], elapsed, true);
  log.record([page('scores'), page('latency')], elapsed, false);
  expect(log.raised.map(({ name, isFalse }) => [name, isFalse])).toEqual([
    ['scores', true],
    ['latency', false],
  ]);
});

it('elapsedBetween counts the golden runs and live queries between two moments', () => {
  expect(elapsedBetween(elapsed, { goldenRuns: 3, liveQueries: 100 })).toEqual({ goldenRuns: 1, liveQueries: 70 });
});
