/** Runs the phases of the demo: healthy hours, then each incident with its alerts, diagnosis and fix. */
import type { SimulatedDaemon } from '../app/simulated-daemon.ts';
import { decimal, interval, minute, percentage } from '../core/format.ts';
import { ALL_SEGMENT } from '../core/model.ts';
import { topicName } from '../density/rules/uncovered-topic.ts';
import { minuteOf } from '../report/console/links.ts';
import {
  type AlertLog,
  type Elapsed,
  elapsedBetween,
  elapsedText,
  type RaisedAlert,
  type SummaryRow,
  severityLabel,
} from './alert-log.ts';
import { alertLabel, GOLDEN_SET, HEADLINE, PIPELINE } from './demo-config.ts';
import { type Output, printLabeled } from './output.ts';
import type { Scenario } from './scenarios.ts';
import type { World } from './world.ts';

interface Stage {
  readonly world: World;
  readonly log: AlertLog;
  readonly output: Output;
}

const EXAMPLES = 2;

/** Prints the largest uncovered topic. @returns one sentence per problem */
async function printTopic({ db }: SimulatedDaemon, output: Output): Promise<readonly string[]> {
  const { topics } = db.density;
  const [topic] = await topics.list({ pipeline: PIPELINE, states: ['open'], limit: 5 });
  if (topic === undefined) return ['no uncovered topic was found.'];
  const texts = await topics.texts(PIPELINE, topic.examples);
  const examples = topic.examples.slice(0, EXAMPLES).flatMap((id) => texts.get(id) ?? []);
  const { trafficShare, shareLow, shareHigh } = topic;
  const share = `${percentage(trafficShare)} of traffic (${interval(shareLow, shareHigh, 'share')})`;
  printLabeled(output, 'topic', `"${topicName(topic)}", ${share}: ${examples.join(' ')}`);
  return [];
}

/** Prints the live hit rate and, for comparison, the golden score. @returns one sentence per problem */
async function printLiveHitRate(world: World, output: Output): Promise<readonly string[]> {
  const latest = await world.daemon.db.measurements.latest(world.now());
  const hits = latest.find(({ measure, segment }) => measure === 'live_hit_rate' && segment === ALL_SEGMENT)?.newest;
  const golden = await headline(world);
  if (hits == null || golden === null) return ['no live query was graded, or no golden run completed.'];
  const { value, ciLow, ciHigh, details } = hits;
  const bounds = ciLow === null || ciHigh === null ? '' : ` (${interval(ciLow, ciHigh, 'share')})`;
  printLabeled(
    output,
    'live',
    `${percentage(value)} of live queries got a document that contains the answer${bounds}; a model graded ${Number(details['model'])} queries, and people also graded ${Number(details['people'])} of them. Golden ${HEADLINE} is still ${golden}.`,
  );
  return [];
}

type Diagnosis = NonNullable<Awaited<ReturnType<SimulatedDaemon['db']['incidents']['current']>>>;

/**
 * @param alertsBefore number of alerts that had fired by the end of the previous fault
 * @param place position of the scenario, such as `1 of 7`
 * @returns a row of the summary, and one sentence per problem
 */
export async function runScenario(
  stage: Stage,
  scenario: Scenario,
  alertsBefore: number,
  place: string,
): Promise<{ readonly row: SummaryRow; readonly problems: readonly string[] }> {
  const { world, log, output } = stage;
  const { daemon } = world;
  await passHours(stage, scenario.leadHours, `${place}, `, 'healthy');
  const falseAlerts = log.raised.slice(alertsBefore).filter(({ isFalse }) => isFalse).length;
  const start = world.elapsed();
  const startedAt = world.now();
  output.print(`\n${output.styled('bold', `Incident ${place}: ${scenario.title}`)} (${minute(startedAt)} UTC)`);
  printLabeled(output, 'change', scenario.change);
  if (scenario.missing !== null) world.askAboutMissing(scenario.missing.gap, scenario.missing.share);
  if (scenario.name === 'isolation') world.leakOnce();
  world.setRewriterBroken(scenario.name === 'agent');
  await world.setFault(scenario.ragFault);

  const { raised } = await passHours(stage, scenario.faultHours, `${place}, `, 'broken');
  printAlerts(raised, start, output);
  const diagnosis = await daemon.db.incidents.current(PIPELINE);
  printLabeled(output, 'diagnosis', diagnosis?.summary ?? 'none', 'bold');
  const missing = [
    ...(scenario.name === 'topic' ? await printTopic(daemon, output) : []),
    ...(scenario.name === 'answers' ? await printLiveHitRate(world, output) : []),
  ];
  printLabeled(output, 'details', pageOf(world, scenario, diagnosis, startedAt));

  if (scenario.missing !== null) world.fill(scenario.missing.gap);
  world.setRewriterBroken(false);
  await world.setFault('none');
  const { quietAfter: resolvedAfter } = await passHours(
    stage,
    scenario.recoveryHours,
    `${place}, recovery, `,
    'recovering',
  );
  printLabeled(
    output,
    'fix',
    resolvedAfter === null
      ? `${scenario.fix} After ${scenario.recoveryHours} h, an alert is still firing.`
      : `${scenario.fix} All alerts resolved after ${resolvedAfter} h.`,
    resolvedAfter === null ? 'red' : 'green',
  );
  const [alert = null] = raised;
  return {
    row: {
      incident: scenario.title,
      alert: alert && {
        name: alertLabel(alert.name),
        severity: alert.severity,
        after: elapsedBetween(start, alert.elapsed),
      },
      cause: diagnosis?.cause ?? null,
      falseAlerts,
    },
    problems: [
      ...scenario.expectedAlerts
        .filter((name) => !raised.some((one) => one.name === name))
        .map((name) => `the alert "${name}" did not fire.`),
      ...causeProblems(scenario, diagnosis),
      ...missing,
      ...(resolvedAfter === null ? ['an alert is still firing after the fix.'] : []),
    ].map((problem) => `${scenario.title}: ${problem}`),
  };
}

/**
 * Passes simulated hours and records the alerts of each hour.
 *
 * @returns `raised`: the recorded alerts; `quietAfter`: hours until all alerts were resolved, null if an alert is still
 *   firing
 */
async function passHours(
  { world, log, output }: Stage,
  hours: number,
  prefix: string,
  phase: 'healthy' | 'broken' | 'recovering',
) {
  const raised: RaisedAlert[] = [];
  let quietAfter: number | null = null;
  for (let hour = 1; hour <= hours; hour += 1) {
    output.progress(`${prefix}hour ${hour} of ${hours}`);
    await world.passHour();
    const firing = await world.daemon.alerts(PIPELINE);
    // Alerts that the fault caused are not false alerts, even if they are still firing after the fix.
    const isHealthy = phase === 'healthy' || (phase === 'recovering' && quietAfter !== null);
    raised.push(...log.record(firing, world.elapsed(), isHealthy));
    quietAfter = firing.length > 0 ? null : (quietAfter ?? hour);
  }
  output.progress(null);
  return { raised, quietAfter };
}

function printAlerts(raised: readonly RaisedAlert[], start: Elapsed, output: Output): void {
  if (raised.length === 0) printLabeled(output, 'alerts', 'none', 'red');
  for (const { name, severity, text, elapsed } of raised) {
    const line = `${alertLabel(name)}, detected after ${elapsedText(elapsedBetween(start, elapsed))}. ${text}`;
    printLabeled(output, severityLabel(severity), line.trimEnd(), severity === 'critical' ? 'red' : 'yellow');
  }
}

function causeProblems({ cause }: Scenario, diagnosis: Diagnosis | null): string[] {
  if (diagnosis === null) return ['the alert was not diagnosed.'];
  return diagnosis.cause === cause ? [] : [`the diagnosis is ${diagnosis.cause}, not ${cause}.`];
}

function pageOf(world: World, { page }: Scenario, diagnosis: Diagnosis | null, from: Date): string {
  const { url } = world.daemon;
  if (page === 'run' && diagnosis?.runId != null) return `${url}/runs/${diagnosis.runId}`;
  if (page === 'overview') return `${url}/pipelines/${PIPELINE}`;
  const range = new URLSearchParams({ from: minuteOf(from), until: minuteOf(world.now()) });
  return `${url}/pipelines/${PIPELINE}/${page === 'traffic' ? 'traffic' : 'density'}?${range.toString()}`;
}

/** Runs the healthy hours before the first incident. @returns one sentence per problem */
export async function runHealthyHours(stage: Stage, hours: number): Promise<readonly string[]> {
  const { world, log, output } = stage;
  output.print(`\n${output.styled('bold', 'Healthy baseline')} (${hours} simulated hours)`);
  await passHours(stage, hours, '', 'healthy');
  const { goldenRuns, liveQueries } = world.elapsed();
  const [score, baseline] = await Promise.all([headline(world), baselineSessions(world)]);
  printLabeled(output, 'golden', `${goldenRuns} runs; ${HEADLINE} ${score ?? 'has no value'}`);
  printLabeled(
    output,
    'live',
    `${liveQueries} queries; ${baseline === null ? 'the query density baseline is still too small for density alerts to page' : `the first ${baseline} sessions are the baseline of query density`}`,
  );
  const alerts = log.raised.map(({ name }) => name);
  printLabeled(output, 'alerts', alerts.length === 0 ? 'none' : alerts.join(', '));
  return [
    ...(score === null ? [`no golden run has ${HEADLINE}.`] : []),
    ...(baseline === null ? ['the query density baseline is too small for density alerts to page.'] : []),
    ...alerts.map((name) => `the alert "${name}" fired while nothing was wrong.`),
  ];
}

/** Returns the score of the latest golden run with its confidence interval. */
async function headline({ daemon }: World): Promise<string | null> {
  const found = (await daemon.db.golden.runs.latest()).find(({ goldenSet }) => goldenSet === GOLDEN_SET);
  const score = found?.completed?.scores.find(
    ({ segment, measure, k }) => segment === ALL_SEGMENT && `${measure}@${k}` === HEADLINE,
  );
  return score === undefined ? null : `${decimal(score.mean)} (${interval(score.ciLow, score.ciHigh)})`;
}

async function baselineSessions({ daemon }: World): Promise<number | null> {
  const phase = (await daemon.db.density.watch.find(PIPELINE))?.state.phase;
  return phase?.kind === 'watching' && phase.grade === 'page' ? phase.sessions : null;
}
