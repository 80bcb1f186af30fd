import { expect, it } from 'vitest';
import { liveStagesSection } from '../../../../../src/live/edge/pages/traffic-page.ts';
import { terminalText } from '../../../../../src/report/terminal.ts';
import { NOON } from '../../../../support/builders.ts';

it('shows the latency, documents and losses of each retriever stage with confidence intervals, and marks unknown values', () => {
  const bounded = (value: number) => ({ value, ciLow: value / 2, ciHigh: value * 1.5 });
  const shown = liveStagesSection(
    [
      {
        name: 'first_pass',
        n: 1200,
        timed: 1200,
        latencyP95Ms: bounded(40),
        documents: bounded(31.5),
        emptied: bounded(0.02),
        answered: bounded(0.4),
      },
      { name: 'rerank', n: 900, timed: 0, latencyP95Ms: null, documents: null, emptied: null, answered: null },
    ],
    1234,
  );
  const text = terminalText(shown, NOON).replaceAll(/\s+/g, ' ');
  expect(text).toContain(
    'Weighted values over 1\u202f234 sampled queries in the trailing window'.replaceAll('\u202f', ' '),
  );
  expect(text).toMatch(/first pass 40 ms \(20-60 ms\) 31\.5 .* 2 % \(1-3 %\) 40 % /);
  expect(text).toMatch(/rerank unknown unknown unknown unknown 900/);
});
