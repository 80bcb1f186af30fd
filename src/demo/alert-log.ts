/** The demo's alerts, and its closing summary: a table of the incidents and what to do next. */
import { formatTable } from '../cli/output.ts';
import { plural } from '../core/format.ts';
import type { Severity } from '../core/model.ts';
import type { Cause } from '../incidents/diagnosis/rules/cause.ts';
import { PIPELINE } from './demo-config.ts';
import { type Output, WIDTH, wrapped } from './output.ts';

/** Amount of data that the daemon has processed since the demo began. */
export interface Elapsed {
  readonly goldenRuns: number;
  readonly liveQueries: number;
}

export interface FiringAlert {
  readonly name: string;
  readonly severity: Severity;
  readonly text: string;
}

export interface RaisedAlert extends FiringAlert {
  readonly elapsed: Elapsed;
  /** True if the alert fired while nothing was wrong. */
  readonly isFalse: boolean;
}

export type AlertLog = ReturnType<typeof createAlertLog>;

export function createAlertLog() {
  const raised: RaisedAlert[] = [];
  let before: readonly FiringAlert[] = [];
  return {
    raised,

    /**
     * Records the alerts that are firing.
     *
     * @param isHealthy true if there is neither a fault nor an aftereffect of an earlier fault
     * @returns alerts that were not firing at the previous call, and tickets that became pages
     */
    record(firing: readonly FiringAlert[], elapsed: Elapsed, isHealthy: boolean): readonly RaisedAlert[] {
      const isNew = ({ name, severity }: FiringAlert): boolean =>
        !before.some((one) => one.name === name && (one.severity === severity || one.severity === 'critical'));
      const added = firing.filter(isNew).map((alert) => ({ ...alert, elapsed, isFalse: isHealthy }));
      raised.push(...added);
      before = firing;
      return added;
    },
  };
}

export function elapsedBetween(from: Elapsed, to: Elapsed): Elapsed {
  return { goldenRuns: to.goldenRuns - from.goldenRuns, liveQueries: to.liveQueries - from.liveQueries };
}

export interface SummaryRow {
  readonly incident: string;
  readonly alert: { readonly name: string; readonly severity: Severity; readonly after: Elapsed } | null;
  readonly cause: Cause | null;
  /** Number of false alerts since the previous incident, or since the beginning. */
  readonly falseAlerts: number;
}

const head = ['incident', 'first alert', 'detected after', 'cause', 'false alerts'];

/** Returns the lines of a table, the header first. */
export function summaryTable(rows: readonly SummaryRow[]): string[] {
  const cells = rows.map(({ incident, alert, cause, falseAlerts }) => [
    incident,
    alert === null ? 'none' : `${alert.name} (${severityLabel(alert.severity)})`,
    alert === null ? 'never' : elapsedText(alert.after),
    cause ?? 'none',
    String(falseAlerts),
  ]);
  return formatTable(head, cells).split('\n');
}

export function severityLabel(severity: Severity): 'page' | 'ticket' {
  return severity === 'critical' ? 'page' : 'ticket';
}

export function elapsedText({ goldenRuns, liveQueries }: Elapsed): string {
  return `${plural(goldenRuns, 'run')}, ${plural(liveQueries, 'query', 'queries')}`;
}

const LEGEND =
  'Detected after: number of golden runs and live queries between the start of the fault and the first alert. False alerts: pages and tickets that fired before the fault, while nothing was wrong.';

/** @param problems one sentence for each step that did not go as expected */
export function printSummary(
  rows: readonly SummaryRow[],
  problems: readonly string[],
  seconds: number,
  { print, styled }: Output,
): void {
  print('');
  if (rows.length > 0) {
    const [titles = '', ...lines] = summaryTable(rows);
    print(styled('bold', titles));
    for (const line of lines) print(line);
    print('');
    for (const line of wrapped(LEGEND, WIDTH)) print(styled('dim', line));
    print('');
  }
  for (const problem of problems) print(`${styled('red', 'UNEXPECTED')} ${problem}`);
  const verdict =
    problems.length === 0
      ? styled('green', 'Every step went as expected.')
      : styled('red', 'Some steps did not go as expected; see above.');
  print(`${verdict} The demo took ${Math.round(seconds)} s.`);
  print(
    `\n${styled('bold', 'Next: monitor your own retriever.')} You need its URL and a file with one query per line:`,
  );
  for (const command of ['init URL --questions FILE', 'doctor', 'serve']) print(`  npx recalld ${command}`);
}

export function printNextSteps(url: string, configFile: string, { print }: Output): void {
  print(
    '\nrecalld now runs in real time until you press Ctrl-C. Simulated users keep sending queries, and golden runs start',
  );
  print('every minute.');
  print(`  ${url}/pipelines/${PIPELINE}?range=7d`);
  for (const command of ['status', 'diagnose', 'runs list', 'topics list'])
    print(`  npx recalld ${command} --config ${configFile}`);
}
