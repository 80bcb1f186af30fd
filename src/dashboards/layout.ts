/** Rows of panels -> places on the grid. */
import type { Builder } from '@grafana/grafana-foundation-sdk/cog';
import { type Panel, RowBuilder, type RowPanel } from '@grafana/grafana-foundation-sdk/dashboard';

/** Columns of the grid of Grafana. */
const GRID = 24;

export interface Section {
  readonly title: string;
  readonly panels: readonly Builder<Panel>[];
}

/**
 * Places panels from left to right in the order given, and in a new line where the next does not fit. Sections without
 * panels are left out. Ids count from 1, so that links to single panels hold while the order does.
 */
export function arrange(sections: readonly Section[]): (Panel | RowPanel)[] {
  const placed: (Panel | RowPanel)[] = [];
  let top = 0;
  for (const { title, panels } of sections.filter((section) => section.panels.length > 0)) {
    const row = new RowBuilder(title).gridPos({ x: 0, y: top, w: GRID, h: 1 }).build();
    placed.push({ ...row, id: placed.length + 1 });
    top += 1;
    let left = 0;
    let tallest = 0;
    for (const panel of panels.map((builder) => builder.build())) {
      const { w, h } = panel.gridPos ?? { w: GRID, h: 8 };
      if (left + w > GRID) {
        top += tallest;
        left = 0;
        tallest = 0;
      }
      placed.push({ ...panel, id: placed.length + 1, gridPos: { x: left, y: top, w, h } });
      left += w;
      tallest = Math.max(tallest, h);
    }
    top += tallest;
  }
  return placed;
}
