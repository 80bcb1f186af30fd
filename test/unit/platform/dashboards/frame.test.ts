import { PanelBuilder } from '@grafana/grafana-foundation-sdk/text';
import { describe, expect, it } from 'vitest';
import { arrange } from '../../../../src/platform/dashboards/frame.ts';
import { graph, metricTable } from '../../../../src/platform/dashboards/panels.ts';
import type { PlacedPanel } from '../../../support/dashboards.ts';

const panel = (title: string, width: number, height: number) =>
  new PanelBuilder().title(title).span(width).height(height);

const places = (sections: Parameters<typeof arrange>[0]) =>
  arrange(sections).map(({ id, title, gridPos }) => ({ id, title, ...gridPos }));

describe('the layout', () => {
  it('starts a new line below the tallest panel if a panel does not fit', () => {
    const panels = [panel('a', 6, 4), panel('b', 12, 9), panel('c', 12, 3), panel('d', 12, 3)];
    expect(places([{ title: 'Row', panels }])).toEqual([
      { id: 1, title: 'Row', x: 0, y: 0, w: 24, h: 1 },
      { id: 2, title: 'a', x: 0, y: 1, w: 6, h: 4 },
      { id: 3, title: 'b', x: 6, y: 1, w: 12, h: 9 },
      { id: 4, title: 'c', x: 0, y: 10, w: 12, h: 3 },
      { id: 5, title: 'd', x: 12, y: 10, w: 12, h: 3 },
    ]);
  });

  it('puts each section below the previous one, and omits sections without panels', () => {
    const sections = [
      { title: 'First', panels: [panel('a', 24, 5)] },
      { title: 'Empty', panels: [] },
      { title: 'Last', panels: [panel('b', 4, 2)] },
    ];
    expect(places(sections).map(({ title, y }) => [title, y])).toEqual([
      ['First', 0],
      ['a', 1],
      ['Last', 6],
      ['b', 7],
    ]);
  });

  it('collapses all rows after the second, each with its panels', () => {
    const row = (title: string, panels: number) => ({
      title,
      panels: Array.from({ length: panels }, (_, index) => panel(`${title} ${index}`, 24, 5)),
    });
    const placed = arrange([row('a', 1), row('b', 1), row('c', 2), row('d', 1)]);
    const closed = placed.slice(4).map((one) => JSON.parse(JSON.stringify(one)) as PlacedPanel);
    expect(
      closed.map(({ id, title, gridPos, panels }) => [id, title, gridPos.y, panels?.map((one) => one.id)]),
    ).toEqual([
      [5, 'c', 12, [6, 7]],
      [8, 'd', 13, [9]],
    ]);
  });

  it('shows the text of the section in graphs without data, but keeps the text of tables', () => {
    const common = { description: 'd', width: 8 } as const;
    const queries = [{ expr: 'up' }];
    const [, drawn, listed] = arrange([
      {
        title: 'Row',
        noData: 'No manifest is configured',
        panels: [
          graph({ ...common, title: 'Graph', unit: 'none', queries }),
          metricTable({ ...common, title: 'Table', queries, show: {}, noData: 'No rows' }),
        ],
      },
    ]).map((one) => JSON.parse(JSON.stringify(one)) as PlacedPanel);
    expect(drawn?.fieldConfig?.defaults.noValue).toBe('No manifest is configured');
    expect(listed?.fieldConfig?.defaults.noValue).toBe('No rows');
  });
});
