/** Runs every job of the catalog with all services of the daemon, while the job's tables are missing. */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parseConfig } from '../../../src/app/config/parse.ts';
import { openDependencies } from '../../../src/app/dependencies.ts';
import { jobCatalogue } from '../../../src/app/jobs.ts';
import { createCleanupStack } from '../../../src/core/cleanup-stack.ts';
import type { Context } from '../../../src/core/context.ts';
import { systemClock } from '../../../src/core/system-clock.ts';
import { createJobRunner } from '../../../src/platform/queue/job-queue.ts';
import { createDatabase, type OwnDatabase, queryDatabase, urlOf } from '../../support/database.ts';
import { silentLogger } from '../../support/log.ts';
import { MemoryLogger, MemoryMeter } from '../../support/memory-telemetry.ts';

const UNREACHABLE = 'http://127.0.0.1:9';
const exported = mkdtempSync(path.join(tmpdir(), 'recalld-exported-'));

/** Two pipelines that give every job something to process, and one pipeline that has only a retriever. */
const configOf = (url: string): string => `
storage: {url: "${url}"}
notify: [{kind: webhook, url: "${UNREACHABLE}/hook"}]
export: {cron: "0 3 * * *", to: "${exported}"}
llm: {base_url: "${UNREACHABLE}/v1", model: m, api_key: k, price_per_million_tokens: {input: 1, output: 1}}
pipelines:
${['docs', 'faq'].map(full).join('')}
  - name: bare
    retriever: {kind: http, url: "${UNREACHABLE}/search"}
`;

const full = (name: string): string => `
  - name: ${name}
    retriever: {kind: http, url: "${UNREACHABLE}/search"}
    vector_store: {kind: qdrant, url: "${UNREACHABLE}", collection: chunks, content: text}
    embedder: {kind: openai, base_url: "${UNREACHABLE}/v1", model: m, retries: 0}
    segments: {keys: [variant]}
    density: {window: 1h}
    judged: {judge: {kind: llm}}
    index: {manifest: {kind: http, url: "${UNREACHABLE}/manifest"}, cron: "*/15 * * * *"}
    shadow:
      - {name: next, retriever: {kind: http, url: "${UNREACHABLE}/next"}, live_rate: 0.5, max_calls_per_day: 100}
    variants: {tag: variant, arms: [{name: a, share: 1}, {name: b, share: 1}]}
    golden: [{set: faq, cron: "0 * * * *"}]
    checks: [{measure: error_ratio, above: 0.2, severity: critical}]
`;

let database: OwnDatabase;
let jobDeps: Context;
const cleanups = createCleanupStack(silentLogger);

beforeAll(async () => {
  database = await createDatabase();
  const config = parseConfig(configOf(urlOf(database.connection)), 'recalld.yaml', {}, () => '');
  const settings = { config, name: 'a test', logger: silentLogger, cleanups };
  jobDeps = await openDependencies({ ...settings, signal: new AbortController().signal });
  await queryDatabase(database.connection, 'drop schema public cascade');
});

afterAll(async () => {
  await cleanups.run();
  await database.drop();
  rmSync(exported, { recursive: true, force: true });
});

/** Payloads of jobs that are not scheduled. */
const payloads: Readonly<Record<string, object>> = {
  'run-golden-set': { run_id: 'r' },
  'ask-golden-batch': { run_id: 'r', lane: 'l', step: 0 },
  'check-index': { pipeline: 'docs' },
  'report-violations': { pipeline: 'docs' },
};

describe('a job whose tables are missing', () => {
  it.each(jobCatalogue)('fails, and never counts as completed: $name', async ({ name }) => {
    const meter = new MemoryMeter();
    const logger = new MemoryLogger();
    const shutdown = new AbortController().signal;
    const run = createJobRunner({ jobs: jobCatalogue, jobDeps, clock: systemClock, logger, meter, shutdown });
    expect(await run(name, payloads[name] ?? {}, 'id')).toMatchObject({ kind: 'retry' });
    expect(meter.increments).toContainEqual({
      name: 'recalld_jobs_total',
      labels: { task: name, outcome: 'failed' },
      value: 1,
    });
  });

  it.each([
    ['probe-stores', ['docs', 'faq']],
    ['judge-live-traffic', ['docs', 'faq']],
    ['sum-variant-days', ['docs', 'faq']],
    ['judge-shadows', ['docs~next', 'faq~next']],
  ])('%s names the pipelines for which it failed, and no others', async (name, pipelines) => {
    const logger = new MemoryLogger();
    const meter = new MemoryMeter();
    const shutdown = new AbortController().signal;
    const run = createJobRunner({ jobs: jobCatalogue, jobDeps, clock: systemClock, logger, meter, shutdown });
    await run(name, {}, 'id');
    const failure = logger.lines.find(({ message }) => message === 'a job failed');
    expect(failure?.fields).toMatchObject({ pipelines });
  });
});
