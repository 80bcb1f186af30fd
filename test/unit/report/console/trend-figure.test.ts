import { describe, expect, it } from 'vitest';
import { readTimeRange } from '../../../../src/report/console/links.ts';
import { renderPage } from '../../../../src/report/console/render.tsx';
import type { TrendChart } from '../../../../src/report/model/charts.ts';
import { NOON } from '../../../support/builders.ts';

const at = (hoursBefore: number) => new Date(NOON.getTime() - hoursBefore * 3_600_000);
const point = (hoursBefore: number, value: number) => ({ at: at(hoursBefore), value, low: null, high: null });

function drawn(parts: Partial<TrendChart>): string {
  const range = readTimeRange({}, NOON);
  const frame = { path: '/', query: {}, range, now: NOON, visitor: null, version: '1', notice: null };
  const chart: TrendChart = {
    kind: 'trend',
    id: 'errors',
    title: 'Errors',
    series: [{ name: 'share', points: [point(20, 0.01), point(10, 0.02), point(1, 0.3)] }],
    unit: 'share',
    empty: 'No values.',
    ...parts,
  };
  return renderPage(frame, { title: 'T', pipeline: null, section: null, content: chart });
}

describe('TrendFigure', () => {
  it('lists every value in a table, with the time by which the script finds the value', () => {
    const rows = [
      ...drawn({}).matchAll(/<tr data-at="(\d+)"><th scope="row">([^<]+)<\/th><td class="number">([^<]+)/g),
    ];
    expect(rows.map(([, time, , value]) => [Number(time), value])).toEqual([
      [at(20).getTime(), '1 %'],
      [at(10).getTime(), '2 %'],
      [at(1).getTime(), '30 %'],
    ]);
  });

  it('joins the values of two series at the same time in one row', () => {
    const html = drawn({
      series: [
        { name: 'all', points: [point(10, 0.5), point(1, 0.4)] },
        { name: 'empty', points: [point(1, 0.1)] },
      ],
    });
    expect(html.match(/<tr data-at=/g)).toHaveLength(2);
    expect(html).toContain('<td class="number">40 %</td><td class="number">10 %</td>');
  });

  it('states since when there is data, unless the start of the axis is given', () => {
    const points = [point(0.5, 0.1), point(0.1, 0.2)];
    const series = [{ name: 'share', points }];
    expect(drawn({ series })).toContain('no data before');
    expect(drawn({ series, from: at(24) })).not.toContain('no data before');
  });

  it('numbers the events within its axis, and lists them unless the list is disabled', () => {
    const marks = [
      { at: at(400), text: 'index v7' },
      { at: at(5), text: 'index v8' },
    ];
    const listed = drawn({ marks });
    expect(listed).toContain('<li class="deployment">index v8, ');
    expect(listed).not.toContain('index v7');
    const unlisted = drawn({ marks, hasMarkList: false });
    expect(unlisted).not.toContain('index v8');
    expect(unlisted).toContain('class="mark deployment"');
  });

  it('names its thresholds beside the title, where no line overlaps the text', () => {
    const html = drawn({ levels: [{ value: 0.2, text: 'critical above 20 %', severity: 'critical' }] });
    expect(html).toContain('<span class="level-key critical">critical above 20 %</span>');
  });

  it('writes large values of a log axis as powers of ten, which fit its margin', () => {
    const points = [point(10, 1), point(1, 1e15)];
    const html = drawn({ series: [{ name: 'e-value', points }], unit: 'other', isLog: true });
    expect(html).toContain('10\u00b9\u00b2</text>');
    expect(html).toContain('<div class="plot">');
  });
});
