import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { program, withFolder } from './child.ts';
import { figure, type MeasureRow } from './row.ts';

/** Matches the first line of a chapter (`2 of 5`, two spaces and a title), and captures the title. */
const CHAPTER = /^\d+ of \d+ {2}(.+)$/;

/** Measures the duration of each chapter of `recalld demo`; in quick mode, the demo injects only one fault. */
export const demo: MeasureRow = async (quick) => {
  const steps = await withFolder((folder) => timesOf(folder, quick ? ['--fault', 'slow'] : []));
  const whole = steps.reduce((sum, { ms }) => sum + ms, 0);
  return {
    row: 'demo, step by step',
    name: 'demo',
    figures: [
      ...steps.map(({ what, ms }) => figure(what, 's', [ms / 1000])),
      figure('the whole demo', 's', [whole / 1000]),
    ],
    bars: [{ what: 'the whole demo', value: whole / 1000, side: 'at most', limit: 90, unit: 's' }],
    notes: [],
  };
};

interface Step {
  readonly what: string;
  readonly ms: number;
}

async function timesOf(folder: string, args: readonly string[]): Promise<Step[]> {
  const child = spawn(process.execPath, [program, 'demo', '--once', '--port', '0', ...args], {
    cwd: folder,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = new Promise<number | null>((resolve) => child.on('close', resolve));
  const steps: Step[] = [];
  const outputLines: string[] = [];
  let [what, since] = ['start, and healthy hours', performance.now()];
  for await (const line of createInterface({ input: child.stdout })) {
    outputLines.push(line);
    const next = CHAPTER.exec(line)?.[1];
    if (next === undefined) continue;
    const now = performance.now();
    steps.push({ what, ms: now - since });
    [what, since] = [next, now];
  }
  const code = await ended;
  if (code !== 0) throw new Error(`recalld demo ended with ${code}:\n${outputLines.join('\n')}`);
  return [...steps, { what, ms: performance.now() - since }];
}
