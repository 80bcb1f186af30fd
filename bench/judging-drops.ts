/**
 * Measures how soon a drop in judged live relevance is reported, how often human judgments confirm or reject it, how
 * often a false drop is reported, and whether a drifting judge is distinguished from a worse retriever.
 *
 *     npx tsx bench/judging-drops.ts [--quick] [--scale N] [--seed N] [--out FILE]
 *
 * `--scale 4` simulates four times as many streams. The rule was tuned on the streams of the default seed; the page
 * also contains the results of the rule with another seed: `--scale 0.4 --seed 20261213 --out
 * bench/results/judging-drops-unseen.json`.
 */
import { pathToFileURL } from 'node:url';
import { type RateWithBounds, rateWithBounds, type ShareWithBounds, shareWithBounds } from './bounds.ts';
import { playStream, type StreamDay, type StreamSettings } from './judging/stream.ts';
import { createWorld, type Fault, noiseFor, type World, type WorldSettings } from './judging/world.ts';
import { type RandomNumbers, randomNumbers } from './random-numbers.ts';
import { commandOf, type Provenance, provenance, readArguments, writeResult } from './result-file.ts';

export interface QuietCell {
  readonly unrest: string;
  readonly streams: number;
  readonly calls: RateWithBounds;
  readonly confirmed: RateWithBounds;
  readonly judge: RateWithBounds;
}

export interface ChangeCell {
  readonly change: string;
  readonly unrest: string;
  readonly streams: number;
  /** Share of streams in which a drop was reported within three days. */
  readonly called: ShareWithBounds;
  /** Share of streams in which human judgments confirmed or rejected the drop within ten days. */
  readonly confirmed: ShareWithBounds;
  readonly takenBack: ShareWithBounds;
  /** Share of streams in which a change of the judge was reported within three days. */
  readonly judge: ShareWithBounds;
  /** Share of streams in which a drop was reported at any time. */
  readonly everCalled: ShareWithBounds;
}

export interface DropsResult {
  readonly provenance: Provenance;
  readonly kappa: number;
  readonly drop: number;
  readonly model: number;
  readonly people: number;
  readonly quiet: readonly QuietCell[];
  readonly changed: readonly ChangeCell[];
}

const SEED = 20_261_201;
const KAPPA = 0.6;
const DROP = 0.1;
const BUDGET = { model: 200, people: 20 };
const POOL = 12_000;
/** Number of days before the change; they fill the panel and provide six weeks for comparison. */
const BEFORE = 44;
/** Number of days after the change. */
const AFTER = 12;
const DRIFT = 0.2;

const unrests = {
  none: () => () => 0,
  /** Sessions with poor results are more frequent on weekends, and their share varies from day to day. */
  'weekends and days': (random: RandomNumbers) => {
    const days = Array.from({ length: 500 }, () => Math.abs(random.normal()));
    return (day: number) => 0.03 * (days[day] ?? 0) + (day % 7 >= 5 ? 0.04 : 0);
  },
} as const;

interface DropsSettings {
  readonly quick: boolean;
  readonly scale: number;
  /** Null means the seed on which the rule was tuned. */
  readonly seed: number | null;
}

export function measureDrops({ quick, scale, seed }: DropsSettings, say: (line: string) => void): DropsResult {
  const startedAt = performance.now();
  const random = randomNumbers(seed ?? SEED);
  const noise = noiseFor({ bias: 0, kappa: KAPPA }, random);
  const pool = quick ? 1500 : POOL;
  const worldOf = (settings: Partial<WorldSettings>): World =>
    createWorld({ bias: 0, noise, ...settings }, pool, random);
  const usual = worldOf({});
  const restless = worldOf({ fault: 'content' });
  const base = { budget: BUDGET, noise, usual, restless, faulty: null, share: () => 0, drift: () => 0, drifted: null };
  const play = (settings: Partial<StreamSettings>, unrest: keyof typeof unrests, days: number): StreamDay[] =>
    playStream({ ...base, unrest: unrests[unrest](random), days, ...settings }, random);

  const years = quick ? 1 : Math.round(60 * scale);
  const quiet = (Object.keys(unrests) as (keyof typeof unrests)[]).map((unrest): QuietCell => {
    const days = quick ? 60 : 365 + BEFORE;
    const streams = Array.from({ length: years }, () => play({}, unrest, days));
    const watched = (years * (days - BEFORE)) / 365;
    const count = (is: (one: StreamDay) => boolean): RateWithBounds =>
      rateWithBounds(
        streams.reduce((sum, stream) => sum + episodes(stream, is), 0),
        watched,
      );
    const cell = {
      unrest,
      streams: years,
      calls: count(isCalled),
      confirmed: count(({ state }) => state === 'confirmed'),
      judge: count(({ judge }) => judge === 'changed'),
    };
    say(
      `quiet, ${unrest}: ${cell.calls.count} calls, ${cell.confirmed.count} confirmed, ${cell.judge.count} of the judge`,
    );
    return cell;
  });

  const streams = quick ? 2 : Math.round(200 * scale);
  const measure = (change: string, unrest: keyof typeof unrests, settings: Partial<StreamSettings>): ChangeCell => {
    const played = Array.from({ length: streams }, () => play(settings, unrest, BEFORE + AFTER));
    const share = (within: number, is: (one: StreamDay) => boolean): ShareWithBounds =>
      shareWithBounds(
        played.filter((stream) => stream.some((one) => one.day > BEFORE && one.day <= BEFORE + within && is(one)))
          .length,
        streams,
      );
    const cell = {
      change,
      unrest,
      streams,
      called: share(3, isCalled),
      confirmed: share(10, ({ state }) => state === 'confirmed'),
      takenBack: share(10, ({ state }) => state === 'rejected'),
      judge: shareWithBounds(
        played.filter((stream) =>
          stream.some(({ day, judge }) => day >= BEFORE && day <= BEFORE + 3 && judge === 'changed'),
        ).length,
        streams,
      ),
      everCalled: share(AFTER, isCalled),
    };
    say(
      `${change}, ${unrest}: called ${inWords(cell.called)}, confirmed ${inWords(cell.confirmed)}, taken back ${inWords(cell.takenBack)}, judge ${inWords(cell.judge)}, ever called ${inWords(cell.everCalled)}`,
    );
    return cell;
  };
  const faults: readonly [Fault, string][] = [
    ['content', 'content is missing'],
    ['order', 'the best documents come last'],
  ];
  const changed = (Object.keys(unrests) as (keyof typeof unrests)[]).flatMap((unrest) => [
    ...faults.map(([fault, change]) => {
      const faulty = worldOf({ fault });
      return measure(change, unrest, { faulty, share: onset(DROP / (usual.truth.ndcg - faulty.truth.ndcg)) });
    }),
    measure('new queries that only the judge misreads', unrest, {
      faulty: worldOf({ fault: 'misread' }),
      share: onset(0.3),
    }),
    ...[DRIFT, -DRIFT].map((drift) =>
      measure(`the judge grades ${drift > 0 ? 'higher' : 'lower'} by ${DRIFT}`, unrest, {
        drift: onset(drift),
        drifted: worldOf({ bias: drift }),
      }),
    ),
  ]);
  const command = `${commandOf('judging-drops', scale)}${seed === null ? '' : ` --seed ${seed}`}`;
  const { model, people } = BUDGET;
  return {
    provenance: provenance(command, seed ?? SEED, startedAt),
    kappa: KAPPA,
    drop: DROP,
    model,
    people,
    quiet,
    changed,
  };
}

const inWords = (one: ShareWithBounds): string => `${(100 * one.share).toFixed(0)} %`;

const onset = (size: number) => (day: number) => (day < BEFORE ? 0 : size);

const isCalled = ({ state }: StreamDay): boolean => state !== null && state !== 'none';

/** Counts how many times the stream enters the state for which `is` returns true. */
function episodes(stream: readonly StreamDay[], is: (one: StreamDay) => boolean): number {
  return stream.filter((one, at) => is(one) && !(at > 0 && is(stream[at - 1] as StreamDay))).length;
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const settings = readArguments(process.argv.slice(2), 'judging-drops');
  const result = measureDrops(settings, console.log);
  if (settings.out !== null) writeResult(settings.out, result);
}
