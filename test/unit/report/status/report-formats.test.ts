import { describe, expect, it } from 'vitest';
import { renderReport, reportMarkdown, reportSlack } from '../../../../src/report/status/report/report-page.tsx';
import { whatChanged, whatToDo } from '../../../../src/report/status/report/summary.ts';
import type { ReportedSet, WeeklyReport } from '../../../../src/report/status/weekly-report.ts';
import { anIncident, NOON } from '../../../support/builders.ts';

const until = new Date(NOON.getTime() + 7 * 86_400_000);

const runOf = (day: number, mean: number): ReportedSet['runs'][number] => ({
  runId: `run-${day}`,
  goldenSetVersion: 1,
  status: 'completed',
  startedAt: new Date(NOON.getTime() + day * 86_400_000),
  verdicts: [],
  scores: [
    { segment: 'all', measure: 'ndcg', k: 10, mean, ciLow: mean - 0.05, ciHigh: mean + 0.05, ciMethod: 't', n: 100 },
  ],
});

function aReport(parts: Partial<WeeklyReport> = {}): WeeklyReport {
  return {
    pipeline: 'docs',
    from: NOON,
    until,
    showsText: true,
    sets: [],
    incidents: [],
    density: {
      isWatched: false,
      series: { query_density: [], query_uncovered_ratio: [] },
      events: [],
      budget: null,
    },
    topics: [],
    deployments: [],
    truncated: [],
    ...parts,
  };
}

const faq: ReportedSet = {
  goldenSet: 'faq',
  version: null,
  runs: [runOf(0, 0.82), runOf(6, 0.55)],
  last: null,
  representativeness: null,
  floors: new Map(),
};

const recovered = anIncident({ closedAt: until, closedBecause: 'resolved', cause: 'index_lost_documents' });

describe('the first part of the weekly report', () => {
  it('compares the first and the last score of the period', () => {
    expect(whatChanged(aReport({ sets: [faq] }))[0]).toMatch(/nDCG@10 on faq .*0\.82 .*0\.55/);
    expect(whatChanged(aReport({ sets: [{ ...faq, runs: [runOf(0, 0.82), runOf(6, 0.82)] }] }))[0]).toMatch(/0\.82\.$/);
    expect(whatChanged(aReport({ sets: [{ ...faq, runs: [] }] }))[0]).toContain('no run completed');
  });

  it('counts incidents by cause, and asks for fixes of open and repeated incidents', () => {
    const report = aReport({ incidents: [anIncident(), recovered, recovered] });
    expect(whatChanged(report).join(' ')).toMatch(/3 incidents: .*\(2 times\)/);
    const todo = whatToDo(report);
    expect(todo[0]).toContain('Incident 7 is open');
    expect(todo.filter((line) => line.includes('2 incidents'))).toHaveLength(1);
  });

  it('lists nothing to do for a week without incidents', () => {
    expect(whatToDo(aReport())).toEqual([]);
  });
});

describe('the weekly report', () => {
  const report = aReport({ sets: [faq], incidents: [anIncident({ pipeline: 'docs' })] });

  it('is one page without scripts or external resources, which starts with what changed and what to do', () => {
    const html = renderReport(report, until, '0.1.0', '');
    expect(html).not.toMatch(/<script|<link|src="http/);
    const order = ['id="glance', 'id="changed', 'id="todo', 'id="incidents'].map((part) => html.indexOf(part));
    expect(order.every((at) => at > 0)).toBe(true);
    expect(order).toEqual(order.toSorted((a, b) => a - b));
  });

  it('has the same sections in Markdown, in tables whose rows all have the same number of columns', () => {
    const text = reportMarkdown(report, until);
    expect(text.match(/^## .*$/gm)?.slice(0, 3)).toEqual(['## At a glance', '## What changed', '## What to do']);
    for (const table of text.match(/(^\|.*\|$\n?)+/gm) ?? []) {
      const widths = table
        .trim()
        .split('\n')
        .map((line) => line.split(/(?<!\\)\|/).length);
      expect(new Set(widths).size).toBe(1);
    }
  });

  it('stays below the size limits of Slack blocks', () => {
    const many = Array.from({ length: 200 }, () => anIncident());
    const { blocks } = reportSlack({ ...report, incidents: many }, until) as { blocks: { text: { text: string } }[] };
    expect(blocks).toHaveLength(4);
    expect(blocks[0]?.text.text.length).toBeLessThanOrEqual(150);
    for (const { text } of blocks) expect(text.text.length).toBeLessThanOrEqual(3000);
  });
});
