/** The end of the story: the table, the verdict, and where to look on. */
import { type ClosingRow, closingTable, countingRule } from './closing-table.ts';
import { PIPELINE } from './demo-config.ts';
import { type Stage, WIDTH, wrapped } from './stage.ts';

export interface End {
  readonly rows: readonly ClosingRow[];
  /** What did not happen as it should. */
  readonly problems: readonly string[];
  /** That the story took. */
  readonly seconds: number;
  readonly url: string;
  readonly configFile: string;
  /** Whether the daemon stays up. */
  readonly stay: boolean;
}

export function tellEnd(
  { rows, problems, seconds, url, configFile, stay }: End,
  { tell, styled }: Stage,
): void {
  tell('');
  if (rows.length > 0) {
    const [head = '', ...lines] = closingTable(rows);
    tell(styled('bold', head));
    for (const line of lines) tell(line);
    tell('');
    for (const line of wrapped(countingRule, WIDTH)) tell(styled('dim', line));
    tell('');
  }
  for (const problem of problems) tell(`${styled('red', 'NOT AS IT SHOULD BE')} ${problem}`);
  const verdict =
    problems.length === 0
      ? styled('green', 'Every step happened as it should.')
      : styled('red', 'Not every step happened as it should; see above.');
  tell(`${verdict} It took ${Math.round(seconds)} s.`);
  if (!stay) return;
  tell(
    `\nrecalld stays up until Ctrl-C, now in real time: users go on asking, golden runs start every minute.`,
  );
  tell(`  ${url}/pipelines/${PIPELINE}?range=7d`);
  for (const command of ['status', 'diagnose', 'runs list', 'topics list'])
    tell(`  npx recalld ${command} --config ${configFile}`);
}
