/**
 * Records CPU profiles with the V8 sampler and sums self time by function.
 *
 *     npx tsx bench/profiles.ts
 *
 * Needs `npm run build`. Writes bench/results/profiles.json; `npm run gen` then writes the page.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { type Profiler, Session } from 'node:inspector/promises';
import path from 'node:path';
import { measureWindow } from '../src/density/rules/measure-window.ts';
import { type Profile, type ProfilesResult, profilesFile, topOf } from './profiles/self-time.ts';
import { provenance, writeResult } from './result-file.ts';
import { type Daemon, program, run, startScript, withDaemon, withFolder } from './speed/child.ts';
import { windowOf } from './speed/drift-pass.ts';
import { writeTrecFiles } from './speed/evaluation-of-files.ts';
import { goldenConfig, importSet, pinRun, runSet } from './speed/golden-segments.ts';

const QUERIES = 10_000;
const GOLDEN_QUERIES = 2000;
const RUNS = 5;

async function ofEvaluation(): Promise<Profile> {
  return withFolder(async (folder) => {
    const files = writeTrecFiles(folder, QUERIES);
    const args = ['eval', '--qrels', files.qrels, '--run', files.results, '--metrics', files.metrics];
    await run(process.execPath, ['--cpu-prof', '--cpu-prof-dir', folder, program, ...args], folder);
    return topOf(`recalld eval, ${QUERIES} queries x 100 results`, readProfiles(folder, /\.cpuprofile$/));
  });
}

/** Profiles the main thread and the compute thread, from the start of the daemon to its end. */
async function ofGoldenRuns(): Promise<Profile[]> {
  const retriever = await startScript('bare-moving-retriever.ts');
  try {
    return await withFolder(async (folder) => {
      const work = async (daemon: Daemon): Promise<number> => {
        await importSet(daemon, GOLDEN_QUERIES);
        await pinRun(daemon, await runSet(daemon));
        for (let again = 1; again < RUNS; again++) await runSet(daemon);
        return daemon.pid;
      };
      const flags = ['--cpu-prof', `--cpu-prof-dir=${folder}`];
      const pid = await withDaemon(goldenConfig(retriever.url), work, flags);
      const what = `${RUNS} golden runs of ${GOLDEN_QUERIES} queries in 20 segments`;
      return [
        topOf(`${what}: main thread of the daemon`, readProfiles(folder, new RegExp(`\\.${pid}\\.0\\.`))),
        topOf(`${what}: thread that computes`, readProfiles(folder, new RegExp(`\\.${pid}\\.[1-9]\\d*\\.`))),
      ];
    });
  } finally {
    await retriever.stop();
  }
}

async function ofDensityWindows(): Promise<Profile> {
  const { scored, vectors, baseline } = windowOf(10_000, 768);
  const session = new Session();
  session.connect();
  await session.post('Profiler.enable');
  await session.post('Profiler.start');
  for (let window = 0; window < 20; window++) measureWindow(scored, vectors, baseline);
  const { profile } = await session.post('Profiler.stop');
  session.disconnect();
  return topOf('20 density windows of 10000 queries, 768 dimensions', [profile]);
}

function readProfiles(folder: string, name: RegExp): Profiler.Profile[] {
  return readdirSync(folder)
    .filter((file) => file.endsWith('.cpuprofile') && name.test(file))
    .map((file) => JSON.parse(readFileSync(path.join(folder, file), 'utf8')) as Profiler.Profile);
}

const startedAt = performance.now();
const profiles = [await ofEvaluation(), ...(await ofGoldenRuns()), await ofDensityWindows()];
const result: ProfilesResult = {
  provenance: provenance('npx tsx bench/profiles.ts', 1, startedAt),
  profiles,
};
writeResult(profilesFile, result);
