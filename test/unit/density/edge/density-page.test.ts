import { describe, expect, it } from 'vitest';
import { densityPage } from '../../../../src/density/edge/density-page.ts';
import type { DensityAnswer } from '../../../../src/density/http-contract.ts';
import { terminalText } from '../../../../src/report/terminal.ts';
import { NOON } from '../../../support/builders.ts';

type Data = Parameters<typeof densityPage>[0];

function dataOf(density: Partial<DensityAnswer>): Data {
  const latest = {
    value: 0.22,
    ci_low: 0.18,
    ci_high: 0.26,
    window_start: NOON.toISOString(),
    window_end: NOON.toISOString(),
    sessions: 240,
  };
  return {
    density: {
      pipeline: 'docs',
      segment: 'all',
      phase: 'watching',
      baseline: null,
      progress: null,
      incidents: {},
      closed_until: null,
      check: null,
      outgrew_baseline: false,
      measures: { query_uncovered_ratio: { latest, no_data: null, series: [] } },
      events: [],
      ...density,
    } as unknown as DensityAnswer,
    trends: new Map(),
    diagnosis: null,
    distributions: null,
    currentQueries: 0,
    topics: [],
    complaints: null,
    showsText: true,
    deployments: [],
  };
}

const textOf = (data: Data) => terminalText(densityPage(data).content, NOON).replaceAll(/\s+/g, ' ');

describe('the density page', () => {
  it('is titled by the share of poorly covered traffic now and in the baseline', () => {
    expect(densityPage(dataOf({})).title).toBe('22 % of traffic poorly covered, 5 % in the baseline');
    expect(densityPage(dataOf({ measures: {} })).title).toBe('Density');
  });

  it('says whether drift is confirmed, and since when', () => {
    expect(textOf(dataOf({}))).toContain('Drift not confirmed.');
    const opened = { opened_at: '2026-11-20T07:00:00.000Z' };
    const text = textOf(dataOf({ incidents: { page: opened } }));
    expect(text).toContain('Drift confirmed at 2026-11-20 07:00');
    expect(text).not.toContain('not confirmed');
  });

  it('shows the statistic of the alert on a logarithmic axis, among the details', () => {
    const found: unknown[] = [];
    const walk = (node: unknown): void => {
      if (typeof node !== 'object' || node === null) return;
      if ('kind' in node && node.kind === 'trend') found.push(node);
      for (const child of Object.values(node)) walk(child);
    };
    walk(densityPage(dataOf({})).content);
    expect(found).toMatchObject([
      { id: 'trend-query_uncovered_ratio' },
      { id: 'trend-query_density' },
      { id: 'trend-density_page_evidence_ratio', isLog: true },
    ]);
  });
});
