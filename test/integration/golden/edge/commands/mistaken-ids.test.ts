/**
 * Mistakes of new users, with a real retriever and a real database: each mistake is reported where the user sees it.
 */

import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { type CommandSettings, withCommandStore, withPipeline } from '../../../../../src/app/commands/command-store.ts';
import { configSchema } from '../../../../../src/app/config/schema.ts';
import { examine } from '../../../../../src/app/doctor/examine.ts';
import type { Result } from '../../../../../src/app/doctor/foundations.ts';
import { systemClock } from '../../../../../src/core/system-clock.ts';
import { runGoldenSetNow } from '../../../../../src/golden/edge/commands/run.ts';
import { importNamedSet } from '../../../../../src/golden/edge/commands/sets.ts';
import { runReport } from '../../../../../src/golden/edge/pages/run-sections.ts';
import { summarizeRun } from '../../../../../src/golden/runs/run-summary.ts';
import { checkLatestVersion, hasProblems } from '../../../../../src/golden/sets/check-golden-set.ts';
import { terminalText } from '../../../../../src/report/terminal.ts';
import { aNewGoldenSet, goldenQueries } from '../../../../support/builders.ts';
import { contextOf } from '../../../../support/context.ts';
import { urlOf, useDatabase } from '../../../../support/database.ts';
import { documents, json, type Responder, startFaultServer } from '../../../../support/fault-server.ts';
import { silentLogger } from '../../../../support/log.ts';

const database = useDatabase();
const set = 'faq';

beforeEach(() => database.pool.query('truncate golden_sets, golden_runs cascade'));

/** A config whose retriever returns these results, and a set of six queries whose relevant documents are d1 to d6. */
async function anInstallation(answer: Responder, sets: readonly string[] = [set]): Promise<CommandSettings> {
  const server = await startFaultServer(answer);
  onTestFinished(() => server.close());
  const config = configSchema.parse({
    storage: { url: urlOf(database.connection) },
    pipelines: [
      {
        name: 'docs',
        retriever: { kind: 'http', url: `${server.url}/search`, retries: 0 },
        golden: sets.map((name) => ({ set: name, cutoffs: [2] })),
      },
    ],
  });
  const settings = { config, logger: silentLogger, signal: new AbortController().signal };
  await withCommandStore(settings, (store) =>
    store.db.golden.sets.add(aNewGoldenSet({ name: set, queries: goldenQueries(6) }), new Date()),
  );
  return settings;
}

function runSet(settings: CommandSettings) {
  return withCommandStore(settings, async (store) => {
    const run = await runGoldenSetNow(settings, store, 'docs', set, () => undefined);
    return { run, summary: await summarizeRun(store.db.golden.runs, run) };
  });
}

function checkSet(settings: CommandSettings) {
  return withCommandStore(settings, (store) =>
    withPipeline(settings, 'docs', (pipeline) => {
      const samples = { draw: async () => [] };
      return checkLatestVersion(
        contextOf(store, { db: { live: { samples } }, clock: systemClock }),
        pipeline,
        set,
        settings.signal,
      );
    }),
  );
}

async function examined(settings: CommandSettings): Promise<(Result & { service: string })[]> {
  const findings: (Result & { service: string })[] = [];
  await examine(settings, (service, status, message) => void findings.push({ service, status, message }));
  return findings;
}

const others = documents([
  { id: 'kb-reset-router', score: 0.9 },
  { id: 'kb-other', score: 0.8 },
]);
const byOtherIds =
  'None of the 12 returned documents is judged: the set has "d1", and the retriever returned "kb-reset-router"; they have nothing in common. If both ids name the same document, fix either the ids in the set or the config option retriever.results.id.';

describe('document ids that the retriever never returns', () => {
  it('are reported by the run and stored with it', async () => {
    const { run, summary } = await runSet(await anInstallation(others));
    expect(run.warnings).toEqual([byOtherIds]);
    expect(terminalText(runReport(summary), new Date())).toContain(byOtherIds);
  });

  it('are reported as a problem of the set by golden check', async () => {
    const checked = await checkSet(await anInstallation(others));
    expect(checked.answers).toEqual({
      kind: 'answers',
      asked: 6,
      empty: 0,
      warnings: { ids: byOtherIds, depth: null },
    });
    expect(hasProblems(checked)).toBe(true);
  });

  it('are reported by the doctor', async () => {
    const findings = await examined(await anInstallation(others));
    expect(findings).toContainEqual({ service: 'docs golden set', status: 'wrong', message: byOtherIds });
  });
});

describe('fewer documents than requested', () => {
  it('are reported by the run and by the doctor, but not as a problem of the set', async () => {
    const short = 'recalld requested 2 documents, but the retriever never returned more than 1';
    const settings = await anInstallation(documents([{ id: 'd1', score: 0.9 }]));
    expect((await runSet(settings)).run.warnings).toEqual([expect.stringContaining(short)]);
    expect(await examined(settings)).toContainEqual({
      service: 'docs golden set',
      status: 'warning',
      message: expect.stringContaining(short) as string,
    });
    expect(hasProblems(await checkSet(settings))).toBe(false);
  });
});

describe('results at an unexpected path of the response', () => {
  const misread = json({ hits: [{ id: 'd1', score: 1 }] });

  it('are reported with the option that sets the path', async () => {
    const settings = await anInstallation(misread);
    const found = (await examined(settings)).find(({ service }) => service === 'docs retriever');
    expect(found).toMatchObject({
      status: 'wrong',
      message: expect.stringMatching(/ retriever\.results\.list\.$/),
    });
    expect((await checkSet(settings)).answers).toMatchObject({
      kind: 'failed',
      message: expect.stringMatching(/ retriever\.results\.list\.$/),
    });
  });
});

const usedByNoPipeline =
  'No pipeline in the config uses the golden set faq, so it is not scheduled and has no checks. Add `{set: faq}` to `golden` of a pipeline.';

describe('a set that no pipeline uses', () => {
  it('is reported by the doctor', async () => {
    const findings = await examined(await anInstallation(others, []));
    expect(findings).toContainEqual({
      service: 'golden sets',
      status: 'warning',
      message: usedByNoPipeline,
    });
  });

  it('is reported on import, unlike a set that a pipeline uses', async () => {
    const folder = await mkdtemp(path.join(tmpdir(), 'recalld-import-'));
    onTestFinished(() => rm(folder, { recursive: true }));
    const file = path.join(folder, 'faq.csv');
    await writeFile(file, 'question,document,grade\nHow do I reset it?,kb-1,1\n');
    const options = { set, format: 'auto', rowsAsQueries: false } as const;
    const warnings = async (sets: readonly string[]) =>
      (await importNamedSet(await anInstallation(others, sets), file, options)).warnings;
    expect(await warnings([])).toEqual([usedByNoPipeline]);
    expect(await warnings([set])).toEqual([]);
  });
});
