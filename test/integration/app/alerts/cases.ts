/** The cases that test every alert, derived from the alert's fixture. */
import type { AlertRule } from '../../../../src/platform/metrics/alert-rules.ts';
import { inputSeries, type RuleTest, type Signal, selectorOf, signal } from '../../../support/promtool.ts';
import { type AlertFixture, both } from './fixture.ts';
import { alive, foreign, rotation } from './signals.ts';

/** Signals of the case, each with the replica that exports it. */
type World = readonly { readonly signal: Signal; readonly instance: string }[];

export interface AlertUnderTest extends AlertFixture {
  readonly severity: string;
  readonly annotations: Readonly<Record<string, string>>;
  readonly silentWhile: AlertRule['silentWhile'];
}

export const caseNames = [
  'fires',
  'does not fire',
  'does not fire without series, unless it detects missing series',
  'does not fire when healthy series go stale, unless it detects missing series',
  'resolves after the breaching series go stale',
  'keeps firing when one of two replicas goes down',
  'does not fire when one of two replicas goes down',
  'does not fire when a new version of the golden set takes over',
  'keeps firing through a restart',
  'does not fire during a restart',
  'fires even if another deployment is healthy',
  'does not fire while a page reports the same problem',
  'fires even if another deployment has such a page',
  'is silenced with its pipeline, unless it is about recalld itself',
  'fires even if its pipeline is silenced in another deployment',
] as const;

export type CaseName = (typeof caseNames)[number];

/** Returns the case as a promtool test. */
export function aCase(fixture: AlertUnderTest, name: CaseName): RuleTest {
  const { minutes = 60, step = 1 } = fixture;
  const cut = minutes - 15;
  const breaching = () => worldOf(fixture.breaching, fixture.replicas ?? both, isBlind(fixture));
  const healthy = () => worldOf(fixture.healthy, both, false);
  switch (name) {
    case 'fires':
      return playing(fixture, name, breaching(), minutes, fires(fixture, minutes));
    case 'does not fire':
      return playing(fixture, name, healthy(), minutes, never(fixture, minutes));
    case 'does not fire without series, unless it detects missing series':
      return playing(fixture, name, [], minutes, unseen(fixture, minutes));
    case 'does not fire when healthy series go stale, unless it detects missing series':
      return playing(fixture, name, ending(healthy(), cut, both), minutes, unseen(fixture, minutes));
    case 'resolves after the breaching series go stale':
      return playing(fixture, name, ending(breaching(), cut, both), minutes, over(fixture, minutes + 480));
    case 'keeps firing when one of two replicas goes down':
      return playing(fixture, name, ending(breaching(), cut, [both[1]]), minutes, throughout(fixture, minutes, step));
    case 'does not fire when one of two replicas goes down':
      return playing(fixture, name, ending(healthy(), cut, [both[1]]), minutes, never(fixture, minutes));
    case 'does not fire when a new version of the golden set takes over':
      return playing(fixture, name, [...healthy(), ...worldOf(rotation, both, true)], minutes, never(fixture, minutes));
    case 'keeps firing through a restart':
      return playing(fixture, name, restarting(breaching(), cut, step), minutes, throughout(fixture, minutes, step));
    case 'does not fire during a restart':
      return playing(fixture, name, restarting(healthy(), cut, step), minutes, never(fixture, minutes));
    case 'fires even if another deployment is healthy':
      return playing(fixture, name, [...breaching(), ...elsewhere(healthy())], minutes, fires(fixture, minutes));
    case 'does not fire while a page reports the same problem':
      return playing(fixture, name, [...breaching(), ...pagesOf(fixture)], minutes, never(fixture, minutes));
    case 'fires even if another deployment has such a page':
      return playing(fixture, name, [...breaching(), ...elsewhere(pagesOf(fixture))], minutes, fires(fixture, minutes));
    case 'is silenced with its pipeline, unless it is about recalld itself':
      return playing(
        fixture,
        name,
        [...breaching(), ...silenceOf(fixture)],
        minutes,
        'diagnosis' in fixture.annotations ? never(fixture, minutes) : fires(fixture, minutes),
      );
    case 'fires even if its pipeline is silenced in another deployment':
      return playing(
        fixture,
        name,
        [...breaching(), ...elsewhere(silenceOf(fixture))],
        minutes,
        fires(fixture, minutes),
      );
  }
}

/** Cases that do not apply to an alert, each with the reason. */
export const inapplicable: Readonly<Record<string, Partial<Record<CaseName, string>>>> = {
  RecalldReplicaDown: {
    'keeps firing when one of two replicas goes down': 'the other replica is down already',
    'does not fire when one of two replicas goes down': 'that is what it is about',
  },
  RecalldWatchdog: {
    'does not fire': 'it always fires',
    'does not fire when one of two replicas goes down': 'it always fires',
    'does not fire when a new version of the golden set takes over': 'it always fires',
    'does not fire during a restart': 'it always fires',
  },
};

function isBlind({ alert }: AlertFixture): boolean {
  return alert === 'RecalldAbsent';
}

/** Returns the signals of these replicas, and, unless `bare`, the metrics that every running daemon exports. */
function worldOf(signals: readonly Signal[], replicas: readonly string[], bare: boolean): World {
  const key = ({ signal, instance }: World[number]) => `${instance} ${signal.name}${selectorOf(signal.labels)}`;
  const background = bare ? [] : both.flatMap((instance) => alive.map((signal) => ({ signal, instance })));
  const own = replicas.flatMap((instance) => signals.map((signal) => ({ signal, instance })));
  return [...new Map([...background, ...own].map((each) => [key(each), each])).values()];
}

/** Returns the same signals as if another deployment in the same Prometheus exported them. */
function elsewhere(world: World): World {
  return world.map(({ signal, instance }) => ({
    instance: `other-${instance}`,
    signal: { ...signal, labels: { ...signal.labels, job: 'staging' } },
  }));
}

function silenceOf({ labels }: AlertUnderTest): World {
  return worldOf([signal('recalld_silenced', { pipeline: labels['pipeline'] ?? 'docs' }, () => 1)], ['quiet'], true);
}

/** Returns a firing alert that suppresses the alert under test, with the labels that both share. */
function pagesOf({ silentWhile, labels }: AlertUnderTest): World {
  if (silentWhile === undefined) return [];
  const [alertname = ''] = silentWhile.alerts;
  const about = Object.fromEntries(silentWhile.on.map((label) => [label, labels[label] ?? '']));
  const page = { alertname, alertstate: 'firing', ...about };
  return worldOf([foreign('ALERTS', () => 1, page)], ['ruler'], true);
}

function ending(world: World, end: number, replicas: readonly string[]): World {
  return world.map(({ signal, instance }) => {
    if (!replicas.includes(instance)) return { signal, instance };
    const afterwards = signal.name === 'up' && replicas.length === 1 ? 0 : 'stale';
    return {
      instance,
      signal: { ...signal, at: (minute) => (minute < end ? signal.at(minute) : afterwards) },
    };
  });
}

/** All replicas restart at once: a scrape is missed, and counters restart at 0. */
function restarting(world: World, at: number, step: number): World {
  return world.map(({ signal, instance }) => ({
    instance,
    signal: {
      ...signal,
      at: (minute) => {
        const value = signal.at(minute);
        if (minute < at || value === null || value === 'stale') return value;
        if (minute < at + Math.max(2, step)) return signal.name === 'up' ? 0 : 'stale';
        const before = signal.at(at);
        return signal.isCounter && typeof before === 'number' ? value - before : value;
      },
    },
  }));
}

function playing(
  fixture: AlertFixture,
  name: CaseName,
  world: World,
  minutes: number,
  expected: Pick<RuleTest, 'promql_expr_test' | 'alert_rule_test'>,
): RuleTest {
  const step = fixture.step ?? 1;
  return {
    name: `${fixture.alert} ${name}`,
    interval: `${step}m`,
    input_series: world.map(({ signal, instance }) => inputSeries(signal, instance, { minutes, step })),
    ...expected,
  };
}

/** Expects that the alert fires once at the end, with the labels and annotations of the fixture. */
function fires(fixture: AlertUnderTest, minutes: number): Pick<RuleTest, 'alert_rule_test'> {
  const { alert, severity, labels, annotations } = fixture;
  const alerts = [{ exp_labels: { severity, ...labels }, exp_annotations: annotations }];
  return { alert_rule_test: [{ eval_time: `${minutes}m`, alertname: alert, exp_alerts: alerts }] };
}

function firing({ alert }: AlertFixture): string {
  return `ALERTS{alertname="${alert}", alertstate="firing"}`;
}

/** Expects that an alert without series never fires, unless the alert detects missing series. */
function unseen(fixture: AlertUnderTest, minutes: number): Pick<RuleTest, 'promql_expr_test'> {
  return fixture.firesWithoutSeries === true ? atTheEnd(fixture, minutes) : never(fixture, minutes);
}

function atTheEnd(fixture: AlertUnderTest, minutes: number): Pick<RuleTest, 'promql_expr_test'> {
  const expr = `count by (alertname) (${firing(fixture)})`;
  const labels = selectorOf({ alertname: fixture.alert });
  return { promql_expr_test: [{ expr, eval_time: `${minutes}m`, exp_samples: [{ labels, value: 1 }] }] };
}

/** Expects that the alert has not fired at any time. */
function never(fixture: AlertUnderTest, minutes: number): Pick<RuleTest, 'promql_expr_test'> {
  const expr = `count_over_time(${firing(fixture)}[30d])`;
  return { promql_expr_test: [{ expr, eval_time: `${minutes}m`, exp_samples: [] }] };
}

/** Expects that the alert no longer fires, unless it fires without series. */
function over(fixture: AlertUnderTest, minutes: number): Pick<RuleTest, 'promql_expr_test'> {
  if (fixture.firesWithoutSeries === true) return atTheEnd(fixture, minutes);
  return { promql_expr_test: [{ expr: firing(fixture), eval_time: `${minutes}m`, exp_samples: [] }] };
}

/** Expects that the alert fires at each evaluation of the last 16 minutes, with the same labels. */
function throughout(fixture: AlertUnderTest, minutes: number, step: number): Pick<RuleTest, 'promql_expr_test'> {
  const labels = {
    alertname: fixture.alert,
    alertstate: 'firing',
    severity: fixture.severity,
    ...fixture.labels,
  };
  return {
    promql_expr_test: [
      {
        // One second less than 16 minutes, because Prometheus 2 includes a sample at the start of a range and
        // Prometheus 3 does not.
        expr: `count_over_time(${firing(fixture)}[959s])`,
        eval_time: `${minutes}m`,
        exp_samples: [{ labels: selectorOf(labels), value: Math.ceil(16 / step) }],
      },
    ],
  };
}
