/** A new user's first steps: the address of a retriever, a file of queries, and an alert when results change. */
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { parse } from 'yaml';
import { jsonDocuments } from '../../docs/build/json-documents.ts';
import { documents, type ReceivedRequest, startFaultServer } from '../support/fault-server.ts';
import { anInstallation } from '../support/installation.ts';
import { waitFor } from '../support/wait-for.ts';

const QUESTIONS = Array.from({ length: 8 }, (_, n) => `question ${n + 1}\n`).join('');

/** Returns three documents, which differ from query to query. */
function answerTo({ body }: ReceivedRequest): { id: string; score: number }[] {
  const { query } = JSON.parse(body) as { query: string };
  return [0.9, 0.8, 0.7].map((score) => ({ id: `${query}: ${score}`, score }));
}

it('`recalld init` turns a URL and a file of queries into an alert on changed results, without judgments', async () => {
  const retriever = await startFaultServer(documents(answerTo));
  onTestFinished(() => retriever.close());
  const { folder, recalld, serve } = await anInstallation({ 'questions.txt': QUESTIONS });
  const said = await recalld(`init ${retriever.url}/search --out said.yaml --json`);
  expect(Object.keys(JSON.parse(said.stdout) as object)).toEqual(jsonDocuments['init']?.keys);
  const made = await recalld(`init ${retriever.url}/search --questions questions.txt --header`, 'x-key: hush');
  expect(made.stderr).toContain('Set RETRIEVER_X_KEY to the value of the header x-key');
  expect(made).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/Sent 8 queries \(run \S+\); later results/),
  });
  const file = path.join(folder, 'recalld.yaml');
  const text = await readFile(file, 'utf8');
  expect(text).not.toContain('hush');
  expect(parse(text)).toMatchObject({
    pipelines: [{ name: 'main', retriever: { body: { query: '{{text}}' }, results: { list: 'results', id: 'id' } } }],
  });
  expect(await recalld(`init ${retriever.url}/search`)).toMatchObject({
    code: 2,
    stderr: 'recalld: recalld.yaml already exists; set another file with --out, or add --force.\n',
  });

  await writeFile(file, `server: {port: 0}\n${text.replace('*/2 * * * *', '*/2 * * * * *')}`);
  process.env['RETRIEVER_X_KEY'] = 'hush';
  onTestFinished(() => void delete process.env['RETRIEVER_X_KEY']);
  const daemon = await serve();
  const verdict = async () => {
    const state = /recalld_check_state\{[^}]*check="results unchanged[^}]*state="(\w+)"\} 1/;
    return state.exec(await daemon.metrics())?.[1];
  };
  await waitFor(async () => (await verdict()) === 'ok');
  retriever.respondWith(documents((request) => answerTo(request).map(({ id, score }) => ({ id: `new-${id}`, score }))));
  await waitFor(async () => (await verdict()) === 'critical');
  // A run during the change contains results from before and after the change; the next run contains only new results.
  const nothingAsBefore = /recalld_golden_rbo\{[^}]*k="10"[^}]*\} 0\n/;
  await waitFor(async () => nothingAsBefore.test(await daemon.metrics()));
  const diagnosed = await recalld('diagnose');
  expect(diagnosed).toMatchObject({ code: 1, stdout: expect.stringContaining('results unchanged') });
}, 300_000);

it('`recalld init` adds a check on nDCG only for a golden set whose queries have relevance judgments', async () => {
  const retriever = await startFaultServer(documents(answerTo));
  onTestFinished(() => retriever.close());
  const { folder, recalld } = await anInstallation({
    'judged.csv': 'question,document\nfirst question,d1\nsecond question,d2\n',
    'forbidden.jsonl':
      '{"text": "first question", "forbidden": ["d1"]}\n{"text": "second question", "forbidden": ["d2"]}\n',
  });
  const measuresOf = async (file: string) => {
    const out = `${file}.yaml`;
    expect(await recalld(`init ${retriever.url}/search --questions ${file} --out ${out}`)).toMatchObject({ code: 0 });
    const { pipelines } = parse(await readFile(path.join(folder, out), 'utf8')) as {
      pipelines: { checks: Record<string, unknown>[] }[];
    };
    return pipelines[0]?.checks.map((check) => check['regression'] ?? check['measure']);
  };
  expect(await measuresOf('judged.csv')).toEqual(['rbo@10', 'retriever_error_ratio', 'ndcg@10']);
  expect(await measuresOf('forbidden.jsonl')).toEqual(['rbo@10', 'retriever_error_ratio']);
});
