/** Tests judged live relevance as users see it: command line, HTTP API, the page for graders, and metrics. */
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, it } from 'vitest';
import { accessibilityProblems, clippedParts, describeWithBrowser, useBrowser } from '../support/browser.ts';
import { startFaultServer } from '../support/fault-server.ts';
import { anInstallation } from '../support/installation.ts';
import { documentOf, judgeWithBias } from '../support/judging-world.ts';
import { waitFor } from '../support/wait-for.ts';

const config = (judge: string, retriever: string): string => `
server: {port: 0}
# The same draws each time.
storage: {hash_key: a key of sixteen bytes or more}
llm: {max_per_second: 1000, base_url: "${judge}", model: stand-in, price_per_million_tokens: {input: 1, output: 1}}
pipelines:
  - name: docs
    retriever: {kind: http, url: "${retriever}", timeout_ms: 60000, results: {list: results, id: id, text: text}}
    sampling: {rate: 1, max_per_minute: 1000000}
    judged: {queries_per_day: 2400, depth: 3, max_cost_per_day: 50, human_share: 0.4, second_reviewer_share: 0.5}
    checks: [{measure: live_precision@3, below: 0.9, severity: warning}]
`;

interface Status {
  readonly judged: { readonly model: number; readonly person: number };
  readonly people: {
    readonly drawn: number;
    readonly graded: number;
    readonly sessions: number;
    readonly graded_by_two: number;
    readonly agreement: { readonly kappa: number; readonly n: number } | null;
  };
  readonly cost_today_dollars: number;
  readonly agreement: { readonly kappa: number } | null;
  readonly scores: readonly { readonly measure: string; readonly ci_low: number; readonly ci_high: number }[];
}

describeWithBrowser('judged live relevance', () => {
  const browser = useBrowser();

  it('combines grades of the judge and of people into scores for all traffic', async () => {
    const judge = await startFaultServer(judgeWithBias(1));
    const retriever = await startFaultServer((request, response) => {
      const { query } = JSON.parse(request.body) as { query: string };
      const results = [1, 2, 3].map((rank) => documentOf(query, rank)).map(({ id, text }) => ({ id, text }));
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ results }));
    });
    const { folder, recalld, json, serve, spawn, query } = await anInstallation({
      'recalld.yaml': config(judge.url, retriever.url),
    });
    try {
      // Starts no scheduler, because its hourly job would judge the queries before this test's commands run.
      const daemon = await serve('--roles', 'api,worker');
      const examined = await recalld('doctor');
      expect(examined.stdout).toContain(`to ${judge.url}, and costs at most $50 a day.`);
      expect((await recalld('judge run --pipeline docs')).stdout).toContain('0 queries selected.');
      const queries = Array.from({ length: 300 }, (_, i) => ({
        id: `q${i}`,
        pipeline: 'docs',
        text: `question ${i}`,
        session_id: `session ${i}`,
        results: [1, 2, 3].map((rank) => ({ id: documentOf(`question ${i}`, rank).id })),
      }));
      expect(await daemon.post('/v1/queries', queries)).toMatchObject({ status: 202 });
      // Simulates that an hour has passed.
      await query(`update live_queries set received_at = received_at - interval '1 hour'`);
      await query(`update live_query_counts set minute = minute - interval '1 hour'`);
      await query(
        `update judging_rounds set started_at = started_at - interval '1 hour', drawn_until = drawn_until - interval '1 hour'`,
      );
      // A killed process leaves the remaining queries to the next process.
      const asked = judge.requests.length;
      const killed = spawn('judge run --pipeline docs');
      judge.respondWith((request, response) => {
        if (judge.requests.length < asked + 25) judgeWithBias(1)(request, response);
        else process.kill(killed.pid, 'SIGKILL');
      });
      expect((await killed.finished).signal).toBe('SIGKILL');
      judge.respondWith(judgeWithBias(1));
      // Simulates that the lease of the killed process has expired.
      await query(`update judged_queries set due_at = now() where state = 'open'`);
      const before = await json<Status>('judge run --pipeline docs --json');
      const [stored] = await query<{ model: number; open: number; unpaired: number }>(
        `select (select count(*)::integer from judgments where judge = 'model' and grade is not null) as model,
                (select count(*)::integer from judged_queries where state = 'open') as open,
                (select count(*)::integer from judged_queries q where outcome = 'ok' and jsonb_array_length(documents)
                   <> (select count(*) from judgments j where j.query_id = q.query_id)) as unpaired`,
      );
      expect(stored).toMatchObject({ open: 0, unpaired: 0 });
      // No call was repeated except the one in progress, whose cost stays reserved.
      expect(judge.requests.length - asked).toBe((stored?.model ?? 0) + 1);
      expect(before.cost_today_dollars).toBeGreaterThan(before.judged.model * 3 * 510e-6);
      expect(before.judged.model).toBeGreaterThan(60);
      expect(before.scores.map(({ measure }) => measure)).toContain('live_precision_uncorrected@3');
      expect(before.cost_today_dollars).toBeGreaterThan(0);

      // A person enters grades in a file.
      await recalld('judge review --pipeline docs --out review.jsonl --queries 12');
      const file = path.join(folder, 'review.jsonl');
      const lines = (await readFile(file, 'utf8')).trim().split('\n');
      expect(lines.length).toBe(12);
      expect(lines.join('')).not.toContain('model');
      const graded = lines.map((line) => {
        const one = JSON.parse(line) as { documents: { text: string; grade: number | null }[] };
        for (const document of one.documents) document.grade = Number(/quality (\d)/.exec(document.text)?.[1]);
        return JSON.stringify(one);
      });
      await writeFile(file, graded.join('\n'));
      expect(await json('judge import review.jsonl --pipeline docs --json')).toEqual({ accepted: 36, rejected: 0 });
      const after = await json<Status>('judge run --pipeline docs --json');
      expect(after.people).toMatchObject({ graded: 12, sessions: 12, graded_by_two: 0, agreement: null });
      expect(after.agreement?.kappa).toBeLessThan(0.95);
      const precision = after.scores.find(({ measure }) => measure === 'live_precision@3');
      const truth =
        queries.flatMap(({ text }) => [1, 2, 3].map((rank) => documentOf(text, rank).quality)).filter((g) => g > 1)
          .length / 900;
      expect(precision?.ci_low).toBeLessThan(truth);
      expect(precision?.ci_high).toBeGreaterThan(truth);
      await waitFor(async () => (await daemon.metrics()).includes('recalld_live_precision{'));
      const metrics = await daemon.metrics();
      expect(metrics).toContain('recalld_live_judged_queries{pipeline="docs",judge="person"} 12');
      expect(metrics).toContain('recalld_judge_agreement_sessions{pipeline="docs"} 12');
      expect(metrics).toContain('recalld_judge_min_agreement{pipeline="docs"} 0.4');
      expect(metrics).toMatch(/recalld_judge_agreement_ci_low\{pipeline="docs"\} /);
      expect(metrics).not.toContain('recalld_live_precision_uncorrected{');

      // A second grader must use another key or another user, because a request cannot name its grader. Here, the
      // second grader is a program with a key.
      const forTwo = new Set(
        (await query<{ id: string }>(`select query_id as id from judged_queries where needs_second_human`)).map(
          ({ id }) => id,
        ),
      );
      const both = lines
        .map((line) => JSON.parse(line) as { query_id: string; documents: { id: string; text: string }[] })
        .filter(({ query_id: id }) => forTwo.has(id));
      expect(both.length).toBeGreaterThan(1);
      expect(both.length).toBeLessThan(12);
      const seconds = both.flatMap(({ query_id, documents }) =>
        documents.map(({ id: document_id, text }) => ({
          query_id,
          document_id,
          pipeline: 'docs',
          grade: Number(/quality (\d)/.exec(text)?.[1]),
        })),
      );
      expect(await daemon.call('POST', '/v1/judgments', seconds)).toMatchObject({
        status: 201,
        json: { accepted: 3 * both.length, rejected: [] },
      });
      expect(await daemon.call('POST', '/v1/judgments', [{ ...seconds[0], person: 'ben' }])).toMatchObject({
        status: 400,
      });
      const { people: byTwo } = await json<Status>('judge run --pipeline docs --json');
      expect(byTwo).toMatchObject({
        graded: 12,
        graded_by_two: both.length,
        agreement: { kappa: 1, n: 3 * both.length },
      });
      expect((await recalld('judge status --pipeline docs')).stdout).toMatch(
        new RegExp(`Agreement between two people \\(weighted kappa\\): 1 .*\\. Two people graded ${both.length} of `),
      );
      await waitFor(async () => (await daemon.metrics()).includes('recalld_human_agreement{pipeline="docs"} 1'));

      // On the page, a person enters a grade and withdraws it.
      const address = '/pipelines/docs/judge';
      const cookie = await signIn(daemon.url, daemon.apiKey);
      const show = async (where: string): Promise<string> =>
        (await fetch(daemon.url + where, { headers: { cookie } })).text();
      const page = await show(address);
      expect(page).toContain(', 12 in the last 24 hours');
      expect(page).toContain('Agreement between two people (weighted kappa): 1 ');
      expect(page).toMatch(/Spent today \(UTC\)<\/dt><dd>\$\d/);
      const field = (name: string): string => new RegExp(`name="${name}" value="([^"]*)"`).exec(page)?.[1] ?? '';
      const grade = (given: Record<string, string>) =>
        fetch(`${daemon.url}${address}/grade`, {
          method: 'POST',
          headers: { cookie, origin: daemon.url },
          redirect: 'manual',
          body: new URLSearchParams({
            form_token: field('form_token'),
            query: field('query'),
            document: field('document'),
            ...given,
          }),
        });
      const people = (): Promise<{ count: string }[]> => query(`select count(*) from judgments where judge = 'person'`);
      const typed = await grade({ typed: '2' });
      expect(typed.status).toBe(303);
      expect(await people()).toEqual([{ count: '37' }]);
      expect(await show(typed.headers.get('location') ?? '')).toContain('Undo the last grade');
      expect((await grade({ grade: 'none' })).status).toBe(303);
      expect(await people()).toEqual([{ count: '36' }]);
      expect((await grade({ typed: '7' })).status).toBe(400);
      // The skipped query is replaced by another.
      expect(await show(`${address}?skip=${encodeURIComponent(field('query'))}`)).not.toContain(
        `name="query" value="${field('query')}"`,
      );

      // In a phone browser, a person grades with a digit and Enter, or with a tap.
      const { page: phone } = await browser.page(new URL(daemon.url).host, { viewport: { width: 390, height: 800 } });
      await phone.goto(`${daemon.url}/sign-in`);
      await phone.fill('input[name=key]', daemon.apiKey);
      await phone.keyboard.press('Enter');
      await phone.waitForURL((url) => url.pathname === '/');
      await phone.goto(daemon.url + address);
      expect(await accessibilityProblems(phone)).toEqual([]);
      expect(await clippedParts(phone)).toEqual([]);
      await phone.focus('input[name=typed]');
      await phone.keyboard.type('3');
      await phone.keyboard.press('Enter');
      await phone.waitForURL((url) => url.searchParams.has('last'));
      expect(await people()).toEqual([{ count: '37' }]);
      await phone.click('button[value="1"][accesskey="1"]');
      await waitFor(async () => (await people())[0]?.count === '38');
      await phone.click('button[value=none]');
      await waitFor(async () => (await people())[0]?.count === '37');

      // A user's program submits a grade through the API.
      const [judgment] = (await (await daemon.fetch('/v1/judgments?pipeline=docs&limit=1000')).json()).items.filter(
        (one: { judge: string }) => one.judge === 'model',
      ) as { query_id: string; document_id: string }[];
      const { query_id, document_id } = judgment ?? { query_id: '', document_id: '' };
      const posted = await daemon.call('POST', '/v1/judgments', {
        query_id,
        document_id,
        pipeline: 'docs',
        grade: 2,
        judge: 'person',
      });
      expect(posted).toMatchObject({ status: 201, json: { accepted: 1, rejected: [] } });
      expect(
        await daemon.call('POST', '/v1/judgments', [{ query_id: 'nobody', document_id, pipeline: 'docs', grade: 2 }]),
      ).toMatchObject({ status: 404, json: { code: 'judgment_unknown' } });
      expect(
        await daemon.call('POST', '/v1/judgments', { query_id, document_id, pipeline: 'docs', grade: 4 }),
      ).toMatchObject({ status: 400 });
    } finally {
      await Promise.all([judge.close(), retriever.close()]);
    }
  }, 120_000);
});

/** Signs in with a key and returns the session cookie. */
async function signIn(url: string, key: string): Promise<string> {
  const answer = await fetch(`${url}/sign-in`, {
    method: 'POST',
    headers: { origin: url },
    redirect: 'manual',
    body: new URLSearchParams({ key }),
  });
  return (answer.headers.getSetCookie()[0] ?? '').split(';')[0] ?? '';
}
