import { expect, it } from 'vitest';
import { createAlertLog, type OpenAlert, seenSince } from '../../../src/demo/alert-log.ts';

const seen = { hours: 1, goldenRuns: 2, liveQueries: 30 };
const page = (name: string): OpenAlert => ({ name, severity: 'critical', text: '' });
const ticket = (name: string): OpenAlert => ({ name, severity: 'warning', text: '' });

it('takes an alarm that stays open once, and again when it comes back', () => {
  const log = createAlertLog();
  expect(log.look([page('scores')], seen, false)).toMatchObject([{ name: 'scores', seen }]);
  expect(log.look([page('scores')], seen, false)).toEqual([]);
  expect(log.look([], seen, false)).toEqual([]);
  expect(log.look([page('scores')], seen, false)).toHaveLength(1);
  expect(log.raised).toHaveLength(2);
});

it('takes a ticket that becomes a page as another alarm, and a page that becomes a ticket as none', () => {
  const log = createAlertLog();
  log.look([ticket('scores')], seen, false);
  expect(log.look([page('scores')], seen, false)).toMatchObject([{ severity: 'critical' }]);
  expect(log.look([ticket('scores')], seen, false)).toEqual([]);
});

it('calls false what is raised while nothing is wrong', () => {
  const log = createAlertLog();
  log.look([page('scores')], seen, true);
  log.look([page('scores'), page('latency')], seen, false);
  expect(log.raised.map(({ name, isFalse }) => [name, isFalse])).toEqual([
    ['scores', true],
    ['latency', false],
  ]);
});

it('says what passed in between', () => {
  expect(seenSince(seen, { hours: 4, goldenRuns: 3, liveQueries: 100 })).toEqual({
    hours: 3,
    goldenRuns: 1,
    liveQueries: 70,
  });
});
