import { describe, expect, it, onTestFinished } from 'vitest';
import { alertLabel, alertNames } from '../../src/demo/demo-config.ts';
import { readDemoAnswers, readDemoQuestions } from '../../src/demo/rag/corpus.ts';
import { gapOf } from '../../src/demo/rag/fault.ts';
import { documents, startFaultServer } from '../support/fault-server.ts';
import { aFolder, descendantsOf, isAlive, runAsBuilt, runRecalld, spawnRecalld } from '../support/recalld.ts';
import { waitFor } from '../support/wait-for.ts';

runAsBuilt();

/** Alerts that each incident may cause, in the order of the incidents; any other alert is a false alert. */
const caused: readonly (readonly string[])[] = [
  [alertNames.scores, alertNames.density],
  [alertNames.density],
  [alertNames.staleLabels, alertNames.scores, alertNames.density],
  [alertNames.canary, alertNames.scores, alertNames.density],
  [alertNames.latency],
  [alertNames.goldenFailures, alertNames.retrieverErrors, alertNames.scores, alertNames.liveErrors, alertNames.density],
  [alertNames.liveHits],
];

/** Names of each incident's alerts, as listed in the output. */
function reportedAlerts(stdout: string): string[][] {
  const incidents = stdout.split(/^Incident \d of \d: /m).slice(1);
  return incidents.map((incident) =>
    [...incident.matchAll(/^ {2}(?:page|ticket) +(.+?), detected after /gm)].map(([, name = '']) => name),
  );
}

/** True if the text contains a question about the missing article, regardless of line breaks. */
async function asksAboutMissing(text: string): Promise<boolean> {
  const [questions, answers] = await Promise.all([readDemoQuestions(), readDemoAnswers()]);
  const words = text.replaceAll(/\s+/g, ' ');
  return questions.some((one) => gapOf(answers.get(one.id) ?? '') === 'article' && words.includes(one.text));
}

describe('recalld demo', () => {
  it('detects, diagnoses and resolves every incident without a false alert, and exits with 0', async () => {
    const { code, stdout, stderr } = await runRecalld(['demo', '--once', '--port', '0'], await aFolder());
    expect(code, stdout + stderr).toBe(0);
    expect(stderr).toBe('');
    const lines = stdout.split('\n');
    const head = lines.findIndex((line) => line.startsWith('incident '));
    const cells = lines.slice(head + 1, head + 8).map((line) => line.split(/ {2,}/));
    const oneRun = expect.stringMatching(/^1 run, [\d\u202f]+ queries$/);
    expect(cells).toEqual([
      ['index loses documents', 'ndcg@10 below 0.7 (page)', oneRun, 'index_lost_documents', '0'],
      [
        'uncovered topic, 20 %',
        expect.stringMatching(/^density drift \((page|ticket)\)$/),
        expect.stringMatching(/^\d runs?, [\d\u202f]+ queries$/),
        'uncovered_topic',
        '0',
      ],
      ['documents re-chunked', 'ndcg@10 below 0.7 (page)', oneRun, 'corpus_changed', '0'],
      ['embedding model changed', 'ndcg@10 below 0.7 (page)', oneRun, 'embedding_model', '0'],
      ['retriever slow', 'p95 latency above 0.5 s (ticket)', oneRun, 'retriever_slow', '0'],
      ['retriever down', 'error_ratio above 0.2 (page)', oneRun, 'retriever_outage', '0'],
      [
        'answers missing, 80 %',
        expect.stringMatching(/^live_hit_rate below 0\.65 \((page|ticket)\)$/),
        expect.stringMatching(/^\d runs?, [\d\u202f]+ queries$/),
        'unlike_golden',
        '0',
      ],
    ]);
    expect(stdout.match(/All\s+alerts\s+resolved\s+after\s+\d+\s+h\./g)).toHaveLength(7);
    expect(reportedAlerts(stdout)).toHaveLength(7);
    for (const [index, names] of reportedAlerts(stdout).entries()) {
      expect(names.length).toBeGreaterThan(0);
      expect(caused[index]?.map(alertLabel)).toEqual(expect.arrayContaining(names));
    }
    const topic = /topic {7}".+?", .+? of traffic.+?\n {2}details/s.exec(stdout)?.[0] ?? '';
    expect(await asksAboutMissing(topic), topic).toBe(true);
    // Golden runs and query density do not detect the last incident.
    expect(stdout).toMatch(
      /live {8}[\d.]+ % of live queries got a document that contains the answer .+Golden\s+ndcg@10\s+is\s+still\s+0\.8/s,
    );
    expect(stdout).toContain('Every step went as expected.');
    expect(stdout).toContain('\n  npx recalld init URL --questions FILE\n');
    // The output has no colors, because stdout is not a terminal.
    expect(stdout).not.toContain('\u001b');
  }, 900_000);

  it('detects a broken agent in its exported spans, and its simulated users keep sending spans', async () => {
    const demo = spawnRecalld(['demo', '--fault', 'agent', '--port', '0'], await aFolder());
    const url = await waitFor(() => /runs in real time[^]+?(http:\S+)\/pipelines/.exec(demo.stdout())?.[1], {
      timeoutMs: 800_000,
    });
    const stdout = demo.stdout();
    expect(stdout).toContain('Every step went as expected.');
    expect(reportedAlerts(stdout)).toEqual([[alertNames.rewriting]]);
    expect(/^rewriter answers +(.+?) {2,}.* {2,}query_rewriting {2,}0$/m.exec(stdout)?.[1]).toBe(
      'rewrite_answer_ratio above 0.1 (page)',
    );
    await waitFor(async () => {
      const metrics = await (await fetch(`${url}/metrics`)).text();
      return /^recalld_trace_spans_total\{outcome="live_query"\} [1-9]/m.test(metrics);
    });
    demo.child.kill('SIGINT');
    expect((await demo.finished).stderr).toBe('');
  }, 900_000);

  it('suggests another port if its port is in use', async () => {
    const other = await startFaultServer(documents([]));
    onTestFinished(() => other.close());
    const { port } = new URL(other.url);
    const { code, stderr } = await runRecalld(['demo', '--once', '--port', port], await aFolder());
    expect(code, stderr).toBe(2);
    expect(stderr).toBe(
      `recalld: Port ${port} is in use by another process. Choose another port with --port, or use --port 0 for any free port.\n`,
    );
  });

  it('leaves no process behind if it is interrupted during startup', async () => {
    const demo = spawnRecalld(['demo', '--port', '0'], await aFolder());
    const family = await waitFor(() => {
      const pids = descendantsOf(demo.pid);
      return pids.length > 0 ? pids : undefined;
    });
    demo.child.kill('SIGINT');
    const { code, stderr } = await demo.finished;
    expect(code, stderr).toBe(130);
    expect(stderr).toBe('');
    await waitFor(() => family.every((pid) => !isAlive(pid)));
  });
});
