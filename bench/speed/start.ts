import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { startDaemon, withFolder } from './child.ts';
import { liveConfig } from './live-config.ts';
import { figure, type MeasureRow } from './row.ts';

/** From nothing to ready: a new data folder, and one that is there. */
export const start: MeasureRow = async (quick) => {
  const [first, again]: [number[], number[]] = [[], []];
  for (let round = 0; round < (quick ? 1 : 3); round++) {
    await withFolder(async (folder) => {
      writeFileSync(path.join(folder, 'recalld.yaml'), liveConfig(0.1));
      for (const times of [first, again]) {
        const daemon = await startDaemon(folder);
        times.push(daemon.startMs);
        await daemon.stop();
      }
    });
  }
  const firstTime = figure('with an empty data folder, where PostgreSQL is set up', 'ms', first);
  return {
    row: 'embedded start to ready',
    name: 'start',
    figures: [firstTime, figure('with the data folder of before', 'ms', again)],
    bars: [{ what: 'first start', value: firstTime.median / 1000, side: 'at most', limit: 5, unit: 's' }],
    notes: [],
  };
};
