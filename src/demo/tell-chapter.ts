/** One fault of the story: it comes, alarms are raised, the daemon says what is behind them, it is mended. */
import { type AlarmLog, type RaisedAlarm, seenSince } from './alarm-log.ts';
import type { Chapter } from './chapters.ts';
import { type ClosingRow, falseAlarmsIn, seenText } from './closing-table.ts';
import { alarmLabel, PIPELINE } from './demo-config.ts';
import { type Stage, tellPart } from './stage.ts';
import { tellTopic } from './tell-topic.ts';
import type { World } from './world.ts';

export interface ChapterTold {
  readonly row: ClosingRow;
  /** What did not happen as it should, one sentence each. */
  readonly problems: readonly string[];
}

type Diagnosis = NonNullable<Awaited<ReturnType<World['lapse']['diagnoses']['current']>>>;

/**
 * @param before how many alarms were raised up to the end of the fault before
 * @param place of the chapter in the story, such as `1 of 6`
 */
export async function tellChapter(
  world: World,
  log: AlarmLog,
  chapter: Chapter,
  before: number,
  place: string,
  stage: Stage,
): Promise<ChapterTold> {
  const { lapse } = world;
  await pass(world, chapter.leadHours, stage, place, async () => {
    log.look(await lapse.alarms(PIPELINE), world.seen(), null);
  });
  const falseBefore = falseAlarmsIn(log.raised.slice(before));
  const start = world.seen();
  const startedAt = world.now();
  stage.tell(`\n${stage.styled('bold', `${place}  ${chapter.happens}`)}`);
  if (chapter.missingShare !== null) world.askAboutMissing(chapter.missingShare);
  await world.setFault(chapter.ragFault);

  const raised: RaisedAlarm[] = [];
  await pass(world, chapter.faultHours, stage, place, async () => {
    raised.push(...log.look(await lapse.alarms(PIPELINE), world.seen(), chapter));
  });
  tellAlarms(raised, start, stage);
  const diagnosis = await lapse.diagnoses.current(PIPELINE);
  tellPart(stage, 'diagnosis', diagnosis?.summary ?? 'none', 'bold');
  const topicProblems = chapter.name === 'topic' ? await tellTopic(lapse, stage) : [];
  tellPart(stage, 'look', linkOf(world, chapter, diagnosis, startedAt));

  if (chapter.bringsArticle) world.bringArticle();
  await world.setFault('none');
  const wellAfter = await recover(world, log, chapter, place, stage);
  tellPart(
    stage,
    'mended',
    wellAfter === null
      ? `${chapter.mended} ${chapter.recoveryHours} hours later something is still in alarm.`
      : `${chapter.mended} Nothing is in alarm any more after ${wellAfter} h.`,
    wellAfter === null ? 'red' : 'green',
  );
  const own = raised.filter(({ isFalse }) => !isFalse);
  const [alarm = null] = own;
  return {
    row: {
      fault: chapter.short,
      alarm: alarm === null ? null : { name: alarmLabel(alarm.name), severity: alarm.severity },
      detectedAfter: alarm === null ? null : seenSince(start, alarm.seen),
      cause: diagnosis?.cause ?? null,
      falseAlarms: falseBefore,
    },
    problems: [
      ...chapter.mustFire
        .filter((name) => !own.some((one) => one.name === name))
        .map((name) => `"${name}" was not raised.`),
      ...causeProblems(chapter, diagnosis),
      ...topicProblems,
      ...(wellAfter === null ? ['it was mended, and something is still in alarm.'] : []),
    ].map((problem) => `${chapter.short}: ${problem}`),
  };
}

async function pass(
  world: World,
  hours: number,
  { progress }: Stage,
  what: string,
  look: () => Promise<void>,
): Promise<void> {
  for (let hour = 1; hour <= hours; hour += 1) {
    progress(`${what}, hour ${hour} of ${hours}`);
    await world.passHour();
    await look();
  }
  progress(null);
}

function tellAlarms(
  raised: readonly RaisedAlarm[],
  start: Parameters<typeof seenSince>[0],
  stage: Stage,
): void {
  if (raised.length === 0) tellPart(stage, 'alarm', 'none', 'red');
  for (const { name, severity, explanation, seen } of raised) {
    const text = `${alarmLabel(name)} after ${seenText(seenSince(start, seen))}. ${explanation ?? ''}`;
    tellPart(stage, severity, text.trimEnd(), severity === 'critical' ? 'red' : 'yellow');
  }
}

function causeProblems({ cause }: Chapter, diagnosis: Diagnosis | null): string[] {
  if (diagnosis === null) return ['it was not diagnosed.'];
  return diagnosis.cause === cause ? [] : [`the diagnosis is ${diagnosis.cause}, not ${cause}.`];
}

/** @returns after how many hours nothing was in alarm, null when something still is */
async function recover(
  world: World,
  log: AlarmLog,
  chapter: Chapter,
  place: string,
  stage: Stage,
): Promise<number | null> {
  let wellAfter: number | null = null;
  let hours = 0;
  await pass(world, chapter.recoveryHours, stage, `${place}, mended`, async () => {
    hours += 1;
    const open = await world.lapse.alarms(PIPELINE);
    // What a fault leaves behind is not false.
    log.look(open, world.seen(), wellAfter === null ? chapter : null);
    if (open.length > 0) wellAfter = null;
    else wellAfter ??= hours;
  });
  return wellAfter;
}

/** The page that shows it, over the time of the fault. */
function linkOf(world: World, { page }: Chapter, diagnosis: Diagnosis | null, from: Date): string {
  const { url } = world.lapse;
  if (page === 'run' && diagnosis?.runId != null) return `${url}/runs/${diagnosis.runId}`;
  const span = new URLSearchParams({ from: minuteOf(from), until: minuteOf(world.now()) });
  return `${url}/pipelines/${PIPELINE}/density?${span.toString()}`;
}

function minuteOf(at: Date): string {
  return at.toISOString().slice(0, 16);
}
