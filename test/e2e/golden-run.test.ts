/** Golden runs against healthy, broken and unusual retrievers. */
import { describe, expect, it, onTestFinished } from 'vitest';
import type { RunSummaryJson } from '../../src/golden/run-summary-schema.ts';
import {
  documents,
  fewer,
  hang,
  html,
  type Responder,
  share,
  startFaultServer,
  status,
  withDuplicates,
  withNumericIds,
  withoutScores,
} from '../support/fault-server.ts';
import { anInstallation } from '../support/installation.ts';
import type { Finished } from '../support/recalld.ts';
import { waitFor } from '../support/wait-for.ts';
import { aConfig, aGoldenCsv, type ConfigOptions, rightAnswer } from './golden-files.ts';

const QUERIES = 40;
const IMPORT = 'golden import faq.csv --set faq';
const RUN = 'golden run --pipeline docs --set faq';

interface Ran extends Finished {
  readonly summary: RunSummaryJson;
}

async function runGolden(responder: Responder, options: Partial<ConfigOptions> = {}): Promise<Ran> {
  const server = await startFaultServer(responder);
  onTestFinished(() => server.close());
  return runAgainst(server.url, options);
}

async function runAgainst(url: string, options: Partial<ConfigOptions> = {}): Promise<Ran> {
  const { recalld } = await anInstallation({
    'recalld.yaml': aConfig({ url, ...options }),
    'faq.csv': aGoldenCsv(QUERIES),
  });
  expect(await recalld(IMPORT)).toMatchObject({
    code: 0,
    stdout: expect.stringContaining(`Imported faq version 1: ${QUERIES} queries, ${QUERIES} judgments.\n`) as string,
  });
  const ran = await recalld(`${RUN} --json`);
  return { ...ran, summary: JSON.parse(ran.stdout) as RunSummaryJson };
}

describe('golden run --debug', () => {
  const asked = async (responder: Responder, ...more: readonly string[]) => {
    const server = await startFaultServer(responder);
    onTestFinished(() => server.close());
    const { recalld } = await anInstallation({
      'recalld.yaml': aConfig({ url: server.url }),
      'faq.jsonl': '{"id": "q7", "text": "question 7", "relevant": ["d7", "d8"]}\n',
    });
    await recalld('golden import faq.jsonl --set faq');
    const shown = await recalld(`${RUN} --debug q7`, ...more);
    return { shown, runs: await recalld('runs list --json') };
  };

  it('shows the request, the response and the scores of one query, and stores no run', async () => {
    const { shown, runs } = await asked(documents(rightAnswer), '--json');
    expect(shown.code).toBe(0);
    const debugged = JSON.parse(shown.stdout) as Record<string, unknown>;
    expect(debugged).toMatchObject({
      query: { id: 'q7', text: 'question 7' },
      exchanges: [
        {
          request: expect.stringMatching(/^POST http:.*"query":"question 7"/) as string,
          answer: expect.stringContaining('"d7"') as string,
        },
      ],
      outcome: 'ok',
      documents: [
        { rank: 1, id: 'd7', grade: 1 },
        { rank: 2, id: 'd1007', grade: null },
        { rank: 3, id: 'd2007', grade: null },
      ],
      missed: ['d8'],
      scores: { 'hit_rate@10': 1, 'recall@10': 0.5, 'mrr@10': 1 },
    });
    expect(JSON.parse(runs.stdout)).toEqual([]);
  });

  it('shows the response of a broken retriever', async () => {
    const { shown } = await asked(html());
    expect(shown.code).toBe(0);
    expect(shown.stdout).toContain('query      q7: question 7');
    expect(shown.stdout).toContain('<title>Sign in');
    expect(shown.stdout).toContain('The response has no documents.');
  });

  it('rejects an unknown query and names it', async () => {
    const { recalld } = await anInstallation({
      'recalld.yaml': aConfig({ url: 'http://127.0.0.1:9' }),
      'faq.csv': aGoldenCsv(1),
    });
    await recalld(IMPORT);
    expect(await recalld(`${RUN} --debug q99`)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('has no query "q99"') as string,
    });
  });
});

describe('a golden run', () => {
  it('scores 1, with a confidence interval and n, for a retriever that is always right', async () => {
    const { code, summary } = await runGolden(documents(rightAnswer), {
      checks: '[{measure: ndcg@10, below: 0.8}]',
    });
    expect(code).toBe(0);
    expect(summary).toMatchObject({
      pipeline: 'docs',
      golden_set: 'faq',
      golden_set_version: 1,
      status: 'completed',
      baseline: null,
      verdict: 'ok',
    });
    expect(summary.queries).toEqual({
      total: QUERIES,
      ok: QUERIES,
      empty: 0,
      error: 0,
      timeout: 0,
      stale: null,
    });
    expect(summary.metrics['ndcg@10']).toMatchObject({ mean: 1, n: QUERIES, ci_high: 1 });
    expect(summary.metrics['precision@5']).toMatchObject({ mean: 0.2, n: QUERIES });
    expect(summary.checks).toMatchObject([{ severity: 'critical', verdict: 'ok', value: 1, threshold: 0.8 }]);
  });

  it('exits with 1 and the reason when a threshold is breached', async () => {
    const { code, summary } = await runGolden(documents([{ id: 'nothing', score: 1 }]), {
      checks: '[{measure: hit_rate@5, below: 0.5}]',
    });
    expect(code).toBe(1);
    expect(summary.verdict).toBe('critical');
    expect(summary.checks).toMatchObject([
      {
        value: 0,
        threshold: 0.5,
        verdict: 'critical',
        explanation: expect.stringContaining('n = 40') as string,
      },
    ]);
  });

  const strange: readonly {
    name: string;
    responder: Responder;
    outcomes: Partial<RunSummaryJson['queries']>;
    ndcg: number;
  }[] = [
    {
      name: 'responds with 500 to a tenth of the queries',
      responder: share(0.1, status(500), documents(rightAnswer)),
      outcomes: { ok: 36, error: 4 },
      ndcg: 0.9,
    },
    {
      name: 'responds with HTML to a quarter of the queries',
      responder: share(0.25, html(), documents(rightAnswer)),
      outcomes: { ok: 30, error: 10 },
      ndcg: 0.75,
    },
    {
      name: 'hangs on a tenth of the queries',
      responder: share(0.1, hang(), documents(rightAnswer)),
      outcomes: { ok: 36, timeout: 4 },
      ndcg: 0.9,
    },
    {
      name: 'finds nothing for half of the queries',
      responder: share(0.5, documents([]), documents(rightAnswer)),
      outcomes: { ok: 20, empty: 20 },
      ndcg: 0.5,
    },
    {
      name: 'returns each document twice',
      responder: documents((r) => withDuplicates(rightAnswer(r))),
      outcomes: { ok: 40 },
      ndcg: 1,
    },
    {
      name: 'returns fewer documents than requested',
      responder: documents((r) => fewer(rightAnswer(r), 1)),
      outcomes: { ok: 40 },
      ndcg: 1,
    },
    {
      name: 'returns no scores',
      responder: documents((r) => withoutScores(rightAnswer(r))),
      outcomes: { ok: 40 },
      ndcg: 1,
    },
    {
      name: 'returns ids as numbers that match no judgment',
      responder: documents((r) => withNumericIds(rightAnswer(r))),
      outcomes: { ok: 40 },
      ndcg: 0,
    },
  ];
  it.each(strange)(
    'counts every query, and credits only correct results, when the retriever $name',
    async ({ responder, outcomes, ndcg }) => {
      const { summary } = await runGolden(responder, { retriever: 'timeout_ms: 500, retries: 0' });
      expect(summary.status).toBe('completed');
      expect(summary.queries).toMatchObject({
        total: QUERIES,
        ok: 0,
        empty: 0,
        error: 0,
        timeout: 0,
        ...outcomes,
      });
      expect(summary.metrics['ndcg@10']).toMatchObject({ n: QUERIES });
      expect(summary.metrics['ndcg@10']?.mean).toBeCloseTo(ndcg, 9);
    },
  );

  it('is void, without any score, when more queries fail than the error budget allows', async () => {
    const { code, summary } = await runGolden(share(0.2, status(500), documents(rightAnswer)), {
      retriever: 'retries: 0',
      golden: 'on_error: void, error_budget: 0.05',
      checks: '[{measure: ndcg@10, below: 0.5}]',
    });
    expect(code).toBe(1);
    expect(summary).toMatchObject({ status: 'void', metrics: {}, verdict: 'no_data' });
    expect(summary.reason).toBe('20 % of the queries failed, above the error budget of 5 %.');
    expect(summary.checks[0]?.verdict).toBe('no_data');
  });

  it('stops sending queries, counts every query as failed, and exits with 3 when the retriever is down', async () => {
    const { code, stderr, summary } = await runAgainst('http://127.0.0.1:9', { retriever: 'retries: 0' });
    expect(code).toBe(3);
    expect(stderr).toMatch(
      /^recalld: The retriever of pipeline "docs" failed for every query: http:\/\/127\.0\.0\.1:9\S* refused the connection; .* \(\d+ of 40 queries; \d+ more were not sent\)\. Start the retriever, or correct its address under `retriever`\.\n$/,
    );
    expect(summary.queries).toMatchObject({ ok: 0, error: QUERIES });
    expect(summary.metrics['ndcg@10']?.mean).toBe(0);
  });

  it('names the host that does not resolve and exits with 3', async () => {
    const { code, stderr } = await runAgainst('http://no-such-host.invalid', { retriever: 'retries: 0' });
    expect(code).toBe(3);
    expect(stderr).toMatch(/no-such-host\.invalid/);
    expect(stderr).not.toMatch(/ at .*\.js/);
  });

  it('scores each configured segment', async () => {
    const wrongForOdd = documents((request) => rightAnswer(request).filter((d) => Number(d.id.slice(1)) % 2 === 0));
    const server = await startFaultServer(wrongForOdd);
    onTestFinished(() => server.close());
    const config = `${aConfig({ url: server.url })}    segments: {keys: [course]}\n`;
    const { recalld, json } = await anInstallation({
      'recalld.yaml': config,
      'faq.csv': aGoldenCsv(QUERIES),
    });
    await recalld(IMPORT);
    const { segments } = await json<RunSummaryJson>(RUN);
    expect(segments['course=even']?.['hit_rate@1']).toMatchObject({ mean: 1, n: 20 });
    expect(segments['course=odd']?.['hit_rate@1']).toMatchObject({ mean: 0, n: 20 });
  });

  it('can be read query by query after it ends, and so can its golden set', async () => {
    const server = await startFaultServer(share(0.5, status(404), documents(rightAnswer)));
    onTestFinished(() => server.close());
    const { recalld, json } = await anInstallation({
      'recalld.yaml': aConfig({ url: server.url }),
      'faq.csv': aGoldenCsv(2),
    });
    await recalld(IMPORT);
    const { run_id: runId } = await json<RunSummaryJson>(RUN);
    const { answers } = await json<{ answers: { outcome: string }[] }>(`runs show ${runId} --per-query`);
    expect(answers.toSorted((a, b) => (a.outcome < b.outcome ? -1 : 1))).toMatchObject([
      { outcome: 'error', error_code: 'http_404', attempts: 1, documents: [] },
      {
        outcome: 'ok',
        error_code: null,
        attempts: 1,
        documents: [{ score: 1 }, { score: 0.9 }, { score: 0.8 }],
      },
    ]);
    expect(await json('golden show faq')).toMatchObject({
      golden_set: 'faq',
      version: 1,
      queries: [
        { text: 'question 0', tags: { course: 'even' }, judgments: [{ document_id: 'd0', grade: 1 }] },
        { text: 'question 1', tags: { course: 'odd' }, judgments: [{ document_id: 'd1', grade: 1 }] },
      ],
    });
  });

  it('can be cancelled once by `golden cancel` from another terminal', async () => {
    const server = await startFaultServer(hang());
    onTestFinished(() => server.close());
    const { recalld, json, spawn } = await anInstallation({
      'recalld.yaml': aConfig({ url: server.url, retriever: 'timeout_ms: 60000' }),
      'faq.csv': aGoldenCsv(QUERIES),
    });
    await recalld(IMPORT);
    const running = spawn(`${RUN} --json`);
    await waitFor(() => server.requests.length > 0);
    const [run] = await json<RunSummaryJson[]>('runs list');
    expect(run).toMatchObject({ status: 'running', provisional: true });
    const id = run?.run_id ?? '';
    expect(await recalld(`golden cancel ${id}`)).toMatchObject({
      code: 0,
      stdout: `Run ${id} is cancelled.\n`,
    });
    const { stdout } = await running.finished;
    expect(JSON.parse(stdout)).toMatchObject({ run_id: id, status: 'cancelled', verdict: 'no_data' });
    const again = await recalld(`golden cancel ${id}`);
    expect(again.code).toBe(2);
    expect(again.stderr).toContain('only a run in progress can be cancelled');
  });

  it('is marked as cancelled when Ctrl-C interrupts it', async () => {
    const server = await startFaultServer(hang());
    onTestFinished(() => server.close());
    const { recalld, json, spawn } = await anInstallation({
      'recalld.yaml': aConfig({ url: server.url }),
      'faq.csv': aGoldenCsv(QUERIES),
    });
    await recalld(IMPORT);
    const running = spawn(RUN);
    await waitFor(() => server.requests.length > 0);
    running.child.kill('SIGINT');
    expect(await running.finished).toMatchObject({ code: 130, stdout: '' });
    expect(await json('runs list')).toMatchObject([{ status: 'cancelled', verdict: 'no_data', metrics: {} }]);
  });
});
