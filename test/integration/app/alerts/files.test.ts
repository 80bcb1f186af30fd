/** Prometheus and Alertmanager accept the files in deploy/, and these files do what their comments say. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { parse, stringify } from 'yaml';
import { configExample, exampleEnvironment } from '../../../../docs/build/config-example.ts';
import { defaultRuleSettings, ruleGroups } from '../../../../src/app/alerts/rule-file.ts';
import { createAlertRules } from '../../../../src/app/commands/alert-rules.ts';
import { parseConfig } from '../../../../src/app/config/parse.ts';
import { configSchema } from '../../../../src/app/config/schema.ts';
import { missing } from '../../../support/missing.ts';

const deploy = path.resolve(import.meta.dirname, '../../../../deploy');
const read = (file: string): unknown => parse(readFileSync(path.join(deploy, file), 'utf8'));
const text = (value: unknown): string => JSON.stringify(value);

function run(program: string, args: readonly string[]): { status: number | null; output: string } {
  const { status, stdout, stderr } = spawnSync(program, args, { cwd: deploy, encoding: 'utf8' });
  return { status, output: `${stdout}${stderr}` };
}

describe.skipIf(missing('promtool'))('promtool', () => {
  const lint = ['check', 'rules', '--lint=all', '--lint-fatal'];

  it('reports no problem with the rule file', () => {
    const { status, output } = run('promtool', [...lint, 'prometheus/recalld.rules.json']);
    expect(output).toMatch(/SUCCESS: \d+ rules found/);
    expect(status).toBe(0);
  });

  it('reports no problem with the rules for a config that uses every feature', () => {
    const config = parseConfig(configExample, 'recalld.yaml', exampleEnvironment, () => '');
    const rules = stringify(createAlertRules(config, 'rules').document);
    const folder = mkdtempSync(path.join(tmpdir(), 'recalld-rules-'));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    const file = path.join(folder, 'rules.yml');
    writeFileSync(file, rules);
    const { status, output } = run('promtool', [...lint, file]);
    expect(output).toMatch(/SUCCESS: \d+ rules found/);
    expect(status).toBe(0);
  });

  it('accepts the config of Prometheus, with its rules', () => {
    expect(run('promtool', ['check', 'config', 'prometheus/prometheus.yml'])).toMatchObject({ status: 0 });
  });
});

describe.skipIf(missing('amtool'))('amtool', () => {
  const file = 'alertmanager/alertmanager.yml';
  const receiversOf = (alert: string, severity: string): string =>
    run('amtool', [
      'config',
      'routes',
      'test',
      `--config.file=${file}`,
      `alertname=${alert}`,
      `severity=${severity}`,
      'pipeline=docs',
    ])
      .output.replace(/^Warning: .*\n/m, '')
      .trim();

  it('accepts the config of Alertmanager', () => {
    expect(run('amtool', ['check-config', file])).toMatchObject({
      status: 0,
      output: expect.stringContaining('SUCCESS'),
    });
  });

  const expected = { critical: 'pager,chat', warning: 'chat', info: 'none', none: 'dead-man' };

  it.each(ruleGroups(defaultRuleSettings).flatMap(({ alerts }) => alerts))(
    'routes $alert to the receiver for its severity ($severity)',
    ({ alert, severity }) => {
      expect(receiversOf(alert, severity)).toBe(expected[severity]);
    },
  );
});

describe('the config of Alertmanager', () => {
  const config = read('alertmanager/alertmanager.yml');

  it('names only existing alerts', () => {
    const alerts = ruleGroups({
      ...defaultRuleSettings,
      pipelines: [
        { name: 'docs', goldenSets: ['faq'], objectives: [{ slo: 'success', target: 0.99, windowDays: 30 }] },
      ],
    }).flatMap((group) => group.alerts.map(({ alert }) => alert));
    const patterns = [...text(config).matchAll(/Recalld[\w.+|]*/g)].flatMap(([pattern]) => pattern.split('|'));
    expect(patterns.length).toBeGreaterThan(4);
    expect(patterns.filter((pattern) => !alerts.some((alert) => new RegExp(`^${pattern}$`).test(alert)))).toEqual([]);
  });

  it('shows the cause and the console link in every notification, and contacts nothing by default', () => {
    const { receivers } = config as { receivers: readonly Record<string, unknown>[] };
    for (const { name, ...channels } of receivers.filter((one) => one['name'] === 'pager' || one['name'] === 'chat')) {
      for (const channel of Object.values(channels).flat())
        for (const annotation of ['diagnosis', 'console_url', 'runbook_url', 'dashboard_url', 'description', 'summary'])
          expect(`${String(name)}: ${text(channel)}`).toContain(`.${annotation} }}`);
    }
    expect(text(receivers)).not.toMatch(/example\.com|localhost/);
  });

  it('inhibits nothing, because an alert that ends while inhibited is never reported as resolved', () => {
    expect(config).not.toHaveProperty('inhibit_rules');
  });

  it('groups by the labels that separate deployments in the shipped rules', () => {
    const { route } = config as { route: { group_by: readonly string[] } };
    expect(route.group_by).toEqual(['alertname', 'namespace', ...defaultRuleSettings.groupLabels, 'pipeline']);
  });

  it('contains no secrets, only paths of files with secrets', () => {
    expect(text(config)).toMatch(/routing_key_file.*api_key_file.*api_url_file/);
    expect(text(config)).not.toMatch(/"(routing_key|api_key|api_url|service_key)"/);
  });
});

describe('the scrape configs', () => {
  const { port } = configSchema.parse({}).server;

  it('give every target the job label that the rules expect', () => {
    expect(read('prometheus/prometheus.yml')).toMatchObject({
      rule_files: ['recalld.rules.json'],
      scrape_configs: [
        {
          job_name: defaultRuleSettings.scrapeJob,
          static_configs: [{ targets: [`localhost:${port}`] }],
        },
      ],
    });
    const label = 'app.kubernetes.io/name';
    expect(read('kubernetes/service-monitor.yaml')).toMatchObject({
      kind: 'ServiceMonitor',
      spec: {
        jobLabel: label,
        selector: { matchLabels: { [label]: defaultRuleSettings.scrapeJob } },
        endpoints: [{ path: '/metrics' }],
      },
    });
  });
});
