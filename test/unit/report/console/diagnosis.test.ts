import { describe, expect, it } from 'vitest';
import { diagnosisOf, diagnosisPanel } from '../../../../src/incidents/diagnosis/edge/pages/diagnosis.ts';
import type { Incident } from '../../../../src/incidents/diagnosis/rules/incident.ts';
import type { Sign } from '../../../../src/incidents/diagnosis/rules/signs.ts';
import { readTimeRange } from '../../../../src/report/console/links.ts';
import { renderPage } from '../../../../src/report/console/render.tsx';
import type { Content } from '../../../../src/report/model/content.ts';
import { anIncident, NOON } from '../../../support/builders.ts';

const range = readTimeRange({ range: '7d' }, NOON);
const failures: Sign = {
  name: 'failures',
  state: 'most',
  sentence: '40 of 40 golden queries failed.',
  from: null,
  n: null,
};
const size: Sign = {
  name: 'store_size',
  state: 'steady',
  sentence: 'The store holds 37 vectors.',
  from: null,
  n: null,
};
const topics: Sign = {
  name: 'topics',
  state: 'new_demand',
  sentence: 'Nobody asked about t-1 before.',
  from: null,
  n: null,
};

const diagnosis: Incident = anIncident({
  referenceRunId: 'run-0',
  ranked: [
    { cause: 'retriever_outage', probability: 0.9996, supporting: [failures, size], opposing: [topics] },
    { cause: 'uncovered_topic', probability: 0.02, supporting: [topics], opposing: [] },
    { cause: 'recalld', probability: 0.001, supporting: [], opposing: [] },
  ],
  signs: [failures, size, topics],
  probability: 0.9996,
});

/** The content of the page without its frame. */
const markup = (content: Content) => {
  const frame = { path: '/', query: {}, range, now: NOON, visitor: null, version: '1', notice: null };
  const page = renderPage(frame, { title: '', pipeline: null, section: null, hasRange: false, content });
  return /<h1><\/h1><\/div><\/div>(.*)<\/main>/s.exec(page)?.[1] ?? page;
};

const html = (parts: Partial<Incident> = {}, isBrief = false) =>
  markup(diagnosisPanel({ ...diagnosis, ...parts }, isBrief ? 'brief' : 'full'));

const textOf = (shown: string) =>
  shown
    .replaceAll(/<[^>]*>/g, ' ')
    .replaceAll(/\s+/g, ' ')
    .trim();

describe('a diagnosis on a page', () => {
  it('names the cause, its confidence, what to do and since when, and never claims to be certain', () => {
    const text = textOf(html());
    expect(text).toContain('Likely cause: the retriever is down high confidence, 99 %');
    expect(text).toContain('What to do: Check the retriever');
    expect(text).toContain('Firing since 2026-11-20 12:00 : golden queries of faq fail.');
    expect(text).toContain('users ask for content that the store lacks 2 %');
    expect(text).not.toContain('recalld itself');
  });

  it('shows only the evidence on a page whose card has cause and action', () => {
    const text = textOf(markup(diagnosisPanel(diagnosis, 'evidence')));
    expect(text).toContain('40 of 40 golden queries failed.');
    expect(text).not.toContain('Likely cause');
    expect(text).not.toContain('What to do');
    expect(text).not.toContain('Firing since');
  });

  it('shows commands as code', () => {
    const moved = html({ cause: 'golden_labels', ranked: [] });
    expect(moved).toContain('<code>recalld golden check</code>');
    expect(moved).not.toContain('`');
  });

  it('links each piece of evidence to the page that shows it, over the same time range', () => {
    const links = [...html().matchAll(/href="([^"]+)"[^>]*>([^<]+)/g)].map(([, href, text]) => [
      text,
      href?.replaceAll('&amp;', '&'),
    ]);
    expect(Object.fromEntries(links)).toMatchObject({
      'Failed queries': '/runs/run-1?view=failed&against=run-0&range=7d#queries',
      'Latest measures': '/pipelines/docs?range=7d#measures',
      'Uncovered topics': '/pipelines/docs/density?range=7d#topics',
      'the good run': '/runs/run-0?range=7d',
      deployments: '/deployments?pipeline=docs&range=7d',
    });
  });

  it('omits opposing evidence and other causes where there is little room', () => {
    const text = textOf(html({}, true));
    expect(text).toContain('For it: 40 of 40 golden queries failed.');
    expect(text).not.toContain('Against it');
    expect(text).not.toContain('Other causes');
  });

  it('states that the cause is unknown, and names the most likely cause', () => {
    const text = textOf(html({ cause: 'unknown', confidence: 'low', probability: 0.5 }));
    expect(text).toContain('Cause unknown : the evidence does not identify it. Most likely: the retriever is down');
    expect(text).not.toContain('Likely cause');
    expect(text).not.toContain('confidence');
  });

  it('links to the list of golden runs if it has no run', () => {
    const shown = html({ runId: null, referenceRunId: null });
    expect(shown).toContain('/pipelines/docs/golden?range=7d#runs');
    expect(shown).not.toContain('/runs/');
  });

  it('states from when to when a resolved alert fired', () => {
    const closedAt = new Date(NOON.getTime() + 3_600_000);
    expect(textOf(html({ closedAt }))).toContain('Fired from 2026-11-20 12:00 to 2026-11-20 13:00 :');
  });

  it('explains why it is missing while an alert fires, and is empty otherwise', () => {
    const none = (state: 'critical' | 'ok') => markup(diagnosisOf(state, null));
    expect(none('critical')).toContain('looks for causes every 15 seconds');
    expect(none('ok')).toBe('');
  });
});
