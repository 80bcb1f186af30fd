/** The parts of the story: healthy hours; and each fault, which comes, raises alarms, is diagnosed and mended. */
import type { SimulatedDaemon } from '../app/simulated-daemon.ts';
import { decimal, interval, percentage } from '../core/format.ts';
import { ALL_SEGMENT } from '../core/model.ts';
import { topicName, type UncoveredTopic } from '../density/rules/uncovered-topic.ts';
import { minuteOf } from '../report/console/links.ts';
import { type AlertLog, type RaisedAlert, seenSince, seenText } from './alert-log.ts';
import type { Chapter } from './chapters.ts';
import { alertLabel, GOLDEN_SET, HEADLINE, PIPELINE } from './demo-config.ts';
import { type Output, reportPart } from './output.ts';
import type { World } from './world.ts';

/** What a part of the story plays in. */
interface Scene {
  readonly world: World;
  readonly log: AlertLog;
  readonly output: Output;
}

/** Shown of the uncovered topic. */
const EXAMPLES = 2;

/** The largest uncovered topic, as the daemon found it. @returns what did not happen */
async function reportTopic({ db }: SimulatedDaemon, output: Output): Promise<readonly string[]> {
  const { topics } = db.density;
  const [topic] = await topics.list({ pipeline: PIPELINE, states: ['open'], limit: 5 });
  if (topic === undefined) return ['no uncovered topic was found.'];
  const texts = await topics.texts(PIPELINE, topic.examples);
  const asked = topic.examples.slice(0, EXAMPLES).flatMap((id) => texts.get(id) ?? []);
  reportPart(output, 'topic', `"${topicName(topic)}", ${shareText(topic)}: ${asked.join(' ')}`);
  return [];
}

function shareText({ trafficShare, shareLow, shareHigh }: UncoveredTopic): string {
  return `${percentage(trafficShare)} of the traffic (${interval(shareLow, shareHigh, 'share')})`;
}

/** What the judged live queries come to, beside the golden run. @returns what did not happen */
async function reportJudged(world: World, output: Output): Promise<readonly string[]> {
  const latest = await world.daemon.db.measurements.latest(world.now());
  const hits = latest.find(({ measure, segment }) => measure === 'live_hit_rate' && segment === ALL_SEGMENT)?.newest;
  const golden = await headline(world);
  if (hits == null || golden === null) return ['no live query was judged, or no golden one answered.'];
  const { value, ciLow, ciHigh, details } = hits;
  const bounds = ciLow === null || ciHigh === null ? '' : ` (${interval(ciLow, ciHigh)})`;
  reportPart(
    output,
    'judged',
    `${percentage(value)} of live queries got an answer${bounds}; a model graded ${Number(details['model'])} of them, people ${Number(details['people'])} again. Golden ${HEADLINE} is ${golden}.`,
  );
  return [];
}

type Diagnosis = NonNullable<Awaited<ReturnType<World['daemon']['db']['incidents']['current']>>>;

/**
 * @param before how many alarms were raised up to the end of the fault before
 * @param place of the chapter in the story, such as `1 of 6`
 */
export async function reportChapter(scene: Scene, chapter: Chapter, before: number, place: string) {
  const { world, log, output } = scene;
  const { daemon } = world;
  await pass(scene, chapter.leadHours, `${place}, `, async () => {
    log.look(await daemon.alerts(PIPELINE), world.seen(), true);
  });
  const falseBefore = log.raised.slice(before).filter(({ isFalse }) => isFalse).length;
  const start = world.seen();
  const startedAt = world.now();
  output.print(`\n${output.styled('bold', `${place}  ${chapter.happens}`)}`);
  if (chapter.missing !== null) world.askAboutMissing(chapter.missing.gap, chapter.missing.share);
  await world.setFault(chapter.ragFault);

  const raised: RaisedAlert[] = [];
  await pass(scene, chapter.faultHours, `${place}, `, async () => {
    raised.push(...log.look(await daemon.alerts(PIPELINE), world.seen(), false));
  });
  reportAlerts(raised, start, output);
  const diagnosis = await daemon.db.incidents.current(PIPELINE);
  reportPart(output, 'diagnosis', diagnosis?.summary ?? 'none', 'bold');
  const shown = [
    ...(chapter.name === 'topic' ? await reportTopic(daemon, output) : []),
    ...(chapter.name === 'answers' ? await reportJudged(world, output) : []),
  ];
  reportPart(output, 'look', linkOf(world, chapter, diagnosis, startedAt));

  if (chapter.missing !== null) world.fill(chapter.missing.gap);
  await world.setFault('none');
  const wellAfter = await recover(scene, chapter, place);
  reportPart(
    output,
    'mended',
    wellAfter === null
      ? `${chapter.mended} ${chapter.recoveryHours} hours later something is still in alarm.`
      : `${chapter.mended} Nothing is in alarm any more after ${wellAfter} h.`,
    wellAfter === null ? 'red' : 'green',
  );
  const [alert = null] = raised;
  return {
    row: {
      fault: chapter.short,
      alert: alert === null ? null : { name: alertLabel(alert.name), severity: alert.severity },
      detectedAfter: alert === null ? null : seenSince(start, alert.seen),
      cause: diagnosis?.cause ?? null,
      falseAlerts: falseBefore,
    },

    /** What did not happen as it should, one sentence each. */
    problems: [
      ...chapter.mustFire
        .filter((name) => !raised.some((one) => one.name === name))
        .map((name) => `"${name}" was not raised.`),
      ...causeProblems(chapter, diagnosis),
      ...shown,
      ...(wellAfter === null ? ['it was mended, and something is still in alarm.'] : []),
    ].map((problem) => `${chapter.short}: ${problem}`),
  };
}

async function pass({ world, output }: Scene, hours: number, what: string, look: () => Promise<void>): Promise<void> {
  for (let hour = 1; hour <= hours; hour += 1) {
    output.progress(`${what}hour ${hour} of ${hours}`);
    await world.passHour();
    await look();
  }
  output.progress(null);
}

function reportAlerts(raised: readonly RaisedAlert[], start: Parameters<typeof seenSince>[0], output: Output): void {
  if (raised.length === 0) reportPart(output, 'alert', 'none', 'red');
  for (const { name, severity, text, seen } of raised) {
    const told = `${alertLabel(name)} after ${seenText(seenSince(start, seen))}. ${text}`;
    reportPart(output, severity, told.trimEnd(), severity === 'critical' ? 'red' : 'yellow');
  }
}

function causeProblems({ cause }: Chapter, diagnosis: Diagnosis | null): string[] {
  if (diagnosis === null) return ['it was not diagnosed.'];
  return diagnosis.cause === cause ? [] : [`the diagnosis is ${diagnosis.cause}, not ${cause}.`];
}

/** @returns after how many hours nothing was in alarm, null when something still is */
async function recover(scene: Scene, chapter: Chapter, place: string): Promise<number | null> {
  const { world, log } = scene;
  let wellAfter: number | null = null;
  let hours = 0;
  await pass(scene, chapter.recoveryHours, `${place}, mended, `, async () => {
    hours += 1;
    const open = await world.daemon.alerts(PIPELINE);
    // What a fault leaves behind is not false.
    log.look(open, world.seen(), wellAfter !== null);
    if (open.length > 0) wellAfter = null;
    else wellAfter ??= hours;
  });
  return wellAfter;
}

/** The page that shows it, over the time of the fault. */
function linkOf(world: World, { page }: Chapter, diagnosis: Diagnosis | null, from: Date): string {
  const { url } = world.daemon;
  if (page === 'run' && diagnosis?.runId != null) return `${url}/runs/${diagnosis.runId}`;
  if (page === 'overview') return `${url}/pipelines/${PIPELINE}`;
  const span = new URLSearchParams({ from: minuteOf(from), until: minuteOf(world.now()) });
  return `${url}/pipelines/${PIPELINE}/density?${span.toString()}`;
}

/** @returns what did not happen as it should */
export async function reportHealthy(scene: Scene, hours: number): Promise<readonly string[]> {
  const { world, log, output } = scene;
  output.print(`\n${output.styled('bold', 'Healthy.')} ${hours} hours pass in a moment.`);
  await pass(scene, hours, '', async () => {
    log.look(await world.daemon.alerts(PIPELINE), world.seen(), true);
  });
  const { goldenRuns, liveQueries } = world.seen();
  const [score, baseline] = await Promise.all([headline(world), baselineSessions(world)]);
  reportPart(output, 'golden', `${goldenRuns} runs; ${HEADLINE} ${score ?? 'has no value'}`);
  reportPart(
    output,
    'live',
    `${liveQueries} queries; the first ${baseline ?? 'no'} sessions are the baseline of query density`,
  );
  const alerts = log.raised.map(({ name }) => name);
  reportPart(output, 'alerts', alerts.length === 0 ? 'none' : alerts.join(', '));
  return [
    ...(score === null ? [`no golden run has ${HEADLINE}.`] : []),
    ...(baseline === null ? ['query density has no baseline that is good for pages.'] : []),
    ...alerts.map((name) => `"${name}" was in alarm while nothing was wrong.`),
  ];
}

/** Of the latest golden run. */
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
