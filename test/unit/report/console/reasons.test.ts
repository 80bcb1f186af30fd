import { describe, expect, it } from 'vitest';
import { readTimeRange } from '../../../../src/report/console/links.ts';
import { renderPage } from '../../../../src/report/console/render.tsx';
import type { Content } from '../../../../src/report/model/content.ts';
import { reasons } from '../../../../src/report/status/status-page.ts';
import { NOON } from '../../../support/builders.ts';

const html = (content: Content) => {
  const range = readTimeRange({}, NOON);
  const frame = { path: '/', query: {}, range, now: NOON, visitor: null, version: '1', notice: null };
  return renderPage(frame, { title: 'T', pipeline: null, section: null, content });
};

describe('the reasons of a state', () => {
  it('each have the colour of what they make of it, not that of the worst', () => {
    const page = html(
      reasons({
        reasons: [
          { verdict: 'critical', sentence: 'ndcg@10 is 0.0370.' },
          { verdict: 'no_data', sentence: 'Live traffic has not been measured yet.' },
        ],
        unknowns: [],
      }),
    );
    expect(page).toContain('<li class="critical">ndcg@10 is 0.0370.</li>');
    expect(page).toContain('<li class="no_data">Live traffic has not been measured yet.</li>');
  });

  it('give way to what is not known where nothing is wrong', () => {
    const page = html(reasons({ reasons: [], unknowns: ['Too few clicks came.'] }));
    expect(page).toContain('Not everything is known');
    expect(page).toContain('<li class="no_data">Too few clicks came.</li>');
  });
});

it('what is to be typed stands in a sentence as code, and a lone backtick stays', () => {
  expect(html('Mend it with `recalld doctor`, then wait.')).toContain(
    'Mend it with <code>recalld doctor</code>, then wait.',
  );
  expect(html('It is ` odd <b>.')).toContain('It is ` odd &lt;b>.');
});
