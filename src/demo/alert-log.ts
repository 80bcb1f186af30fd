/** The end of the story: what became of each fault, what was in alarm, after how much, and whether anything was wrong. */

import type { Severity } from '../core/model.ts';
import type { Cause } from '../incidents/diagnosis/rules/cause.ts';
import { PIPELINE } from './demo-config.ts';
import { type Output, WIDTH, wrapped } from './output.ts';

/** How much the daemon has seen since the story began. */
export interface Seen {
  readonly hours: number;
  readonly goldenRuns: number;
  readonly liveQueries: number;
}

export interface OpenAlert {
  readonly name: string;
  readonly severity: Severity;
  readonly text: string;
}

export interface RaisedAlert extends OpenAlert {
  readonly seen: Seen;
  /** It was raised while nothing was wrong. */
  readonly isFalse: boolean;
}

export type AlertLog = ReturnType<typeof createAlertLog>;

export function createAlertLog() {
  const raised: RaisedAlert[] = [];
  let before: readonly OpenAlert[] = [];
  return {
    /** Everything that was raised, in the order of time. */
    raised,

    /**
     * Takes a look at what is in alarm now.
     *
     * @param isHealthy whether no fault is in place, nor what one left behind
     * @returns what was raised since the look before; a ticket that becomes a page is raised again
     */
    look(open: readonly OpenAlert[], seen: Seen, isHealthy: boolean): readonly RaisedAlert[] {
      const isNew = ({ name, severity }: OpenAlert): boolean =>
        !before.some((one) => one.name === name && (one.severity === severity || one.severity === 'critical'));
      const news = open.filter(isNew).map((alert) => ({ ...alert, seen, isFalse: isHealthy }));
      raised.push(...news);
      before = open;
      return news;
    },
  };
}

/** What passed from one moment to another. */
export function seenSince(from: Seen, to: Seen): Seen {
  return {
    hours: to.hours - from.hours,
    goldenRuns: to.goldenRuns - from.goldenRuns,
    liveQueries: to.liveQueries - from.liveQueries,
  };
}

export interface ClosingRow {
  readonly fault: string;
  /** The first alarm of the fault, its name in short; null when none was raised. */
  readonly alert: { readonly name: string; readonly severity: Severity } | null;
  /** What the daemon saw of the fault until then. */
  readonly detectedAfter: Pick<Seen, 'goldenRuns' | 'liveQueries'> | null;
  readonly cause: Cause | null;
  /** Since the fault before, or the beginning. */
  readonly falseAlerts: number;
}

const head = ['fault', 'alert', 'detected after', 'diagnosis', 'false before'];

/** Lines of a table, the head first; columns as wide as their longest cell. */
export function closingTable(rows: readonly ClosingRow[]): string[] {
  const table = [head, ...rows.map(cells)];
  const widths = head.map((_, column) => Math.max(...table.map((row) => row[column]?.length ?? 0)));
  return table.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  );
}

function cells({ fault, alert, detectedAfter, cause, falseAlerts }: ClosingRow): string[] {
  return [
    fault,
    alert === null ? 'none' : `${alert.name} (${alert.severity === 'critical' ? 'page' : 'ticket'})`,
    detectedAfter === null ? 'never' : seenText(detectedAfter),
    cause ?? 'none',
    String(falseAlerts),
  ];
}

/** How false alarms are counted. */
const countingRule =
  'Detected after so many golden runs and live queries since the fault began. False alarms before it: pages and tickets that were raised while nothing was wrong.';

export function seenText({ goldenRuns, liveQueries }: Pick<Seen, 'goldenRuns' | 'liveQueries'>): string {
  return `${counted(goldenRuns, 'run')}, ${counted(liveQueries, 'query', 'queries')}`;
}

function counted(count: number, one: string, more = `${one}s`): string {
  return `${count} ${count === 1 ? one : more}`;
}

/** The end of the story: the table, the verdict, and where to look on. */
interface End {
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

export function reportEnd({ rows, problems, seconds, url, configFile, stay }: End, { print, styled }: Output): void {
  print('');
  if (rows.length > 0) {
    const [head = '', ...lines] = closingTable(rows);
    print(styled('bold', head));
    for (const line of lines) print(line);
    print('');
    for (const line of wrapped(countingRule, WIDTH)) print(styled('dim', line));
    print('');
  }
  for (const problem of problems) print(`${styled('red', 'NOT AS IT SHOULD BE')} ${problem}`);
  const verdict =
    problems.length === 0
      ? styled('green', 'Every step happened as it should.')
      : styled('red', 'Not every step happened as it should; see above.');
  print(`${verdict} It took ${Math.round(seconds)} s.`);
  print(`\n${styled('bold', 'Next, your own retriever.')} ${nextStep}`);
  for (const command of ['init URL --questions FILE', 'doctor', 'serve']) print(`  npx recalld ${command}`);
  if (!stay) return;
  print(`\nrecalld stays up until Ctrl-C, now in real time: users go on asking, golden runs start every minute.`);
  print(`  ${url}/pipelines/${PIPELINE}?range=7d`);
  for (const command of ['status', 'diagnose', 'runs list', 'topics list'])
    print(`  npx recalld ${command} --config ${configFile}`);
}

const nextStep = 'Give its address and a file with a question a line; README.md has more under the same title:';
