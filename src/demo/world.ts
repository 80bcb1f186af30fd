/** The demo's RAG service, its users and the daemon that watches it, on one clock. */

import type { CommandSettings } from '../app/commands/command-store.ts';
import { createSimulatedClock } from '../app/simulated-clock.ts';
import { type SimulatedDaemon, withSimulatedDaemon } from '../app/simulated-daemon.ts';
import { systemClock } from '../core/system-clock.ts';
import { HOUR_MS, MINUTE_MS } from '../core/time.ts';
import type { Seen } from './alert-log.ts';
import { GOLDEN_HOURS, GOLDEN_SET, PIPELINE } from './demo-config.ts';
import type { Gap, RagFault } from './rag/fault.ts';
import type { DemoRagService } from './rag/spawn.ts';
import {
  createDemoTraffic,
  createSearcher,
  type DemoTraffic,
  type DividedQuestions,
  gradeAsPeople,
  type MissingShares,
  NOTHING_MISSING,
} from './traffic.ts';

const DAY_HOURS = 24;
/** After the sampling of a minute is settled. */
const SETTLED_MS = 5 * MINUTE_MS;
/** A window closes ten minutes after its end; a quarter past, what it comes to is known. */
const QUARTER_MS = 15 * MINUTE_MS;
/** What is half an hour old is drawn for judging. */
const JUDGED_MS = 37 * MINUTE_MS;

export interface World {
  readonly daemon: SimulatedDaemon;
  readonly traffic: DemoTraffic;
  now(): Date;
  /** Since the story began. */
  seen(): Seen;
  /** Lets an hour of live traffic pass, and the daemon do what it would do in it. */
  passHour(): Promise<void>;
  /** Lets the time until now pass, so that nothing known is too old for whoever looks then. */
  catchUp(): Promise<void>;
  /** Of the sessions, those that ask about what the store can do without. */
  askAboutMissing(gap: Gap, share: number): void;
  setFault(fault: RagFault): Promise<void>;
  /** From the next fault, or its end, on the store holds what it could do without. */
  fill(gap: Gap): void;
}

export interface WorldSettings {
  readonly command: CommandSettings;
  readonly rag: DemoRagService;
  readonly questions: DividedQuestions;
  /** A whole hour, at which a golden run is due. */
  readonly start: Date;
  /** Hour of the day of those who ask, at which it begins; 0 is the quietest. */
  readonly firstHour: number;
  /** Hours after which live queries are judged too, as they would be all the time: it takes as long as the rest of an hour. */
  readonly judgedAfter: number;
}

/** @throws RecalldError as withSimulatedDaemon, and what `work` throws */
export async function withWorld<T>(
  { command, rag, questions, start, firstHour, judgedAfter }: WorldSettings,
  work: (world: World) => Promise<T>,
): Promise<T> {
  const clock = createSimulatedClock(start);
  const searcher = createSearcher(rag.url, command.signal);
  const traffic = createDemoTraffic({ pipeline: PIPELINE, questions, search: searcher.search, firstHour });
  const hourAt = (hour: number): Date => new Date(start.getTime() + hour * HOUR_MS);
  return withSimulatedDaemon(command, clock, async (daemon) => {
    await daemon.importGolden(
      GOLDEN_SET,
      questions.golden.map(({ id, text, document }) => ({ id, text, relevant: [document] })),
    );
    let shares: MissingShares = NOTHING_MISSING;
    const filled: Gap[] = [];
    let hours = 0;
    let goldenRuns = 0;
    let liveQueries = 0;

    const takeIn = async (from: Date, until: Date): Promise<void> => {
      const queries = await traffic.nextHour(from, shares);
      const arrived = queries.filter(({ occurredAt }) => occurredAt === null || occurredAt < until);
      clock.set(until);
      await daemon.ingestQueries(arrived);
      liveQueries += arrived.length;
    };
    /** What builds on others comes after them. */
    const lookAtHour = async (): Promise<void> => {
      await daemon.run('evaluate-density', 'measure-live-traffic');
      await daemon.run('find-uncovered-topics', 'evaluate-checks');
      await daemon.run('diagnose-alerts');
    };
    const passHour = async (): Promise<void> => {
      const from = hourAt(hours);
      const until = hourAt(hours + 1);
      clock.set(from);
      if (hours % DAY_HOURS === 0) await daemon.run('maintain-partitions');
      await takeIn(from, until);
      hours += 1;
      if (hours % GOLDEN_HOURS === 0) {
        await daemon.tickGoldenSets(until);
        goldenRuns += 1;
      }
      clock.set(new Date(until.getTime() + SETTLED_MS));
      await daemon.run('measure-query-coverage');
      clock.set(new Date(until.getTime() + QUARTER_MS));
      if (hours > judgedAfter) {
        clock.set(new Date(until.getTime() + JUDGED_MS));
        await daemon.run('judge-live-traffic');
        await gradeAsPeople(daemon, clock.now());
        // What they say counts from the next measurement on.
        await daemon.run('judge-live-traffic');
      }
      await lookAtHour();
    };

    return work({
      daemon,
      traffic,
      now: () => clock.now(),
      seen: () => ({ hours, goldenRuns, liveQueries }),
      passHour,
      async catchUp() {
        while (hourAt(hours + 1).getTime() + QUARTER_MS <= systemClock.now().getTime()) await passHour();
        await takeIn(hourAt(hours), systemClock.now());
        // A daemon does these again and again, and what has grown old is not shown.
        await daemon.run('probe-stores', 'probe-embedders', 'measure-ann-recall');
        await lookAtHour();
      },
      askAboutMissing(gap, share) {
        shares = { ...shares, [gap]: share };
      },
      async setFault(fault) {
        searcher.forget();
        await rag.setFault(fault, filled);
      },
      fill(gap) {
        filled.push(gap);
      },
    });
  });
}
