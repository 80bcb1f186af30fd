/** Sums samples of the V8 profiler by function. */
import type { Profiler } from 'node:inspector';
import path from 'node:path';
import type { Provenance } from '../result-file.ts';

export interface Profile {
  readonly what: string;
  /** Functions with the most self time, largest first. */
  readonly top: readonly SelfTime[];
}

export interface SelfTime {
  readonly where: string;
  /** Self time as a share of the busy time. */
  readonly share: number;
}

export interface ProfilesResult {
  readonly provenance: Provenance;
  readonly profiles: readonly Profile[];
}

export const profilesFile = path.resolve(import.meta.dirname, '../results/profiles.json');

const MOST = 10;
/** Names that the profiler uses for time outside JavaScript. */
const idle: ReadonlySet<string> = new Set(['(idle)', '(program)', '(root)']);

export type CallFrame = Profiler.Profile['nodes'][number]['callFrame'];

/**
 * Returns the self time of each part of a program as a share of the busy time, largest first.
 *
 * @param partOf returns the part that a function belongs to
 * @param span period whose samples are summed, in microseconds of the monotonic clock that profiles use; by default,
 * all samples
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
      // Each sample represents the time until the next one.
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

/**
 * Returns the name of a function and its file; the path is relative to the program's folder, or starts with the package
 * name.
 */
function placeOf({ functionName, url }: CallFrame): string {
  const name = functionName === '' ? 'a function without a name' : functionName;
  const file = /(?:dist|src|node_modules)\/(?!.*node_modules\/)(.+?)(?:\.[jt]s)?$/.exec(url)?.[1] ?? url;
  return file === '' ? name : `${name} in ${file}`;
}
