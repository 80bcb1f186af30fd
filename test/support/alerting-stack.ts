/**
 * A real Prometheus and a real Alertmanager on loopback, with the shipped routes and receivers, and the messages that
 * PagerDuty and Slack receive.
 *
 *   const stack = await startAlertingStack(daemon.url, rules);
 *   await waitFor(() => stack.pages().some(({ action }) => action === 'trigger'));
 *   await stack.scrape(otherDaemonUrl);       // the daemon restarted at another address
 *   await stack.prometheus.restart();         // after kill -9, at the same address
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { onTestFinished } from 'vitest';
import { parse, stringify } from 'yaml';
import { json, startFaultServer } from './fault-server.ts';
import { freePort } from './free-port.ts';
import { aFolder } from './recalld.ts';
import { waitFor } from './wait-for.ts';

/** A PagerDuty event, which opens, updates or closes an incident. */
export interface Page {
  readonly action: 'trigger' | 'resolve';
  /** Key of the incident. */
  readonly key: string;
  readonly summary: string;
  readonly link: string;
  readonly details: Readonly<Record<string, string>>;
}

/** A Slack message. */
export interface Chat {
  readonly title: string;
  readonly text: string;
  readonly link: string;
}

export interface Part {
  /** `kill -9`. */
  kill(): Promise<void>;
  /** Starts the program again, with its stored state. */
  restart(): Promise<void>;
}

export interface AlertingStack {
  /** All PagerDuty events, in order of arrival. */
  pages(): readonly Page[];
  /** All Slack messages, in order of arrival. */
  chats(): readonly Chat[];
  /** Makes Prometheus scrape another address. */
  scrape(daemonUrl: string): Promise<void>;
  readonly prometheus: Part;
  /** `kill` first waits until Alertmanager saves its notification log, which happens periodically. */
  readonly alertmanager: Part;
}

/** @param rules a rule file; see `inSeconds` for its durations */
export async function startAlertingStack(daemonUrl: string, rules: string): Promise<AlertingStack> {
  const folder = await aFolder();
  const receivers = await startFaultServer(json({}));
  onTestFinished(() => receivers.close());
  const file = (name: string) => path.join(folder, name);
  const write = (name: string, content: object) => writeFileSync(file(name), stringify(content));
  const target = (url: string) => [{ targets: [new URL(url).host] }];

  write('alertmanager.yml', shippedAlertmanager(receivers.url));
  const alertmanager = await aPart('prometheus-alertmanager', (address) => [
    `--config.file=${file('alertmanager.yml')}`,
    `--storage.path=${file('alertmanager')}`,
    `--web.listen-address=${address}`,
    '--cluster.listen-address=',
    '--data.maintenance-interval=1s',
  ]);

  write('rules.yml', inSeconds(rules));
  write('targets.yml', target(daemonUrl));
  write('prometheus.yml', {
    global: { scrape_interval: '1s', evaluation_interval: '1s' },
    rule_files: ['rules.yml'],
    alerting: { alertmanagers: [{ static_configs: target(alertmanager.url) }] },
    scrape_configs: [{ job_name: 'recalld', file_sd_configs: [{ files: ['targets.yml'], refresh_interval: '1s' }] }],
  });
  const prometheus = await aPart('prometheus', (address) => [
    `--config.file=${file('prometheus.yml')}`,
    `--storage.tsdb.path=${file('prometheus')}`,
    `--web.listen-address=${address}`,
    '--rules.alert.resend-delay=1s',
    '--rules.alert.for-grace-period=1s',
  ]);

  const killAfterSave = async (): Promise<void> => {
    const now = Date.now();
    await waitFor(() => statSync(path.join(file('alertmanager'), 'nflog')).mtimeMs > now);
    await alertmanager.kill();
  };
  const receivedBy = (receiver: string) =>
    receivers.requests.filter(({ target: at }) => at === receiver).map(({ body }) => JSON.parse(body) as unknown);
  return {
    pages: () => receivedBy('/pager').map((event) => pageOf(event as PagerDutyEvent)),
    chats: () => receivedBy('/chat').map((message) => chatOf(message as SlackMessage)),
    async scrape(url) {
      write('targets.yml', target(url));
    },
    prometheus,
    alertmanager: { ...alertmanager, kill: killAfterSave },
  };
}

interface PagerDutyEvent {
  readonly event_action: Page['action'];
  readonly dedup_key: string;
  readonly client_url?: string;
  readonly payload: { readonly summary: string; readonly custom_details?: Readonly<Record<string, string>> };
}

function pageOf({ event_action: action, dedup_key: key, client_url: link = '', payload }: PagerDutyEvent): Page {
  return { action, key, summary: payload.summary, link, details: payload.custom_details ?? {} };
}

interface SlackMessage {
  readonly attachments: readonly [{ readonly title: string; readonly text: string; readonly title_link?: string }];
}

function chatOf({ attachments: [{ title, text, title_link: link = '' }] }: SlackMessage): Chat {
  return { title, text, link };
}

interface Receiver {
  readonly name: string;
  readonly pagerduty_configs?: readonly object[];
  readonly slack_configs?: readonly object[];
}

/** deploy/alertmanager/alertmanager.yml with test addresses, durations in seconds, and no mute on Sunday nights. */
function shippedAlertmanager(url: string): object {
  const shipped = path.resolve(import.meta.dirname, '../../deploy/alertmanager/alertmanager.yml');
  const text = readFileSync(shipped, 'utf8')
    .replaceAll(/(group_wait|group_interval): (?!0s)\w+/g, '$1: 1s')
    .replaceAll(/ *mute_time_intervals: .*\n/g, '');
  const config = parse(text) as { receivers: Receiver[] };
  const to = (settings: readonly object[] | undefined, secret: string, own: object) =>
    settings?.map((one) => ({ ...Object.fromEntries(Object.entries(one).filter(([key]) => key !== secret)), ...own }));
  return {
    ...config,
    time_intervals: [],
    receivers: config.receivers.map(({ name, pagerduty_configs: pager, slack_configs: chat }) => ({
      name,
      ...(pager && {
        pagerduty_configs: to(pager, 'routing_key_file', { routing_key: 'test', url: `${url}/pager` }),
      }),
      ...(chat && { slack_configs: to(chat, 'api_url_file', { api_url: `${url}/chat` }) }),
    })),
  };
}

interface Timed {
  readonly expr: string;
  readonly for?: string;
  readonly keep_firing_for?: string;
}

/** Returns the rules, evaluated each second, with seconds instead of minutes. Pending state survives a restart. */
function inSeconds(rules: string): object {
  const { groups } = parse(rules) as { groups: { rules: Timed[] }[] };
  // These durations are long enough for a busy machine, where runs are late and a killed daemon restarts slowly.
  const seconds: Readonly<Record<string, string>> = { '1m': '4s', '2m': '15s', '5m': '25s' };
  const held = (text: string) => seconds[text] ?? '30s';
  return {
    groups: groups.map((group) => ({
      ...group,
      interval: '1s',
      rules: group.rules.map((rule) => ({
        ...rule,
        expr: rule.expr.replaceAll(/\[(5|10)m\]/g, '[10s]').replaceAll(/\[(15m|30m|1h)\]/g, '[20s]'),
        ...(rule.for === undefined ? {} : { for: held(rule.for) }),
        ...(rule.keep_firing_for === undefined ? {} : { keep_firing_for: '20s' }),
      })),
    })),
  };
}

/** Starts a program that listens at a separate address; the test ends the program by its process id. */
async function aPart(
  program: string,
  argsFor: (address: string) => readonly string[],
): Promise<Part & { readonly url: string }> {
  const address = `127.0.0.1:${await freePort()}`;
  let child: ChildProcess;
  let closed: Promise<unknown>;
  const start = async (): Promise<void> => {
    child = spawn(program, argsFor(address), { stdio: 'ignore' });
    closed = new Promise((resolve) => child.once('close', resolve));
    await waitFor(async () => (await fetch(`http://${address}/-/ready`)).ok, { timeoutMs: 60_000 });
  };
  const kill = async (): Promise<void> => {
    if (child.exitCode === null) child.kill('SIGKILL');
    await closed;
  };
  onTestFinished(kill);
  await start();
  return { url: `http://${address}`, kill, restart: start };
}
