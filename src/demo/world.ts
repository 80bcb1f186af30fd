/** The demo's RAG service, its users and the daemon that monitors it, all on one simulated clock. */
import type { createSimulatedClock } from '../app/simulated-clock.ts';
import type { SimulatedDaemon } from '../app/simulated-daemon.ts';
import { systemClock } from '../core/system-clock.ts';
import { HOUR_MS, MINUTE_MS } from '../core/time.ts';
import { createDemoAgent } from './agent.ts';
import { createAgentTracer } from './agent-spans.ts';
import { GOLDEN_HOURS, GOLDEN_SET } from './demo-config.ts';
import type { Gap, RagFault } from './rag/fault.ts';
import type { DemoRagService } from './rag/spawn.ts';
import {
  addHumanJudgments,
  createDemoTraffic,
  createSearcher,
  type DividedQuestions,
  type MissingShares,
  NOTHING_MISSING,
} from './traffic.ts';

const DAY_HOURS = 24;
/** Time from the end of an hour until the sampling of its last minute is complete. */
const SAMPLED_MS = 5 * MINUTE_MS;
/** Time from the end of a density window until its result is available. A window closes ten minutes after its end. */
const WINDOW_CLOSED_MS = 15 * MINUTE_MS;
/** Time from the end of an hour until its queries are graded. Queries are selected half an hour after they arrive. */
const GRADED_MS = 37 * MINUTE_MS;

export type World = Awaited<ReturnType<typeof createWorld>>;

/**
 * @param start a whole hour at which a golden run is due
 * @param firstHour hour of the users' day at which the simulation begins; traffic is lowest at hour 0
 * @param judgedAfter number of hours after which the grading of live queries starts; grading doubles the real time of
 *   each simulated hour
 * @param hasAgent true if an agent sends the queries on behalf of the users
 */
export async function createWorld(
  daemon: SimulatedDaemon,
  clock: ReturnType<typeof createSimulatedClock>,
  rag: DemoRagService,
  questions: DividedQuestions,
  { start, firstHour, judgedAfter }: Readonly<{ start: Date; firstHour: number; judgedAfter: number }>,
  hasAgent: boolean,
  signal: AbortSignal,
) {
  const searcher = createSearcher(rag.url, signal);
  const agent = hasAgent ? { ...(await createDemoAgent(searcher.search)), ...(await createAgentTracer()) } : null;
  const traffic = createDemoTraffic(questions, searcher.search, firstHour);
  const hourAt = (hour: number): Date => new Date(start.getTime() + hour * HOUR_MS);
  await daemon.importGolden(
    GOLDEN_SET,
    questions.golden.map(({ id, text, document }) => ({ id, text, relevant: [document] })),
  );
  let shares: MissingShares = NOTHING_MISSING;
  const filled: Gap[] = [];
  let hours = 0;
  let leaks = false;
  let goldenRuns = 0;
  let liveQueries = 0;

  const ingest = async (from: Date, until: Date): Promise<void> => {
    const isPast = ({ occurredAt }: { readonly occurredAt: Date | null }) => occurredAt === null || occurredAt < until;
    if (agent === null) {
      const queries = (await traffic.nextHour(from, shares, leaks)).filter(isPast);
      leaks = false;
      clock.set(until);
      await daemon.ingestQueries(queries);
      liveQueries += queries.length;
      return;
    }
    const asked = traffic.nextQuestions(from, shares).filter(isPast);
    const turns = await Promise.all(asked.map((question) => agent.turn(question)));
    clock.set(until);
    await agent.send(daemon.url, turns, signal);
    liveQueries += turns.reduce((sum, { retrievals }) => sum + retrievals.length, 0);
  };
  /** Runs each job after the jobs whose results it uses. */
  const evaluateHour = async (): Promise<void> => {
    await daemon.run('evaluate-density', 'measure-live-traffic');
    await daemon.run('find-uncovered-topics', 'evaluate-checks');
    await daemon.run('diagnose-alerts');
  };
  const passHour = async (): Promise<void> => {
    const from = hourAt(hours);
    const until = hourAt(hours + 1);
    clock.set(from);
    if (hours % DAY_HOURS === 0) await daemon.run('maintain-partitions');
    await ingest(from, until);
    hours += 1;
    if (hours % GOLDEN_HOURS === 0) {
      await daemon.tickGoldenSets(until);
      goldenRuns += 1;
    }
    clock.set(new Date(until.getTime() + SAMPLED_MS));
    await daemon.run('measure-query-coverage');
    clock.set(new Date(until.getTime() + WINDOW_CLOSED_MS));
    if (hours > judgedAfter) {
      clock.set(new Date(until.getTime() + GRADED_MS));
      await daemon.run('judge-live-traffic');
      await addHumanJudgments(daemon, clock.now());
      // The second run of the job repeats the measurement, so that the results include the human judgments.
      await daemon.run('judge-live-traffic');
    }
    await evaluateHour();
  };

  return {
    daemon,
    traffic,
    now: () => clock.now(),
    elapsed: () => ({ goldenRuns, liveQueries }),
    passHour,
    /** Simulates the time up to the present, so that no data is too old when the real daemon takes over. */
    async catchUp(): Promise<void> {
      while (hourAt(hours + 1).getTime() + WINDOW_CLOSED_MS <= systemClock.now().getTime()) await passHour();
      await ingest(hourAt(hours), systemClock.now());
      // Like a real daemon, repeats these probes before their results become too old to show.
      await daemon.run('probe-stores', 'probe-embedders', 'measure-ann-recall');
      await evaluateHour();
    },
    askAboutMissing(gap: Gap, share: number): void {
      shares = { ...shares, [gap]: share };
    },
    /** Adds another tenant's document to the results of one query in the next hour. */
    leakOnce(): void {
      leaks = true;
    },
    /** Makes the agent answer some questions from memory instead of rewriting them. */
    setRewriterBroken(isBroken: boolean): void {
      agent?.setBroken(isBroken);
    },
    async setFault(fault: RagFault): Promise<void> {
      searcher.clear();
      await rag.setFault(fault, filled);
    },
    /** Adds the missing documents of a gap to the store at the next call of `setFault`. */
    fill(gap: Gap): void {
      filled.push(gap);
    },
  };
}
