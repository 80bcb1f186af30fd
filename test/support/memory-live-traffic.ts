/** Live traffic that only remembers what the jobs asked of it. */
import type { LiveTraffic } from '../../src/live/sql/live-traffic.ts';
import type { HeldFragment } from '../../src/live/sql/trace-fragments.ts';

const refuse = (): Promise<never> => Promise.reject(new Error('this store only remembers what jobs asked'));

export class MemoryLiveTraffic implements LiveTraffic {
  /** Names of the calls with their arguments, in their order. */
  readonly calls: (readonly [string, ...unknown[]])[] = [];
  readonly record = refuse;
  readonly recordFeedback = refuse;
  readonly countedHours = refuse;
  readonly opinions = refuse;
  readonly dimensions = refuse;
  readonly replicas = refuse;
  readonly erase = refuse;
  readonly fixDimensions = refuse;
  readonly raiseProbabilities = refuse;
  readonly areErased = refuse;

  async eraseLate(pipelines: readonly string[], now: Date): Promise<{ queries: number; feedback: number }> {
    this.calls.push(['eraseLate', pipelines, now]);
    return { queries: 0, feedback: 0 };
  }

  async closeMinutes(before: Date): Promise<number> {
    this.calls.push(['closeMinutes', before]);
    return 0;
  }

  async createPartitions(now: Date): Promise<void> {
    this.calls.push(['createPartitions', now]);
  }

  async holdFragments(fragments: readonly HeldFragment[]): Promise<void> {
    this.calls.push(['holdFragments', fragments]);
  }

  async releaseFragments(now: Date): Promise<void> {
    this.calls.push(['releaseFragments', now]);
  }

  async prune(retentionDays: ReadonlyMap<string, number>, now: Date): Promise<void> {
    this.calls.push(['prune', retentionDays, now]);
  }
}
