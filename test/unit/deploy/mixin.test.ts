/** The mixin exports all generated rules and dashboards to jsonnet, and nothing else. */
import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { parse } from 'yaml';
import { missing } from '../../support/missing.ts';

const root = path.resolve(import.meta.dirname, '../../..');

interface Groups {
  readonly groups: readonly { readonly rules: readonly object[] }[];
}

/**
 * Makes the mixin's fields visible. The fields are hidden so that users can add to them, and jsonnet prints no hidden
 * field.
 */
const shown = `local mixin = import 'deploy/mixin/mixin.libsonnet'; { [name]: mixin[name] for name in std.objectFieldsAll(mixin) }`;

const rulesOf = ({ groups }: Groups): object[] => groups.flatMap(({ rules }) => [...rules]);

it.skipIf(missing('jsonnet'))('the mixin contains every dashboard, every alert and every recorded series', () => {
  const { stdout, stderr } = spawnSync('jsonnet', ['-e', shown], {
    cwd: root,
    encoding: 'utf8',
    maxBuffer: 1 << 26,
  });
  expect(stderr).toBe('');
  const mixin = JSON.parse(stdout) as {
    readonly grafanaDashboards: Readonly<Record<string, object>>;
    readonly prometheusAlerts: Groups;
    readonly prometheusRules: Groups;
  };
  const folder = path.join(root, 'grafana/dashboards');
  const files = readdirSync(folder).map((name) => [name, JSON.parse(readFileSync(path.join(folder, name), 'utf8'))]);
  expect(mixin.grafanaDashboards).toEqual(Object.fromEntries(files));
  const shipped = rulesOf(
    parse(readFileSync(path.join(root, 'deploy/prometheus/recalld.rules.json'), 'utf8')) as Groups,
  );
  expect(rulesOf(mixin.prometheusAlerts)).toEqual(shipped.filter((rule) => 'alert' in rule));
  expect(rulesOf(mixin.prometheusRules)).toEqual(shipped.filter((rule) => 'record' in rule));
});
