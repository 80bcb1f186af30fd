/** Pinned baselines in memory. The contract of the port holds them to the real ones. */
import type { MeanScores } from '../../src/golden/rules/run-noise.ts';
import type { GoldenBaseline, GoldenBaselines } from '../../src/golden/sql/golden-baselines.ts';

export class MemoryGoldenBaselines implements GoldenBaselines {
  #pins: GoldenBaseline[] = [];
  readonly #means = new Map<string, MeanScores>();

  async pinned(pipeline: string, goldenSet: string): Promise<GoldenBaseline | null> {
    return this.#pins.find((pin) => isPinned(pin, pipeline, goldenSet)) ?? null;
  }

  async means(runId: string): Promise<MeanScores | null> {
    return this.#means.get(runId) ?? null;
  }

  async pin(baseline: Omit<GoldenBaseline, 'unpinnedAt'>, _by: string, means: MeanScores | null = null): Promise<void> {
    this.#end(baseline.pipeline, baseline.goldenSet, baseline.pinnedAt);
    if (means !== null) this.#means.set(baseline.runId, means);
    this.#pins.unshift({ ...baseline, unpinnedAt: null });
  }

  async unpin(pipeline: string, goldenSet: string, _by: string, now: Date): Promise<boolean> {
    return this.#end(pipeline, goldenSet, now);
  }

  #end(pipeline: string, goldenSet: string, now: Date): boolean {
    const wasPinned = this.#pins.some((pin) => isPinned(pin, pipeline, goldenSet));
    for (const pin of this.#pins) if (isPinned(pin, pipeline, goldenSet)) this.#means.delete(pin.runId);
    this.#pins = this.#pins.map((pin) => (isPinned(pin, pipeline, goldenSet) ? { ...pin, unpinnedAt: now } : pin));
    return wasPinned;
  }

  async list({ pipeline, limit }: Parameters<GoldenBaselines['list']>[0]): Promise<readonly GoldenBaseline[]> {
    return this.#pins.filter((pin) => pipeline === undefined || pin.pipeline === pipeline).slice(0, limit);
  }
}

function isPinned(pin: GoldenBaseline, pipeline: string, goldenSet: string): boolean {
  return pin.unpinnedAt === null && pin.pipeline === pipeline && pin.goldenSet === goldenSet;
}
