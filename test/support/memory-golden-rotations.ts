/** Rotations in memory, for tests of what is built on them. */
import type {
  GoldenRotation,
  GoldenRotations,
  NewRotation,
  RotationEnd,
} from '../../src/golden/sql/golden-rotations.ts';

export class MemoryGoldenRotations implements GoldenRotations {
  /** Newest first. */
  #all: readonly GoldenRotation[] = [];

  async open(pipeline: string, goldenSet: string): Promise<GoldenRotation | null> {
    const isOpen = (one: GoldenRotation): boolean =>
      one.pipeline === pipeline && one.goldenSet === goldenSet && one.endedAt === null;
    return this.#all.find(isOpen) ?? null;
  }

  async begin(rotation: NewRotation): Promise<GoldenRotation> {
    const before = await this.open(rotation.pipeline, rotation.goldenSet);
    if (before !== null && before.toVersion >= rotation.toVersion) return before;
    if (before !== null) this.#end(before.id, { endedAt: rotation.startedAt, outcome: 'replaced' });
    const id = String(this.#all.length + 1);
    const made = { ...rotation, id, endedAt: null, outcome: null, levels: {}, shifts: {} };
    this.#all = [made, ...this.#all];
    return made;
  }

  async complete(id: string, { endedAt, levels, shifts }: RotationEnd): Promise<boolean> {
    const isOpen = this.#all.some((one) => one.id === id && one.endedAt === null);
    if (isOpen) this.#end(id, { endedAt, levels, shifts, outcome: 'completed' });
    return isOpen;
  }

  async list({ pipeline, goldenSet }: Parameters<GoldenRotations['list']>[0]) {
    return this.#all.filter(
      (one) =>
        (pipeline === undefined || one.pipeline === pipeline) &&
        (goldenSet === undefined || one.goldenSet === goldenSet),
    );
  }

  #end(id: string, end: Partial<GoldenRotation>): void {
    this.#all = this.#all.map((one) => (one.id === id ? { ...one, ...end } : one));
  }
}
