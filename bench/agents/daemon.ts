/**
 * Sends the streams of the agent benchmark through the simulated daemon: ingestion, storage, measures, change
 * detection, golden runs and incidents.
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { stringify } from 'yaml';
import { commandSettings } from '../../src/app/commands/command-store.ts';
import { createSimulatedClock } from '../../src/app/simulated-clock.ts';
import { withSimulatedDaemon } from '../../src/app/simulated-daemon.ts';
import { ALL_SEGMENT } from '../../src/core/model.ts';
import { HOUR_MS, MINUTE_MS } from '../../src/core/time.ts';
import { episodeMeasures } from '../../src/live/rules/episodes.ts';
import type { LiveQuery } from '../../src/live/rules/live-query.ts';
import { randomNumbers } from '../random-numbers.ts';
import { type AgentFault, drawHabits, nothingWrong } from './agent.ts';
import { type Library, SOURCES } from './library.ts';
import { createTraffic, measureWindow, type TimedEpisode } from './stream.ts';

const PIPELINE = 'agent';
const GOLDEN = 100;
const HEALTHY_HOURS = 16;
const FAULT_HOURS = 4;
const IDLE_MS = 10 * MINUTE_MS;
/**
 * Time from the end of an hour until its measures are computed. The delay is needed because recalld closes an episode
 * some time after its last call.
 */
const MEASURED_MS = 15 * MINUTE_MS;
const START = new Date('2026-03-02T00:00:00Z');

export interface DaemonStream {
  readonly fault: string;
  readonly expected: string | null;
  /** Cause of the incident; null if no alert fired. */
  readonly cause: string | null;
  /** Number of stored measures that were compared with the measures of the simulation without a daemon. */
  readonly compared: number;
  /** Largest difference between a stored measure and the same measure in the simulation. */
  readonly difference: number;
}

export async function runDaemonStream(
  library: Library,
  fault: AgentFault & { readonly cause?: string },
  seed: number,
): Promise<DaemonStream> {
  const folder = await mkdtemp(path.join(tmpdir(), 'recalld-agents-'));
  let now: AgentFault = nothingWrong;
  const random = randomNumbers(seed);
  const placeOf = new Map(library.questions.map(({ texts }, place) => [texts[0], place]));
  const retriever = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on('data', (part: Buffer) => parts.push(part));
    request.on('end', () => {
      const { query } = JSON.parse(Buffer.concat(parts).toString('utf8')) as { query: string };
      response.statusCode = random.uniform() < (now.failing ?? 0) ? 500 : 200;
      const found = library.found(now.retriever ?? 'healthy', placeOf.get(query) ?? 0, 0, SOURCES);
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify({ results: found.map((document) => ({ id: library.documentIds[document] })) }));
    });
  });
  await new Promise<void>((resolve) => retriever.listen(0, '127.0.0.1', resolve));
  try {
    const file = path.join(folder, 'recalld.yaml');
    const { port } = retriever.address() as AddressInfo;
    await writeFile(file, stringify(configOf(folder, port)));
    const clock = createSimulatedClock(START);
    const command = commandSettings(file, new AbortController().signal);
    return await withSimulatedDaemon(command, clock, async (daemon) => {
      const golden = Array.from(
        { length: GOLDEN },
        (_, at) => library.questions[Math.floor((at * library.questions.length) / GOLDEN)],
      );
      await daemon.importGolden(
        'golden',
        golden.flatMap((one) =>
          one === undefined ? [] : [{ id: one.id, text: one.texts[0], relevant: [library.documentIds[one.document]] }],
        ),
      );
      const traffic = createTraffic(library, drawHabits(random), random, true);
      const episodes: TimedEpisode[] = [];
      let [compared, difference] = [0, 0];
      for (let hour = 0; hour < HEALTHY_HOURS + FAULT_HOURS; hour++) {
        now = hour < HEALTHY_HOURS ? nothingWrong : fault;
        const arrived = traffic.next(now);
        episodes.push(...arrived);
        const from = START.getTime() + hour * HOUR_MS;
        clock.set(new Date(from));
        if (hour === 0) await daemon.run('maintain-partitions');
        clock.set(new Date(from + HOUR_MS));
        await daemon.ingestQueries(
          arrived.flatMap((episode, place) => queriesOf(library, episode, `${hour}-${place}`)),
        );
        await daemon.tickGoldenSets(new Date(from + HOUR_MS));
        // The golden run starts while this job is processed; if the clock advanced before then, the run would exceed
        // its deadline.
        await daemon.run('maintain-partitions');
        const until = from + HOUR_MS + MEASURED_MS;
        clock.set(new Date(until));
        await daemon.run('measure-live-traffic');
        await daemon.run('watch-measures', 'evaluate-checks');
        await daemon.run('diagnose-alerts');
        const latest = await daemon.db.measurements.latest(clock.now());
        const sinceStart = until - START.getTime();
        const pure = measureWindow(episodes, sinceStart - HOUR_MS, sinceStart - IDLE_MS);
        for (const measure of episodeMeasures) {
          const stored = latest.find((one) => one.measure === measure && one.segment === ALL_SEGMENT)?.newest;
          const own = pure.find((one) => one.measure === measure);
          if (stored == null || own === undefined) continue;
          compared += 1;
          difference = Math.max(
            difference,
            Math.abs(stored.value - own.value),
            Math.abs((stored.ciLow ?? 0) - (own.ciLow ?? 0)),
          );
        }
      }
      const incident = await daemon.db.incidents.current(PIPELINE);
      return { fault: fault.name, expected: fault.cause ?? null, cause: incident?.cause ?? null, compared, difference };
    });
  } finally {
    retriever.close();
    await rm(folder, { recursive: true, force: true, maxRetries: 10 });
  }
}

function configOf(folder: string, port: number) {
  return {
    server: { port: 0 },
    storage: { url: 'embedded', data_dir: `${folder}/data` },
    log: { level: 'error' },
    pipelines: [
      {
        name: PIPELINE,
        retriever: {
          kind: 'http',
          url: `http://127.0.0.1:${port}/search`,
          body: { query: '{{text}}' },
          results: { list: 'results', id: 'id' },
          retries: 0,
          timeout_ms: 30_000,
        },
        sampling: { rate: 1 },
        privacy: { text: 'keep' },
        live: { window: '1h' },
        golden: [{ set: 'golden', cron: '0 * * * *', cutoffs: [10], max_per_second: 10_000 }],
        checks: [
          { measure: 'ndcg@10', below: 0.5, severity: 'critical' },
          { measure: 'retriever_error_ratio', above: 0.05, severity: 'critical' },
        ],
      },
    ],
  };
}

function queriesOf(library: Library, { at, question, calls, cluster }: TimedEpisode, id: string): LiveQuery[] {
  const { texts = [] } = library.questions[question] ?? {};
  return calls.map(({ form, documents, hasFailed }, step) => ({
    id: `${id}-${step}`,
    pipeline: PIPELINE,
    occurredAt: new Date(START.getTime() + at),
    text: texts[form] ?? null,
    context: null,
    stages: [],
    embedding: null,
    topK: null,
    sessionId: String(cluster),
    traceId: null,
    episode: { id, step, originalText: texts[0] ?? null },
    results: documents.map((document) => ({ id: library.documentIds[document] ?? '', score: null })),
    latencyMs: 20,
    error: hasFailed ? 'http_500' : null,
    segments: {},
    userId: null,
    versions: { index: null, embedder: null, retriever: null },
    upstreamProbability: 1,
  }));
}
