/** From samples of the V8 profiler to the functions that most time was spent in. */
import type { Profiler } from 'node:inspector';
import path from 'node:path';
import type { Provenance } from '../result-file.ts';

export interface Profile {
  readonly what: string;
  /** Most first. */
  readonly top: readonly SelfTime[];
}

export interface SelfTime {
  readonly where: string;
  /** Of the busy time, without what it called. */
  readonly share: number;
}

export interface ProfilesResult {
  readonly provenance: Provenance;
  readonly profiles: readonly Profile[];
}

export const profilesFile = path.resolve(import.meta.dirname, '../results/profiles.json');

const MOST = 10;
/** Names that the profiler gives to time without JavaScript. */
const idle: ReadonlySet<string> = new Set(['(idle)', '(program)', '(root)']);

export type CallFrame = Profiler.Profile['nodes'][number]['callFrame'];

/**
 * Self time of the parts of a program, in shares of the busy time, most first.
 *
 * @param partOf the part that a function belongs to
 * @param span in microseconds of the monotonic clock of the machine, as profiles have them; left out, all of it
 */
export function selfTimes(
  profiles: readonly Profiler.Profile[],
  partOf: (frame: CallFrame) => string,
  span = { from: Number.NEGATIVE_INFINITY, until: Number.POSITIVE_INFINITY },
): SelfTime[] {
  const micros = new Map<string, number>();
  let busy = 0;
  for (const { nodes, startTime, samples = [], timeDeltas = [] } of profiles) {
    const frames = nodes.filter(({ callFrame }) => !idle.has(callFrame.functionName));
    const parts = new Map(frames.map(({ id, callFrame }) => [id, partOf(callFrame)]));
    let at = startTime;
    for (const [index, id] of samples.entries()) {
      at += timeDeltas[index] ?? 0;
      const part = parts.get(id);
      if (part === undefined || at < span.from || at > span.until) continue;
      // The time of a sample is that until the next one.
      const delta = timeDeltas[index + 1] ?? 0;
      micros.set(part, (micros.get(part) ?? 0) + delta);
      busy += delta;
    }
  }
  return [...micros].map(([where, time]) => ({ where, share: time / busy })).toSorted((a, b) => b.share - a.share);
}

export function topOf(what: string, profiles: readonly Profiler.Profile[]): Profile {
  const top = selfTimes(profiles, placeOf).slice(0, MOST);
  if (top.length === 0) throw new Error(`There is no profile of ${what}.`);
  return { what, top };
}

/** The function and its file, from the folder of the program or the name of the package on. */
function placeOf({ functionName, url }: CallFrame): string {
  const name = functionName === '' ? 'a function without a name' : functionName;
  const file = /(?:dist|src|node_modules)\/(?!.*node_modules\/)(.+?)(?:\.[jt]s)?$/.exec(url)?.[1] ?? url;
  return file === '' ? name : `${name} in ${file}`;
}
