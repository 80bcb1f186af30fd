/**
 * A real Prometheus and a real Alertmanager on loopback, and a webhook that keeps what it is told.
 *
 *   const stack = await startAlertingStack({ daemonUrl, rules });
 *   await waitFor(() => stack.notified('firing', 'RecalldCheckCritical'));
 *   await stack.scrape(otherDaemonUrl);       // the daemon came back at another address
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { onTestFinished } from 'vitest';
import { parse, stringify } from 'yaml';
import { json, startFaultServer } from './fault-server.ts';
import { freePort } from './free-port.ts';
import { aFolder } from './recalld.ts';
import { waitFor } from './wait-for.ts';

export interface Notification {
  readonly status: 'firing' | 'resolved';
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
}

export interface AlertingStack {
  /** Everything that the webhook was told, in order. */
  notifications(): readonly Notification[];
  /** Makes Prometheus scrape another address. */
  scrape(daemonUrl: string): Promise<void>;
}

/** @param rules a rule file, whose durations are played in seconds */
export async function startAlertingStack(daemonUrl: string, rules: string): Promise<AlertingStack> {
  const folder = await aFolder();
  const webhook = await startFaultServer(json({}));
  onTestFinished(() => webhook.close());
  const prometheusPort = await freePort();
  const alertmanagerUrl = await startAlertmanager({
    route: {
      receiver: 'webhook',
      group_by: ['...'],
      group_wait: '0s',
      group_interval: '1s',
      repeat_interval: '1h',
    },
    receivers: [{ name: 'webhook', webhook_configs: [{ url: webhook.url }] }],
  });

  const file = (name: string) => path.join(folder, name);
  const write = (name: string, content: object) => writeFileSync(file(name), stringify(content));
  const target = (url: string) => [{ targets: [new URL(url).host] }];
  write('rules.yml', inSeconds(rules));
  write('targets.yml', target(daemonUrl));
  write('prometheus.yml', {
    global: { scrape_interval: '1s', evaluation_interval: '1s' },
    rule_files: ['rules.yml'],
    alerting: { alertmanagers: [{ static_configs: target(alertmanagerUrl) }] },
    scrape_configs: [
      {
        job_name: 'recalld',
        honor_labels: true,
        file_sd_configs: [{ files: ['targets.yml'], refresh_interval: '1s' }],
      },
    ],
  });

  run('prometheus', [
    `--config.file=${file('prometheus.yml')}`,
    `--storage.tsdb.path=${file('prometheus')}`,
    `--web.listen-address=127.0.0.1:${prometheusPort}`,
    '--rules.alert.resend-delay=1s',
  ]);
  await untilReady(`http://127.0.0.1:${prometheusPort}`);

  return {
    notifications: () =>
      webhook.requests.flatMap(({ body }) => (JSON.parse(body) as { alerts: Notification[] }).alerts),
    async scrape(url) {
      write('targets.yml', target(url));
    },
  };
}

/** An Alertmanager of its own. @returns where it answers */
export async function startAlertmanager(config: object): Promise<string> {
  const folder = await aFolder();
  const file = path.join(folder, 'alertmanager.yml');
  writeFileSync(file, stringify(config));
  const url = `http://127.0.0.1:${await freePort()}`;
  run('prometheus-alertmanager', [
    `--config.file=${file}`,
    `--storage.path=${path.join(folder, 'data')}`,
    `--web.listen-address=${new URL(url).host}`,
    '--cluster.listen-address=',
  ]);
  await untilReady(url);
  return url;
}

interface Timed {
  for?: string;
  keep_firing_for?: string;
}

/** The same rules, evaluated each second and held for one or two. */
function inSeconds(rules: string): object {
  const { groups } = parse(rules) as { groups: { rules: Timed[] }[] };
  return {
    groups: groups.map((group) => ({
      ...group,
      interval: '1s',
      rules: group.rules.map((rule) => ({
        ...rule,
        ...(rule.for === undefined ? {} : { for: '1s' }),
        ...(rule.keep_firing_for === undefined ? {} : { keep_firing_for: '2s' }),
      })),
    })),
  };
}

/** Ended when the test ends, by its own id. */
function run(program: string, args: readonly string[]): void {
  const child: ChildProcess = spawn(program, args, { stdio: 'ignore' });
  const closed = new Promise((resolve) => child.once('close', resolve));
  onTestFinished(async () => {
    if (child.exitCode === null) child.kill('SIGKILL');
    await closed;
  });
}

async function untilReady(url: string): Promise<void> {
  await waitFor(async () => (await fetch(`${url}/-/ready`)).ok, { timeoutMs: 60_000 });
}
