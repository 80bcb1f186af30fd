/** Fails if the results of `npm run bench` exceed a limit. */
import { readFileSync } from 'node:fs';
import { type SpeedResult, speedFile } from './speed/result.ts';
import { isMet } from './speed/row.ts';

const { rows } = JSON.parse(readFileSync(speedFile, 'utf8')) as SpeedResult;
for (const { row, bars } of rows) {
  for (const bar of bars) {
    const words = `${row}: ${bar.what} is ${bar.value.toPrecision(4)} ${bar.unit}, the bar is ${bar.side} ${bar.limit}`;
    if (isMet(bar)) process.stdout.write(`met     ${words}\n`);
    else {
      process.stdout.write(`MISSED  ${words}\n`);
      process.exitCode = 1;
    }
  }
}
