import { h } from 'preact';
import { renderToString } from 'preact-render-to-string';
import { describe, expect, it } from 'vitest';
import { Sentence } from '../../../../src/report/console/components.tsx';
import { Reasons } from '../../../../src/report/status/status-page.tsx';

describe('the reasons of a state', () => {
  it('each have the colour of what they make of it, not that of the worst', () => {
    const html = renderToString(
      h(Reasons, {
        status: {
          reasons: [
            { verdict: 'critical', sentence: 'ndcg@10 is 0.0370.' },
            { verdict: 'no_data', sentence: 'Live traffic has not been measured yet.' },
          ],
          unknowns: [],
        },
      }),
    );
    expect(html).toContain('<li class="critical">ndcg@10 is 0.0370.</li>');
    expect(html).toContain('<li class="no_data">Live traffic has not been measured yet.</li>');
  });

  it('give way to what is not known where nothing is wrong', () => {
    const html = renderToString(h(Reasons, { status: { reasons: [], unknowns: ['Too few clicks came.'] } }));
    expect(html).toContain('Not everything is known');
    expect(html).toContain('<li class="no_data">Too few clicks came.</li>');
  });
});

it('what is to be typed stands in a sentence as code, and a lone backtick stays', () => {
  const told = (text: string) => renderToString(h(Sentence, { children: text }));
  expect(told('Mend it with `recalld doctor`, then wait.')).toBe(
    'Mend it with <code>recalld doctor</code>, then wait.',
  );
  expect(told('It is ` odd <b>.')).toBe('It is ` odd &lt;b>.');
});
