/**
 * The demo as a story in steps: a RAG service on real data, recalld that watches it, a fault that the next scheduled
 * run shows, and its repair. Everything runs as it does for a user: the config is a file, the golden set is imported,
 * the runs come from the schedule, and the last word has /metrics.
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { stringify } from 'yaml';
import { commandSettings } from '../app/command-settings.ts';
import { type CommandStore, withCommandStore } from '../app/command-store.ts';
import { importGoldenSet } from '../app/golden-import.ts';
import { type Monitor, roles, startMonitor } from '../app/monitor.ts';
import { summarizeRun } from '../app/run-summary.ts';
import { systemClock } from '../app/system-clock.ts';
import type { MetricJson, RunSummaryJson } from '../contracts/run-summary.ts';
import { RecalldError } from '../core/errors.ts';
import { demoConfig, GOLDEN_SET, HEADLINE, PIPELINE, RERUN_SECONDS } from './demo-config.ts';
import { demoDataPath } from './rag/corpus.ts';
import type { RagFault } from './rag/fault.ts';
import { type DemoRagService, startDemoRagService } from './rag/spawn.ts';

export interface StorySettings {
  readonly port: number;
  /** `none`: the healthy part alone. */
  readonly fault: RagFault;
  /** Stay up with the fault mended until `signal` aborts. */
  readonly stay: boolean;
  readonly signal: AbortSignal;
  /** Shows a line to the person who watches. */
  readonly tell: (line: string) => void;
  /** Renders the scores of a run. */
  readonly formatRun: (run: RunSummaryJson) => string;
}

/**
 * Tells the story.
 *
 * @returns whether every step happened as it should
 * @throws RecalldError when a part does not start, and the reason of `signal`
 */
export async function tellStory(settings: StorySettings): Promise<boolean> {
  const { signal, tell } = settings;
  const folder = await mkdtemp(path.join(tmpdir(), 'recalld-demo-'));
  let rag: DemoRagService | null = null;
  let monitor: Monitor | null = null;
  try {
    const service = await startDemoRagService({ signal });
    rag = service;
    tell(
      `1. A RAG service searches ${service.documents} Wikipedia passages in pgvector: ${service.url}/search`,
    );
    const configFile = path.join(folder, 'recalld.yaml');
    await writeFile(configFile, stringify(demoConfig(service.url, settings.port, folder)));
    const command = commandSettings(configFile, signal);
    const { set } = await withCommandStore(command, ({ sets }) =>
      importGoldenSet(sets, demoDataPath, GOLDEN_SET, { format: 'beir', rowsAsQueries: false }),
    );
    tell(
      `2. ${set.queries} questions with known answers are imported as golden set ${set.name}, version ${set.version}.`,
    );
    const startedAt = systemClock.now();
    monitor = await startMonitor({ config: command.config, roles, logger: command.logger, signal });
    tell(`3. recalld reruns them every ${RERUN_SECONDS} s. Scores: ${monitor.url}/metrics`);
    const url = monitor.url;
    const told = await withCommandStore(command, (store) =>
      watch({ ...settings, rag: service, store, url }, startedAt),
    );
    tell(
      `\n${told ? 'Every step happened as it should.' : 'Not every step happened as it should; see above.'}`,
    );
    if (settings.stay) await stayUp(settings, monitor, configFile);
    return told;
  } finally {
    await monitor?.stop();
    await rag?.stop();
    await rm(folder, { recursive: true, force: true });
  }
}

interface Scene extends StorySettings {
  readonly rag: DemoRagService;
  readonly store: CommandStore;
  readonly url: string;
}

async function watch(scene: Scene, startedAt: Date): Promise<boolean> {
  const { tell, rag, fault } = scene;
  const healthy = await nextRun(scene, startedAt);
  tell(`\nHealthy. ${scene.formatRun(healthy)}`);
  const exported = await isExported(scene, healthy);
  tell(
    exported
      ? `\n/metrics shows the same ${HEADLINE}.`
      : `\nNOT AS IT SHOULD BE: /metrics does not show this ${HEADLINE}.`,
  );
  if (fault === 'none') return exported && healthy.verdict === 'ok';

  await rag.setFault(fault);
  tell(`\n4. ${faultStory[fault]} The next scheduled run will tell.`);
  const broken = await nextRun(scene, systemClock.now());
  tell(`\nBroken. ${scene.formatRun(broken)}`);
  const fell = hasFallen(healthy, broken);
  tell(
    fell
      ? `\n${describeFall(healthy, broken)}`
      : `\nNOT AS IT SHOULD BE: the scores did not fall beyond their bounds.`,
  );

  await rag.setFault('none');
  tell('\n5. The fault is mended. The next scheduled run will tell.');
  const mended = await nextRun(scene, systemClock.now());
  const recovered = headline(mended)?.mean === headline(healthy)?.mean;
  tell(
    recovered
      ? `\nRecovered: ${HEADLINE} is ${decimals(headline(mended)?.mean)} again, exactly as before.`
      : '\nNOT AS IT SHOULD BE: the scores did not come back.',
  );
  return (
    exported &&
    fell &&
    recovered &&
    healthy.verdict === 'ok' &&
    broken.verdict === 'critical' &&
    mended.verdict === 'ok'
  );
}

const faultStory: Record<Exclude<RagFault, 'none'>, string> = {
  index: 'A third of the passages vanish from the index.',
  embedding: 'Questions are embedded by another model than the passages were.',
  outage: 'The search service answers every query with an error.',
};

/** Waits for the end of a scheduled run that started after `after`. */
async function nextRun({ store, signal }: Scene, after: Date): Promise<RunSummaryJson> {
  const patience = 4 * RERUN_SECONDS * 1000;
  const deadline = systemClock.monotonicMs() + patience;
  while (systemClock.monotonicMs() < deadline) {
    const runs = await store.runs.list({ pipeline: PIPELINE, goldenSet: GOLDEN_SET, limit: 5 });
    const ended = runs.findLast((run) => run.startedAt >= after && run.status !== 'running');
    if (ended !== undefined) return summarizeRun(store.runs, ended);
    await systemClock.sleep(200, signal);
  }
  throw new RecalldError(
    'demo_failed',
    `No scheduled golden run came to its end within ${patience / 1000} s.`,
  );
}

/** Whether Prometheus would read the headline of the run. */
async function isExported({ url, signal }: Scene, run: RunSummaryJson): Promise<boolean> {
  const text = await (await fetch(`${url}/metrics`, { signal })).text();
  const series = `recalld_golden_ndcg{pipeline="${PIPELINE}",golden_set="${GOLDEN_SET}",segment="all",k="10"}`;
  const line = text.split('\n').find((candidate) => candidate.startsWith(series));
  return line !== undefined && Number(line.slice(series.length)) === headline(run)?.mean;
}

function headline(run: RunSummaryJson): MetricJson | undefined {
  return run.metrics[HEADLINE];
}

/** Whether the two 95 % intervals of the headline are apart. */
function hasFallen(before: RunSummaryJson, after: RunSummaryJson): boolean {
  return (headline(after)?.ci_high ?? 1) < (headline(before)?.ci_low ?? 0);
}

function describeFall(before: RunSummaryJson, after: RunSummaryJson): string {
  return `${HEADLINE} fell from ${decimals(headline(before)?.mean)} to ${decimals(headline(after)?.mean)}, far beyond its bounds, and the check is ${after.verdict}.`;
}

function decimals(value: number | undefined): string {
  return value === undefined ? 'nothing' : value.toFixed(4);
}

async function stayUp({ tell, signal }: StorySettings, monitor: Monitor, configFile: string): Promise<void> {
  tell(`\nrecalld stays up until Ctrl-C. Look at ${monitor.url}/metrics, or in another terminal:`);
  tell(`  npx recalld runs list --config ${configFile}`);
  await new Promise<void>((resolve) => {
    if (signal.aborted) resolve();
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
}
