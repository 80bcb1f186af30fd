import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { program, run, startDaemon, withFolder } from './child.ts';
import { liveConfig } from './live-config.ts';
import { figure, type MeasureRow, timed } from './row.ts';

/** Measures the time from the start of the daemon until it is ready, with a new and with an existing data folder. */
export const start: MeasureRow = async (quick) => {
  const [first, again, help]: [number[], number[], number[]] = [[], [], []];
  for (let round = 0; round < (quick ? 1 : 3); round++) {
    await withFolder(async (folder) => {
      writeFileSync(path.join(folder, 'recalld.yaml'), liveConfig(0.1));
      for (const times of [first, again]) {
        const daemon = await startDaemon(folder);
        times.push(daemon.startMs);
        await daemon.stop();
      }
      help.push(await timed(() => run(process.execPath, [program, '--help'], folder)));
    });
  }
  const firstTime = figure('with an empty data folder, where PostgreSQL is set up', 'ms', first);
  const againTime = figure('with an existing data folder', 'ms', again);
  return {
    row: 'embedded start to ready',
    name: 'start',
    figures: [firstTime, againTime, figure('recalld --help', 'ms', help)],
    bars: [
      { what: 'first start', value: firstTime.median / 1000, side: 'at most', limit: 5, unit: 's' },
      {
        what: 'start with an existing data folder',
        value: againTime.median / 1000,
        side: 'at most',
        limit: 1.5,
        unit: 's',
      },
    ],
    notes: [],
  };
};
