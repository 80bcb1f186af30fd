/** The healthy part of the story: a baseline of live traffic is learnt, and nothing comes to be in alarm. */
import { ALL_SEGMENT } from '../model.ts';
import type { AlarmLog } from './alarm-log.ts';
import { GOLDEN_SET, HEADLINE, PIPELINE } from './demo-config.ts';
import { type Stage, tellPart } from './stage.ts';
import type { World } from './world.ts';

/** @returns what did not happen as it should */
export async function tellHealthy(
  world: World,
  hours: number,
  log: AlarmLog,
  stage: Stage,
): Promise<readonly string[]> {
  stage.tell(`\n${stage.styled('bold', 'Healthy.')} ${hours} hours pass in a moment.`);
  for (let hour = 1; hour <= hours; hour += 1) {
    stage.progress(`hour ${hour} of ${hours}`);
    await world.passHour();
    log.look(await world.lapse.alarms(PIPELINE), world.seen(), null);
  }
  stage.progress(null);
  const { goldenRuns, liveQueries } = world.seen();
  const [score, baseline] = await Promise.all([headline(world), baselineSessions(world)]);
  tellPart(stage, 'golden', `${goldenRuns} runs; ${HEADLINE} ${score ?? 'has no value'}`);
  tellPart(
    stage,
    'live',
    `${liveQueries} queries; the first ${baseline ?? 'no'} sessions are the baseline of query density`,
  );
  const alarms = log.raised.map(({ name }) => name);
  tellPart(stage, 'alarms', alarms.length === 0 ? 'none' : alarms.join(', '));
  return [
    ...(score === null ? [`no golden run has ${HEADLINE}.`] : []),
    ...(baseline === null ? ['query density has no baseline that is good for pages.'] : []),
    ...alarms.map((name) => `"${name}" was in alarm while nothing was wrong.`),
  ];
}

/** Of the latest golden run. */
async function headline({ lapse }: World): Promise<string | null> {
  const found = (await lapse.runs.latest()).find(({ goldenSet }) => goldenSet === GOLDEN_SET);
  const score = found?.completed?.scores.find(
    ({ segment, measure, k }) => segment === ALL_SEGMENT && `${measure}@${k}` === HEADLINE,
  );
  return score === undefined
    ? null
    : `${score.mean.toFixed(2)} (95 % ${score.ciLow.toFixed(2)} to ${score.ciHigh.toFixed(2)})`;
}

async function baselineSessions({ lapse }: World): Promise<number | null> {
  const phase = (await lapse.densityStates.find(PIPELINE))?.state.phase;
  return phase?.kind === 'watching' && phase.grade === 'page' ? phase.sessions : null;
}
