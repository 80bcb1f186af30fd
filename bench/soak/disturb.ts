/** Kills processes of a fleet at random and starts them again, as a process manager does after a crash. */
import { setTimeout as pause } from 'node:timers/promises';
import type { Fleet, Member } from '../../test/support/fleet.ts';
import type { OwnPostgres } from '../../test/support/own-postgres.ts';
import type { OwnRedis } from '../../test/support/redis.ts';

export const targets = ['api', 'worker', 'scheduler', 'postgres', 'redis'] as const;

export type Target = (typeof targets)[number];

export interface DisturbSettings {
  readonly fleet: Fleet;
  readonly postgres: OwnPostgres;
  readonly redis: OwnRedis | null;
  /** Uniform in [0, 1). */
  readonly random: () => number;
  readonly signal: AbortSignal;
}

/**
 * Kills and restarts one process after another until `signal` aborts; after that, all processes are running. Only the
 * first process of each role is killed, so that the memory of the other processes can be measured from start to end.
 *
 * @returns number of kills by process
 */
export async function disturb(settings: DisturbSettings): Promise<ReadonlyMap<Target, number>> {
  const { redis, random, signal } = settings;
  const happened = new Map<Target, number>();
  const possible = targets.filter((target) => target !== 'redis' || redis !== null);
  for (;;) {
    await pause(3000 + 6000 * random(), undefined, { signal }).catch(() => undefined);
    if (signal.aborted) return happened;
    const target = possible[Math.floor(random() * possible.length)] ?? 'api';
    await strike(settings, target, 500 + 2500 * random());
    happened.set(target, (happened.get(target) ?? 0) + 1);
  }
}

async function strike({ fleet, postgres, redis }: DisturbSettings, target: Target, downMs: number): Promise<void> {
  if (target === 'postgres') {
    await postgres.crash();
    await pause(downMs);
    await postgres.start();
  } else if (target === 'redis') {
    await redis?.stop();
    await pause(downMs);
    await redis?.start();
  } else {
    const victim = victimOf(fleet, target);
    await victim.kill();
    await pause(downMs);
    await victim.start();
  }
}

function victimOf(fleet: Fleet, role: Member['role']): Member {
  const [victim] = fleet.of(role);
  if (victim === undefined) throw new Error(`the fleet has no ${role}`);
  return victim;
}
