/** Lists the slowest files at the end of `npm test`, to show what to make faster. */
import path from 'node:path';
import type { Reporter, TestModule } from 'vitest/node';

const SHOWN = 20;

export class SlowestFiles implements Reporter {
  onTestRunEnd(files: readonly TestModule[]): void {
    const timed = files
      .map((file) => ({ file: path.relative(process.cwd(), file.moduleId), seconds: secondsOf(file) }))
      .toSorted((a, b) => b.seconds - a.seconds);
    const total = timed.reduce((sum, { seconds }) => sum + seconds, 0);
    const slowest = timed.slice(0, SHOWN).map(({ file, seconds }) => `${seconds.toFixed(1).padStart(8)} s  ${file}`);
    process.stdout.write(
      `\n The slowest of ${timed.length} files, ${total.toFixed(0)} s in all:\n${slowest.join('\n')}\n\n`,
    );
  }
}

/** Returns how long it took to load the file and to run its hooks and tests. */
function secondsOf(file: TestModule): number {
  const { collectDuration, setupDuration, duration } = file.diagnostic();
  return (collectDuration + setupDuration + duration) / 1000;
}
