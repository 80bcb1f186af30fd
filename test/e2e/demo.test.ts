import { describe, expect, it, onTestFinished } from 'vitest';
import { alertLabel, alertNames } from '../../src/demo/demo-config.ts';
import { readDemoAnswers, readDemoQuestions } from '../../src/demo/rag/corpus.ts';
import { gapOf } from '../../src/demo/rag/fault.ts';
import { documents, startFaultServer } from '../support/fault-server.ts';
import { aFolder, descendantsOf, isAlive, runAsBuilt, runRecalld, spawnRecalld } from '../support/recalld.ts';
import { waitFor } from '../support/wait-for.ts';

runAsBuilt();

/** What each fault of the story brings about, in its order; anything else is a false alarm. */
const caused: readonly (readonly string[])[] = [
  [alertNames.scores, alertNames.density],
  [alertNames.density],
  [alertNames.staleLabels, alertNames.scores, alertNames.density],
  [alertNames.canary, alertNames.scores, alertNames.density],
  [alertNames.latency],
  [alertNames.goldenFailures, alertNames.retrieverErrors, alertNames.scores, alertNames.liveErrors, alertNames.density],
  [alertNames.liveHits],
];

/** Alarms of each chapter, in the order of the story. */
function reportedAlerts(stdout: string): string[][] {
  const chapters = stdout.split(/^\d of \d {2}/m).slice(1);
  return chapters.map((chapter) =>
    [...chapter.matchAll(/^ {2}(?:critical|warning) +(.+?) after /gm)].map(([, name = '']) => name),
  );
}

/** Whether the text, in which lines are broken, has a question about the article that is missing. */
async function asksAboutMissing(text: string): Promise<boolean> {
  const [questions, answers] = await Promise.all([readDemoQuestions(), readDemoAnswers()]);
  const words = text.replaceAll(/\s+/g, ' ');
  return questions.some((one) => gapOf(answers.get(one.id) ?? '') === 'article' && words.includes(one.text));
}

describe('recalld demo', () => {
  it('tells of every fault: its alarm, its cause, its repair, no false alarm, and exits with 0', async () => {
    const { code, stdout, stderr } = await runRecalld(['demo', '--once', '--port', '0'], await aFolder());
    expect(code, stdout + stderr).toBe(0);
    expect(stderr).toBe('');
    const lines = stdout.split('\n');
    const head = lines.findIndex((line) => line.startsWith('fault '));
    const cells = lines.slice(head + 1, head + 8).map((line) => line.split(/ {2,}/));
    const oneRun = expect.stringMatching(/^1 run, \d+ queries$/);
    expect(cells).toEqual([
      ['index loses documents', 'ndcg@10 below 0.7 (page)', oneRun, 'index_lost_documents', '0'],
      [
        'uncovered topic, 20 %',
        expect.stringMatching(/^density drift \((page|ticket)\)$/),
        expect.stringMatching(/^\d runs?, \d+ queries$/),
        'uncovered_topic',
        '0',
      ],
      ['documents are re-chunked', 'ndcg@10 below 0.7 (page)', oneRun, 'corpus_changed', '0'],
      ['embedding model changes', 'ndcg@10 below 0.7 (page)', oneRun, 'embedding_model', '0'],
      ['retriever slows', 'p95 latency above 0.5 s (ticket)', oneRun, 'retriever_slow', '0'],
      ['retriever dies', 'error_ratio above 0.2 (page)', oneRun, 'retriever_outage', '0'],
      [
        'answers missing, 80 %',
        expect.stringMatching(/^live_hit_rate below 0\.65 \((page|ticket)\)$/),
        expect.stringMatching(/^\d runs?, \d+ queries$/),
        'unlike_golden',
        '0',
      ],
    ]);
    expect(stdout.match(/Nothing\s+is\s+in\s+alarm\s+any\s+more\s+after\s+\d+\s+h\./g)).toHaveLength(7);
    for (const [index, names] of reportedAlerts(stdout).entries()) {
      expect(names.length).toBeGreaterThan(0);
      expect(caused[index]?.map(alertLabel)).toEqual(expect.arrayContaining(names));
    }
    const topic = /topic {7}".+?", .+? of the traffic.+?\n {2}look/s.exec(stdout)?.[0] ?? '';
    expect(await asksAboutMissing(topic), topic).toBe(true);
    // Golden runs and query density do not see the last one.
    expect(stdout).toMatch(/judged {6}\d+ % of live queries got an answer .+Golden\s+ndcg@10\s+is\s+0\.8/s);
    expect(stdout).toContain('Every step happened as it should.');
    expect(stdout).toMatch(/Next, your own retriever\..+\n {2}npx recalld init URL --questions FILE\n/);
    // No colours where nobody sees them.
    expect(stdout).not.toContain('\u001b');
  }, 900_000);

  it('says how to take another port when its own is taken', async () => {
    const other = await startFaultServer(documents([]));
    onTestFinished(() => other.close());
    const { port } = new URL(other.url);
    const { code, stderr } = await runRecalld(['demo', '--once', '--port', port], await aFolder());
    expect(code, stderr).toBe(2);
    expect(stderr).toBe(
      `recalld: Port ${port} is taken by another process; choose one with --port, or --port 0 for any.\n`,
    );
  });

  it('ends and leaves nothing behind when it is interrupted during its start', async () => {
    const demo = spawnRecalld(['demo', '--port', '0'], await aFolder());
    const family = await waitFor(() => {
      const pids = descendantsOf(demo.pid);
      return pids.length > 0 ? pids : undefined;
    });
    demo.child.kill('SIGINT');
    const { code, stderr } = await demo.finished;
    expect(code, stderr).toBe(130);
    expect(stderr).toBe('');
    await waitFor(() => family.every((pid) => !isAlive(pid)), { timeoutMs: 60_000 });
  });
});
