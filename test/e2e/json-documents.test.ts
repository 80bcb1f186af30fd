/**
 * For every command with this option, `--json` prints exactly one document on stdout, with the keys that
 * docs/reference/commands.md lists.
 */
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { jsonDocuments } from '../../docs/build/json-documents.ts';
import { loadConfig } from '../../src/app/config/load.ts';
import { createPipelines } from '../../src/app/pipelines.ts';
import { createVariantPlans } from '../../src/experiments/plan.ts';
import { sumPairs } from '../../src/experiments/rules/live-pairs.ts';
import { sumSessions } from '../../src/math/stats/session-sums.ts';
import { documents, startFaultServer } from '../support/fault-server.ts';
import { anInstallation, type Installation } from '../support/installation.ts';
import { silentLogger } from '../support/log.ts';
import { aConfig, aGoldenCsv, rightAnswer } from './golden-files.ts';

const cleanups: (() => Promise<void>)[] = [];
const atEnd = (clean: () => Promise<void>) => void cleanups.unshift(clean);

let installed: Installation;
/** Ids from the output of earlier commands. */
const known: Record<string, string> = {};

const set = ['--pipeline', 'docs', '--set', 'faq'];
const trec = ['--qrels', 'qrels.txt'];
const vectors = ['--store', 'v.jsonl', '--reference', 'v.jsonl', '--current', 'v.jsonl'];
const change = ['--pipeline', 'docs', '--kind', 'index', '--version', 'v2'];

/** Commands in the order in which they depend on each other; RUN, CANDIDATE and KEY are ids from earlier output. */
const calls: readonly [command: string, args: readonly string[], remember?: [key: string, as: string]][] = [
  ['golden import', ['faq.csv', '--set', 'faq']],
  ['golden list', []],
  ['golden show', ['faq']],
  ['golden export', ['--set', 'faq', '--format', 'jsonl', '--out', 'out.jsonl']],
  ['golden run', set, ['run_id', 'RUN']],
  ['golden run', set, ['run_id', 'CANDIDATE']],
  ['golden check', set],
  ['runs list', []],
  ['runs show', ['RUN']],
  ['explain', ['--run', 'RUN']],
  ['runs compare', ['RUN', 'CANDIDATE']],
  ['baselines pin', ['RUN']],
  ['baselines list', []],
  ['baselines unpin', set],
  ['checks', []],
  ['status', []],
  ['diagnose', []],
  ['doctor', []],
  ['deployments add', change],
  ['deployments list', []],
  ['density show', ['--pipeline', 'docs']],
  ['density rebaseline', ['--pipeline', 'docs']],
  ['topics list', []],
  ['topics show', ['t-1']],
  ['topics acknowledge', ['t-1']],
  ['topics close', ['t-1']],
  ['keys create', ['--name', 'rag', '--scope', 'ingest'], ['id', 'KEY']],
  ['keys list', []],
  ['audit', []],
  ['keys revoke', ['KEY']],
  ['backtest', ['--from', '2026-01-01']],
  ['report', ['--pipeline', 'docs', '--from', '2026-01-01']],
  ['rules', []],
  ['dashboards', ['--out', 'dashboards']],
  ['config check', []],
  ['config print', []],
  ['migrate', []],
  ['eval', [...trec, '--run', 'main.run']],
  ['compare', [...trec, '--baseline', 'main.run', '--candidate', 'main.run']],
  ['drift', vectors],
  ['isolation check', ['--from', '2026-01-01']],
  ['export', ['--to', 'exported', '--format', 'jsonl']],
  ['shadow report', ['--pipeline', 'docs', '--shadow', 'next']],
  ['topics complaints', ['--pipeline', 'docs']],
  ['variants report', ['--pipeline', 'docs']],
];

/**
 * These commands need a model, live queries, a store, a hanging run, or a folder without a config; separate tests cover
 * them.
 */
const elsewhere = [
  'init',
  'store-test',
  'golden generate',
  'golden promote',
  'golden probe-tenants',
  'golden cancel',
  'index check',
  'index hubs',
  'judge status',
  'judge run',
  'judge review',
  'judge import',
];

beforeAll(async () => {
  const retriever = await startFaultServer(documents(rightAnswer));
  atEnd(() => retriever.close());
  const checks = '[{measure: hit_rate@10, below: 0.5, severity: critical}]';
  const lines = Array.from({ length: 40 }, (_, i) => i);
  installed = await anInstallation(
    {
      'recalld.yaml': `${aConfig({ url: retriever.url, checks, retriever: 'results: {text: text}' })}    shadow: [{name: next, retriever: {kind: http, url: "${retriever.url}/search"}}]\n    variants: {arms: [{name: a}, {name: b}]}\n    isolation: [{name: tenants, segment: tenant, allow: ["{{tenant}}/*"]}]\n    judged: {judge: {kind: reranker, reranker: {kind: tei, url: "${retriever.url}"}}}\n`,
      'faq.csv': aGoldenCsv(3),
      'qrels.txt': lines.map((i) => `q${i} 0 d1 1\n`).join(''),
      'main.run': lines.map((i) => `q${i} Q0 d1 1 2 x\n`).join(''),
      'v.jsonl': lines.map((i) => `[1, ${i}]\n`).join(''),
    },
    { atEnd },
  );
  await installed.query(
    `insert into uncovered_topics (id, pipeline, state, label, centroid, cause, first_seen, last_seen, sessions,
       traffic_share, share_low, share_high, excess_points, density, adjusted_p, dominant_region, examples, nearest, segments)
     values ('t-1', 'docs', 'open', '{leave}', '', 'new_demand', now(), now(), 9, 0.1, 0.05, 0.2, 5, 0.5, 0.01, 0, '{}', '[]', '[]')`,
  );
});

afterAll(async () => {
  for (const clean of cleanups) await clean();
});

/** Keys of the document, or of the first element if it is a list. */
function shapeOf(document: unknown): { is: 'object' | 'list'; keys: string[] } {
  if (!Array.isArray(document)) return { is: 'object', keys: Object.keys(document as object) };
  const [first] = document as object[];
  return { is: 'list', keys: Object.keys(first ?? {}) };
}

describe('--json', () => {
  it.each(calls)('with %s prints one document with the documented keys', async (command, args, remember) => {
    const words = args.map((word) => known[word] ?? word);
    const { stdout, stderr } = await installed.recalld(command, ...words, '--json');
    const document: unknown = JSON.parse(stdout);
    if (remember !== undefined) known[remember[1]] = (document as Record<string, string>)[remember[0]] ?? '';
    expect(stderr).not.toContain('recalld: ');
    const { is, keys } = shapeOf(document);
    const { more: _, ...written } = jsonDocuments[command] ?? { is: 'none', keys: [] };
    expect({ is, keys }).toEqual(written);
  });

  it('is tested for every command that has this option', () => {
    const tried = new Set([...calls.map(([command]) => command), ...elsewhere]);
    expect([...tried].toSorted()).toEqual(Object.keys(jsonDocuments).toSorted());
  });
});

describe('a report on a candidate', () => {
  /** Sums over a day with 200 sessions, `well` of which have good results. */
  const sums = (well: number) =>
    sumSessions(Array.from({ length: 200 }, (_, i) => ({ cluster: i, x: i < well ? 1 : 0, y: 1 })));
  const pipelineOf = () => {
    const { config } = loadConfig(path.join(installed.folder, 'recalld.yaml'), {});
    const [plan] = createVariantPlans(config);
    const [pipeline] = createPipelines(config, silentLogger);
    if (plan === undefined || pipeline?.shadows[0] === undefined) throw new Error('there is nothing to compare');
    return { plan, shadow: pipeline.shadows[0] };
  };

  it('exits with 1 and states in plain words that the variant is worse', async () => {
    expect(await installed.recalld('variants report --pipeline docs')).toMatchObject({ code: 0 });
    const counts = { 'sessions a': 200, 'sessions b': 200, mixed: 0, unnamed: 0 };
    const day = { counts, sums: { 'a positive_feedback': sums(180), 'b positive_feedback': sums(100) } };
    for (const at of ['2026-11-18', '2026-11-19', '2026-11-20']) {
      await installed.query(
        `insert into interim_analyses (pipeline, experiment, fingerprint, series, place, result, analysed_at)
         values ('docs', 'variant', $1, 'traffic', $2::date - '1970-01-01'::date, $3, now())`,
        pipelineOf().plan.fingerprint,
        at,
        JSON.stringify({ ...day, day: at }),
      );
    }
    const { code, stdout } = await installed.recalld('variants report --pipeline docs');
    expect(code).toBe(1);
    expect(stdout).toContain('The session split is as declared: a 600');
    expect(stdout).toMatch(/^b regression\nThe candidate is worse\./m);
    expect(stdout).toMatch(
      /Positive feedback +regression since 2026-11-19 +90 % +50 % +\u221240 % \(\u2212[\d.]+ % to \u2212[\d.]+ %\) +600, 600/,
    );
  });

  it('exits with 1 for a session split that differs from the declared split, and compares no arms', async () => {
    await installed.query(
      `update interim_analyses set result = jsonb_set(result, '{counts,sessions b}', '100') where series = 'traffic'`,
    );
    const { code, stdout } = await installed.recalld('variants report --pipeline docs');
    expect(code).toBe(1);
    expect(stdout).toContain('differs from the declared split');
    expect(stdout).not.toContain('beside a');
  });

  it('exits with 1 for a shadow that is worse on judged live queries', async () => {
    const { shadow } = pipelineOf();
    const before = await installed.recalld('shadow report --pipeline docs --shadow next');
    expect(before).toMatchObject({ code: 0 });
    expect(before.stdout).toContain('will be known after some days with graded queries');
    const pairs = Array.from({ length: 200 }, (_, i) => ({
      cluster: i,
      probability: 1,
      baseline: 0.75,
      candidate: i % 4 === 0 ? 0.25 : 0.75,
    }));
    const day = sumPairs('2026-11-20', pairs, 0);
    await installed.query(
      `insert into interim_analyses (pipeline, experiment, fingerprint, series, place, result, analysed_at)
       values ('docs', 'next', $1, 'judged@5', $2::date - '1970-01-01'::date, $3, now())`,
      shadow.fingerprint,
      day.day,
      JSON.stringify(day),
    );
    const { code, stdout } = await installed.recalld('shadow report --pipeline docs --shadow next');
    expect(code).toBe(1);
    expect(stdout).toMatch(/nDCG@5, judged live queries +regression since 2026-11-20 +0\.75 +0\.625/);
  });
});
