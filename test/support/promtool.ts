/**
 * Runs unit tests of rules with promtool, on series that are written as functions of time.
 *
 *   const verdict = runPromtool(ruleText, [{ name, interval: '1m', input_series, promql_expr_test }]);
 *   expect(verdict).toBe('');
 *
 * A test file uses `describe.skipIf(missing('promtool'))` to skip its tests if promtool is not installed.
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { stringify } from 'yaml';
import type { LabelsOf, MetricName } from '../../src/platform/metrics/catalogue.ts';

/** Returns the value in a minute: null while the series has no value, `stale` once the series has ended. */
export type ValueAt = (minute: number) => number | null | 'stale';

export interface Signal {
  readonly name: string;
  /** Labels of the series, without target labels. */
  readonly labels: Readonly<Record<string, string>>;
  readonly isCounter: boolean;
  readonly at: ValueAt;
}

export function signal<Name extends MetricName>(name: Name, labels: LabelsOf<Name>, at: ValueAt): Signal {
  return { name, labels, isCounter: name.endsWith('_total'), at };
}

export interface RuleTest {
  readonly name: string;
  readonly interval: string;
  readonly input_series: readonly { readonly series: string; readonly values: string }[];
  readonly promql_expr_test?: readonly object[];
  readonly alert_rule_test?: readonly object[];
}

/** Returns the series of a signal, as one replica exports it. */
export function inputSeries(
  { name, labels, at }: Signal,
  instance: string,
  { minutes, step }: { readonly minutes: number; readonly step: number },
): RuleTest['input_series'][number] {
  const target = { job: 'recalld', instance, ...labels };
  const values: string[] = [];
  for (let minute = 0; minute <= minutes; minute += step) {
    const value = at(minute);
    values.push(value === null ? '_' : String(value));
  }
  return { series: `${name}${selectorOf(target)}`, values: values.join(' ') };
}

export function selectorOf(labels: Readonly<Record<string, string>>): string {
  const pairs = Object.entries(labels).map(([label, value]) => `${label}=${JSON.stringify(value)}`);
  return `{${pairs.join(', ')}}`;
}

interface RuleDocument {
  readonly groups: readonly { readonly rules: readonly object[] }[];
}

interface WrittenRule {
  readonly record?: string;
  readonly expr: string;
  readonly alert?: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
}

export function writtenRules({ groups }: RuleDocument): readonly WrittenRule[] {
  return groups.flatMap(({ rules }) => rules as readonly WrittenRule[]);
}

/**
 * Returns a rule file with only this alert and the recording rules that it uses. promtool evaluates this file many
 * times faster than the whole rule file.
 */
export function rulesOfAlert(document: RuleDocument, alert: string): string {
  const written = writtenRules(document);
  const own = written.filter((rule) => rule.alert === alert);
  const recordings = written.filter(
    ({ record }) => record !== undefined && own.some(({ expr }) => expr.includes(record)),
  );
  return stringify({ groups: [{ name: 'under test', rules: [...recordings, ...own] }] }, { lineWidth: 0 });
}

/** Returns the test failures that promtool reports; an empty string if the tests pass. */
export function runPromtool(rules: string, tests: readonly RuleTest[], evaluationInterval = '1m'): string {
  const folder = mkdtempSync(path.join(tmpdir(), 'recalld-promtool-'));
  try {
    writeFileSync(path.join(folder, 'rules.yml'), rules);
    const document = { rule_files: ['rules.yml'], evaluation_interval: evaluationInterval, tests };
    writeFileSync(path.join(folder, 'test.yml'), stringify(document, { lineWidth: 0 }));
    const { status, stdout, stderr } = spawnSync('promtool', ['test', 'rules', 'test.yml'], {
      cwd: folder,
      encoding: 'utf8',
      // promtool uses one processor, so that other tests can use the second processor. Garbage collection is off,
      // because it would take a tenth of the CPU time.
      env: { ...process.env, GOMAXPROCS: '1', GOGC: 'off', GOMEMLIMIT: '256MiB' },
    });
    return status === 0 ? '' : `${stdout}${stderr}`;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
