/** Self time of the daemon's main thread by kind of work, from a CPU profile of V8. */
import { readdirSync, readFileSync } from 'node:fs';
import type { Profiler } from 'node:inspector';
import path from 'node:path';
import { type CallFrame, type SelfTime, selfTimes } from '../profiles/self-time.ts';
import { type Daemon, withDaemon } from './child.ts';

/** Minimum share of the self time; kinds of work with a smaller share are omitted. */
const MIN_SHARE = 0.01;

const byFunction: readonly (readonly [RegExp, string])[] = [
  [/^\(garbage collector\)$/, 'garbage collection'],
  [/^write/, 'writes to sockets'],
  [/^RegExp: /, 'regular expressions'],
];

const byFile: readonly (readonly [RegExp, string])[] = [
  [/^node:(internal\/)?crypto/, 'hashes'],
  [/^node:/, 'HTTP, streams and promises of Node.js'],
  [/node_modules\/zod\//, 'schema of the body (zod)'],
  [/node_modules\/secure-json-parse\//, 'JSON of the body'],
  [/node_modules\/(fastify|@fastify|find-my-way|avvio|light-my-request)\//, 'Fastify'],
  [/node_modules\/pg/, 'driver of PostgreSQL'],
  [/node_modules\/prom-client\//, 'counting of metrics'],
  [/dist\/privacy\//, 'redaction'],
  [/node_modules\//, 'other packages'],
  [/dist\//, 'recalld itself'],
];

/** Starts a daemon with a profiler, and returns the daemon's self time during the work. */
export async function profileDaemon(
  config: string,
  warmUp: (daemon: Daemon) => Promise<unknown>,
  work: (daemon: Daemon) => Promise<unknown>,
): Promise<SelfTime[]> {
  return withDaemon(
    config,
    async (daemon) => {
      await warmUp(daemon);
      const from = nowMicros();
      await work(daemon);
      const until = nowMicros();
      // The daemon writes the profile when it ends.
      await daemon.stop();
      const name = readdirSync(daemon.folder).find((one) => one.includes(`.${daemon.pid}.0.`)) ?? '';
      const profile = readFileSync(path.join(daemon.folder, name), 'utf8');
      return selfTimes([JSON.parse(profile) as Profiler.Profile], partOf, { from, until }).filter(
        ({ share }) => share >= MIN_SHARE,
      );
    },
    ['--cpu-prof'],
  );
}

function partOf({ functionName, url }: CallFrame): string {
  const known =
    byFunction.find(([name]) => url === '' && name.test(functionName)) ?? byFile.find(([file]) => file.test(url));
  return known?.[1] ?? 'native code of Node.js';
}

function nowMicros(): number {
  return Number(process.hrtime.bigint() / 1000n);
}
