/**
 * Tests that docs/explanation/architecture.md matches the code: the files that it names exist, and its tables list the
 * files on the shortest chains of imports.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { measureTable } from '../../src/measures/rules/measure-table.ts';
import { sourceFiles } from './source-files.ts';

const root = path.resolve(import.meta.dirname, '../..');
const page = readFileSync(path.join(root, 'docs/explanation/architecture.md'), 'utf8');
const src = sourceFiles('src');

/** Returns the file paths that a section's table lists. */
function listed(title: string): string[] {
  const section = page.slice(page.indexOf(`## ${title}\n`)).split('\n## ')[0] ?? '';
  return section
    .split('\n')
    .filter((line) => line.startsWith('| ') && !line.startsWith('| step'))
    .flatMap((line) => [...(line.split(' | ')[1] ?? '').matchAll(/`([^`]+)`/g)].map(([, file = '']) => file));
}

const imports = new Map(
  src.map(({ path: file, text }) => [
    file,
    [...text.matchAll(/from '(\.[^']+)'/g)].map(([, to = '']) => path.posix.join(path.posix.dirname(file), to)),
  ]),
);

/** Returns the shortest chain of imports between two files, including both files; empty if there is none. */
function chain(from: string, to: string): string[] {
  const before = new Map<string, string | null>([[`src/${from}`, null]]);
  for (const file of before.keys())
    for (const next of imports.get(file) ?? []) if (!before.has(next)) before.set(next, file);
  const files: string[] = [];
  for (let file = before.get(`src/${to}`) === undefined ? null : `src/${to}`; file !== null; )
    [file] = [before.get(file) ?? null, files.unshift(file.replace('src/', ''))];
  return files;
}

/**
 * For each section with a table of files: the maximum number of files, and chains of files (legs) through which the
 * data passes. The first file of a leg receives the data from a request, from a job, or from an earlier leg.
 */
const journeys: readonly (readonly [title: string, most: number, legs: readonly (readonly string[])[]])[] = [
  [
    'A live query, from the route to the row',
    18,
    [
      ['app/http/server.ts', 'platform/access/authentication.ts'],
      ['app/http/server.ts', 'platform/http/request-bodies.ts'],
      ['app/http-surface.ts', 'live/live-ingest.ts', 'live/ingest-queries.ts', 'live/rules/sampling/decision.ts'],
      ['live/edge/live-routes.ts', 'live/ingest-schema.ts'],
      ['live/ingest-queries.ts', 'live/rules/live-query.ts'],
      ['live/ingest-queries.ts', 'live/privacy/rules/redactor.ts', 'live/privacy/rules/personal-detectors.ts'],
      ['live/edge/live-routes.ts', 'live/context.ts', 'live/sql/live-traffic.ts', 'live/sql/record-arrivals.ts'],
    ],
  ],
  [
    'A live query, from the row to the alert',
    15,
    [
      ['live/live-jobs.ts', 'live/measure-live-traffic.ts', 'live/read-live-window.ts', 'live/sql/live-windows.ts'],
      ['live/measure-live-traffic.ts', 'live/rules/live-measures.ts', 'live/rules/sampling/estimate.ts'],
      ['live/measure-live-traffic.ts', 'measures/measurements.ts'],
      ['checks/evaluate-checks.ts', 'checks/rules/evaluate.ts', 'checks/rules/threshold.ts'],
      ['checks/evaluate-checks.ts', 'checks/check-store.ts'],
      ['incidents/diagnosis/diagnose-job.ts', 'incidents/diagnosis/firing-alerts.ts'],
      ['incidents/diagnosis/diagnose-pipeline.ts', 'incidents/diagnosis/incidents.ts'],
    ],
  ],
  [
    'A density window, from the job to the verdict',
    20,
    [
      ['density/jobs.ts', 'density/evaluate-density.ts', 'density/watch-table.ts'],
      ['density/jobs.ts', 'core/context.ts'],
      ['density/evaluate-density.ts', 'density/plan.ts'],
      ['density/evaluate-density.ts', 'density/observe-change.ts'],
      ['density/evaluate-density.ts', 'density/traffic.ts', 'density/coverage-reads.ts'],
      ['density/evaluate-density.ts', 'density/baselines-table.ts'],
      ['density/evaluate-density.ts', 'density/compute.ts', 'density/rules/measure-window.ts'],
      ['density/rules/measure-window.ts', 'density/rules/query-score.ts'],
      ['density/rules/measure-window.ts', 'density/rules/sessions.ts'],
      ['density/evaluate-density.ts', 'density/rules/watch.ts', 'density/rules/alert.ts'],
      ['density/rules/alert.ts', 'math/stats/sequential.ts'],
      ['checks/evaluate-checks.ts', 'density/rules/density-check.ts'],
      ['checks/evaluate-checks.ts', 'checks/rules/evaluate.ts'],
    ],
  ],
  [
    'A golden run, from the tick to the notification',
    25,
    [
      ['golden/runs/tick-golden-set.ts', 'golden/runs/ask-retriever.ts', 'connectors/retrievers/retriever.ts'],
      ['golden/runs/run-golden-set.ts', 'golden/runs/end-golden-run.ts', 'golden/rules/score-run.ts'],
      ['golden/runs/end-golden-run.ts', 'golden/rules/compare-metric.ts'],
      ['golden/runs/end-golden-run.ts', 'checks/rules/golden-checks.ts', 'checks/rules/regression.ts'],
      ['golden/runs/end-golden-run.ts', 'golden/sql/run-results.ts'],
      ['checks/evaluate-checks.ts', 'checks/rules/evaluate.ts'],
      ['checks/evaluate-checks.ts', 'checks/check-store.ts'],
      ['incidents/diagnosis/diagnose-job.ts', 'incidents/diagnosis/firing-alerts.ts'],
      ['incidents/diagnosis/diagnose-pipeline.ts', 'incidents/diagnosis/rules/diagnose.ts'],
      ['incidents/diagnosis/diagnose-pipeline.ts', 'incidents/diagnosis/incidents.ts'],
      ['incidents/notifications/notify.ts', 'incidents/notifications/rules/message.ts'],
      ['connectors/receivers/registry.ts', 'connectors/receivers/slack.ts'],
    ],
  ],
];

describe.each(journeys)('%s', (title, most, legs) => {
  const steps = legs.flatMap((leg) => leg.slice(1).map((to, index) => [leg[index] ?? '', to] as const));
  const passed = new Set(steps.flatMap(([from, to]) => chain(from, to)));

  it('follows imports from step to step', () => {
    expect(steps.filter(([from, to]) => chain(from, to).length === 0)).toEqual([]);
  });

  it('passes at most the allowed number of files', () => {
    expect(passed.size).toBeGreaterThan(10);
    expect(passed.size).toBeLessThanOrEqual(most);
  });

  it('is documented with a list that contains each file once', () => {
    expect(listed(title).toSorted()).toEqual([...passed].toSorted());
  });
});

it('the documentation names only files that exist', () => {
  const pages = readdirSync(path.join(root, 'docs'), { recursive: true, encoding: 'utf8' }).filter(
    (name) => name.endsWith('.md') && !name.startsWith('decisions'),
  );
  const missing = pages.flatMap((name) =>
    [...readFileSync(path.join(root, 'docs', name), 'utf8').matchAll(/`([\w./-]+\/[\w.-]+\.tsx?)`/g)]
      .map(([, file = '']) => file)
      .filter((file) => !existsSync(path.join(root, file)) && !existsSync(path.join(root, 'src', file)))
      .map((file) => `docs/${name}: ${file}`),
  );
  expect(missing).toEqual([]);
});

it('every row of the measure table is used elsewhere in the code', () => {
  const readers = src.filter(({ path: file }) => !file.startsWith('src/measures/rules/'));
  const unread = Object.keys(measureTable).filter(
    (measure) =>
      !readers.some(
        ({ text }) => text.includes(`'${measure}'`) || text.includes(`'${measure.replace(/[a-z]+$/, '')}'`),
      ),
  );
  expect(unread).toEqual([]);
});
