import { describe, expect, it } from 'vitest';
import { readTimeRange } from '../../../../src/report/console/links.ts';
import { renderPage } from '../../../../src/report/console/render.tsx';
import type { Content } from '../../../../src/report/model/content.ts';
import { reasonList } from '../../../../src/report/status/overview-page.ts';
import { NOON } from '../../../support/builders.ts';

const html = (content: Content) => {
  const range = readTimeRange({}, NOON);
  const frame = { path: '/', query: {}, range, now: NOON, visitor: null, version: '1', notice: null };
  return renderPage(frame, { title: 'T', pipeline: null, section: null, content });
};

describe('reasonList', () => {
  it('shows each reason in the color of its own verdict, not of the worst', () => {
    const page = html(
      reasonList(
        [
          { verdict: 'critical', sentence: 'ndcg@10 is 0.037.' },
          { verdict: 'no_data', sentence: 'Live traffic has not been measured yet.' },
        ],
        [],
      ),
    );
    expect(page).toContain('<li class="critical">ndcg@10 is 0.037.</li>');
    expect(page).toContain('<li class="no_data">Live traffic has not been measured yet.</li>');
  });

  it('lists missing data for a healthy pipeline', () => {
    const page = html(reasonList([], ['Too few clicks were received.']));
    expect(page).toContain('<li class="no_data">Too few clicks were received.</li>');
  });
});

it('renders text between backticks as code, and keeps a single backtick', () => {
  expect(html('Run `recalld doctor`, then wait.')).toContain('Run <code>recalld doctor</code>, then wait.');
  expect(html('It is ` odd <b>.')).toContain('It is ` odd &lt;b>.');
});
