import { spawn, spawnSync } from 'node:child_process';
import { chmodSync, copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { gunzipSync } from 'node:zlib';
import { describe, expect, it, onTestFinished } from 'vitest';
import { parse } from 'yaml';
import { feedbackSchema, liveQuerySchema } from '../../src/live/ingest-schema.ts';
import { decodeLogs, decodeTraces } from '../../src/live/otlp/decode.ts';
import { contentOf, defaultOtlpLimits } from '../../src/live/otlp/parse.ts';
import { extractLiveQueries } from '../../src/live/rules/otel/extract.ts';
import { extractLogFeedback } from '../../src/live/rules/otel/feedback.ts';
import type { ExtractionOptions } from '../../src/live/rules/otel/retrieved-documents.ts';
import { aFolder } from '../support/recalld.ts';
import {
  accept,
  inTurn,
  type RecordedRequest,
  type RecordingDaemon,
  startRecordingDaemon,
  status,
} from '../unit/client/recording-daemon.ts';

const root = path.resolve(import.meta.dirname, '../..');

const has = (command: string) => spawnSync(command, ['--version']).status === 0;

/** Runs an example against a daemon, with the command from the example's first line. */
async function runExample(command: string, file: string, daemon: RecordingDaemon, settings = {}) {
  const environment = Object.entries(process.env).filter(([name]) => !/^RECALLD_|_proxy$/i.test(name));
  const env = {
    ...Object.fromEntries(environment),
    RECALLD_URL: daemon.url,
    PYTHONPATH: 'clients/python',
    ...settings,
  };
  const child = spawn(command, [path.join('examples', file)], {
    cwd: root,
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let stdout = '';
  let stderr = '';
  child.stdout.on('data', (chunk: Buffer) => (stdout += chunk.toString('utf8')));
  child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString('utf8')));
  const closed = new Promise<number | null>((resolve) => child.once('close', resolve));
  onTestFinished(async () => {
    if (child.exitCode === null && child.signalCode === null) child.kill('SIGKILL');
    await closed;
  });
  return { code: await closed, stdout, stderr };
}

const examples = [
  { name: 'Node.js', command: process.execPath, file: 'node-client.mjs' },
  { name: 'Python', command: 'python3', file: 'python_client.py' },
  { name: 'curl', command: 'sh', file: 'curl.sh', needs: 'curl' },
] as const;

for (const { name, command, file, ...rest } of examples) {
  const isMissing = !has('needs' in rest ? rest.needs : command);

  describe.skipIf(isMissing)(`the ${name} example`, () => {
    it('reports a query with its results and the feedback on it', async () => {
      const daemon = await startRecordingDaemon();
      const settings = { RECALLD_API_KEY: 'rk_example', RECALLD_PIPELINE: 'faq' };
      expect(await runExample(command, file, daemon, settings)).toMatchObject({ code: 0, stderr: '' });

      const [query, ...others] = daemon.items('/v1/queries').map((item) => liveQuerySchema.parse(item));
      const feedback = daemon.items('/v1/feedback').map((item) => feedbackSchema.parse(item));
      expect(others).toEqual([]);
      expect(query).toMatchObject({
        pipeline: 'faq',
        text: 'How do I reset my password?',
        embedding: new Float32Array([0.12, -0.53, 0.34]),
        results: [
          { id: 'password-reset', score: 0.83 },
          { id: 'account-recovery', score: 0.71 },
        ],
        top_k: 5,
        session_id: 'session-1',
        segments: { language: 'en' },
      });
      expect(Math.abs(Date.parse(query?.occurred_at ?? '') - Date.now())).toBeLessThan(60_000);
      const query_id = query?.id;
      expect(feedback).toMatchObject([
        { query_id, pipeline: 'faq', kind: 'click', document_id: 'password-reset', rank: 1 },
        { query_id, pipeline: 'faq', kind: 'thumb', value: 'up' },
      ]);
      for (const { headers } of daemon.requests) expect(headers.authorization).toBe('Bearer rk_example');
    });

    it('sends the query and the feedback again, with the same ids, if the daemon was overloaded', async () => {
      const overloaded = status(503, { 'retry-after': '1' });
      const daemon = await startRecordingDaemon(inTurn(overloaded, overloaded, accept()));
      expect(await runExample(command, file, daemon)).toMatchObject({ code: 0 });
      expect(daemon.items('/v1/queries')).toHaveLength(1);
      expect(daemon.items('/v1/feedback')).toHaveLength(2);
      const ids = daemon.requests.flatMap(({ items }) => items.map((item) => item['id']));
      expect(new Set(ids).size).toBe(3);
    });

    it('exits with an error if the daemon rejects its API key', async () => {
      const daemon = await startRecordingDaemon(status(401));
      const { code } = await runExample(command, file, daemon);
      expect(code).not.toBe(0);
      expect(code).not.toBeNull();
    });
  });
}

const extraction: ExtractionOptions = {
  pipelineOf: ({ attributes: { 'recalld.pipeline': name } }) => (typeof name === 'string' ? name : null),
  segmentKeysOf: () => [],
  fieldKeysOf: () => [],
  toolOf: () => null,
};

const otlp = ({ bytes, headers }: RecordedRequest) =>
  contentOf(headers['content-encoding'] === 'gzip' ? gunzipSync(bytes) : bytes, headers['content-type']);

describe('the OpenTelemetry example', () => {
  it('sends a query with its results, and feedback on that query', async () => {
    const daemon = await startRecordingDaemon((_request, response) =>
      response.writeHead(200, { 'content-type': 'application/json' }).end('{}'),
    );
    const run = await runExample(process.execPath, 'opentelemetry.mjs', daemon, {
      RECALLD_API_KEY: 'rk_example',
      RECALLD_PIPELINE: 'faq',
    });
    expect(run).toMatchObject({ code: 0, stderr: '' });
    expect(daemon.requests.map((request) => request.path)).toEqual(['/v1/traces', '/v1/logs']);
    const [traces, logs] = daemon.requests;
    if (traces === undefined || logs === undefined) throw new Error('There are two requests.');
    expect(traces.headers.authorization).toBe('Bearer rk_example');

    const spans = decodeTraces(otlp(traces), defaultOtlpLimits);
    const [query, ...others] = extractLiveQueries(spans.items, extraction).queries;
    expect(others).toEqual([]);
    expect(query).toMatchObject({
      pipeline: 'faq',
      text: 'How do I reset my password?',
      topK: 5,
      sessionId: 'session-1',
      results: [
        { id: 'password-reset', score: 0.83 },
        { id: 'account-recovery', score: 0.71 },
      ],
    });
    const records = decodeLogs(otlp(logs), defaultOtlpLimits);
    expect(extractLogFeedback(records.items, extraction)).toMatchObject([
      { queryId: query?.id, pipeline: 'faq', kind: 'thumb', value: 'up' },
    ]);
    expect(JSON.parse(run.stdout)).toEqual({ query_id: query?.id });
  });
});

describe('the LangChain.js example', () => {
  it('sends a query with the ids of its documents', async () => {
    const daemon = await startRecordingDaemon((_request, response) =>
      response.writeHead(200, { 'content-type': 'application/x-protobuf' }).end(),
    );
    const run = await runExample(process.execPath, 'langchain.mjs', daemon, {
      RECALLD_API_KEY: 'rk_example',
    });
    expect(run).toMatchObject({ code: 0, stderr: '', stdout: '["password-reset","account-recovery"]\n' });
    const [traces] = daemon.requests;
    if (traces === undefined) throw new Error('There is a request.');
    expect(traces.headers.authorization).toBe('Bearer rk_example');
    const spans = decodeTraces(otlp(traces), defaultOtlpLimits);
    const found = extractLiveQueries(spans.items, { ...extraction, pipelineOf: () => 'faq' });
    expect(found.queries).toMatchObject([
      {
        text: 'How do I reset my password?',
        results: [{ id: 'password-reset' }, { id: 'account-recovery' }],
      },
    ]);
  });
});

describe.each([
  { name: 'LlamaIndex.TS', file: 'llamaindex.mjs', said: '["password-reset","account-recovery"]\n' },
  { name: 'AI SDK', file: 'vercel-ai.mjs', said: 'Open the settings and choose "Reset".\n' },
])('the $name example', ({ file, said }) => {
  it('reports the query of the framework, with the ids and scores of its documents', async () => {
    const daemon = await startRecordingDaemon();
    const run = await runExample(process.execPath, file, daemon, { RECALLD_PIPELINE: 'faq' });
    expect(run).toEqual({ code: 0, stderr: '', stdout: said });
    expect(daemon.items('/v1/queries').map((item) => liveQuerySchema.parse(item))).toMatchObject([
      {
        pipeline: 'faq',
        text: 'How do I reset my password?',
        results: [
          { id: 'password-reset', score: 0.83 },
          { id: 'account-recovery', score: 0.71 },
        ],
      },
    ]);
  });
});

describe.each(['express-service.mjs', 'fastify-service.mjs'])('the service in %s', (file) => {
  it('responds to its users, and reports the query and the rating before it exits', async () => {
    const daemon = await startRecordingDaemon();
    const child = spawn(process.execPath, [path.join('examples', file)], {
      cwd: root,
      env: { ...process.env, RECALLD_URL: daemon.url, RECALLD_PIPELINE: 'faq', PORT: '0' },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const ended = new Promise<number | null>((resolve) => child.once('close', resolve));
    onTestFinished(async () => {
      child.kill('SIGKILL');
      await ended;
    });
    const url = await new Promise<string>((resolve) =>
      child.stdout.once('data', (line: Buffer) => resolve(line.toString('utf8').trim())),
    );
    const post = (where: string, body: object) =>
      fetch(`${url}${where}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
      });
    const answered = await post('/ask', { question: 'How do I reset my password?', session: 's1' });
    const { queryId, documents } = (await answered.json()) as { queryId: string; documents: object[] };
    expect(documents).toHaveLength(2);
    expect((await post('/thumb', { queryId, value: 'down' })).status).toBe(204);
    child.kill('SIGTERM');
    expect(await ended).toBe(0);

    expect(daemon.items('/v1/queries').map((item) => liveQuerySchema.parse(item))).toMatchObject([
      { id: queryId, pipeline: 'faq', text: 'How do I reset my password?', session_id: 's1' },
    ]);
    expect(daemon.items('/v1/feedback').map((item) => feedbackSchema.parse(item))).toMatchObject([
      { query_id: queryId, kind: 'thumb', value: 'down' },
    ]);
  });
});

interface Action {
  readonly name: string;
  readonly description: string;
  readonly inputs: Readonly<Record<string, { description: string; required?: boolean; default?: string }>>;
  readonly outputs: Readonly<Record<string, { description: string; value: string }>>;
  readonly runs: {
    readonly using: string;
    readonly steps: readonly { id: string; shell: string; env: Record<string, string>; run: string }[];
  };
}

/**
 * Runs the composite action's step as a GitHub runner does: inputs come from the environment, and outputs go to files.
 */
async function runAction(folder: string, given: Readonly<Record<string, string>>) {
  const home = path.join(root, 'examples/gate');
  const action = parse(readFileSync(path.join(home, 'action.yml'), 'utf8')) as Action;
  expect(action.runs.using).toBe('composite');
  const [step] = action.runs.steps;
  if (step === undefined) throw new Error('It has a step.');
  const filled = (text: string) =>
    text.replaceAll(/\$\{\{ inputs\.([\w-]+) \}\}/g, (_, name: string) => {
      const input = action.inputs[name];
      if (input === undefined) throw new Error(`There is no input ${name}.`);
      const value = given[name] ?? input.default;
      if (value === undefined) throw new Error(`${name} is missing.`);
      return value;
    });
  expect(step.run).not.toContain('${{');
  const inputs = Object.fromEntries(Object.entries(step.env).map(([name, value]) => [name, filled(value)]));
  expect(Object.keys(inputs)).toHaveLength(Object.keys(action.inputs).length);
  const files = Object.fromEntries(
    ['GITHUB_OUTPUT', 'GITHUB_STEP_SUMMARY'].map((name) => [name, path.join(folder, name)]),
  );
  for (const file of Object.values(files)) writeFileSync(file, '');
  const environment = Object.entries(process.env).filter(([name]) => !name.startsWith('GITHUB_'));
  const { status: code, stderr } = spawnSync('sh', ['-e', '-c', step.run], {
    cwd: folder,
    encoding: 'utf8',
    env: {
      ...Object.fromEntries(environment),
      ...inputs,
      ...files,
      GITHUB_ACTION_PATH: home,
      PATH: `${folder}${path.delimiter}${process.env['PATH'] ?? ''}`,
    },
  });
  const said = (name: string) => readFileSync(path.join(folder, name), 'utf8');
  expect(Object.values(action.outputs).map(({ value }) => value)).toEqual([`\${{ steps.${step.id}.outputs.verdict }}`]);
  return { code, stderr, output: said('GITHUB_OUTPUT'), summary: said('GITHUB_STEP_SUMMARY') };
}

describe('the CI gate', () => {
  const gate = (folder: string, candidate: string) =>
    spawnSync('sh', ['gate.sh', 'qrels.txt', 'main.run', candidate], {
      cwd: folder,
      encoding: 'utf8',
      env: { ...process.env, PATH: `${folder}${path.delimiter}${process.env['PATH'] ?? ''}` },
    });
  const queries = Array.from({ length: 60 }, (_, i) => `q${i}`);
  const runWith = (rank: (i: number) => number) =>
    queries.map((id, i) => `${id} Q0 d-${id} 1 ${10 - rank(i)} x\n${id} Q0 other 2 5 x\n`).join('');

  it('passes a retriever as good as the baseline, and fails a worse one', async () => {
    const folder = await aFolder({
      'gate.sh': readFileSync(path.join(root, 'examples/gate/gate.sh'), 'utf8'),
      // Replaces npx, which would look for an installed recalld.
      npx: `#!/bin/sh\nshift\nexec "${process.execPath}" "${path.join(root, 'dist/cli/main.js')}" "$@"\n`,
      'qrels.txt': queries.map((id) => `${id} 0 d-${id} 1\n`).join(''),
      'main.run': runWith(() => 0),
      'worse.run': runWith((i) => (i % 3 === 0 ? 9 : 0)),
    });
    chmodSync(path.join(folder, 'npx'), 0o755);
    expect(gate(folder, 'main.run')).toMatchObject({ status: 0 });
    const inputs = { qrels: 'qrels.txt', baseline: 'main.run', candidate: 'worse.run' };
    const stopped = await runAction(folder, inputs);
    expect(stopped).toMatchObject({ code: 1, stderr: '', output: 'verdict=regression\n' });
    expect(stopped.summary).toContain('Verdict on ndcg@10: regression.');
  });

  it('fails a worse retriever in GitLab, compared with the commit from which the branch started', async () => {
    const job = (
      parse(readFileSync(path.join(root, 'examples/gate/gitlab-ci.yml'), 'utf8')) as {
        'retrieval-quality': { variables: Record<string, string>; script: readonly string[] };
      }
    )['retrieval-quality'];
    const folder = await aFolder({
      npm: '#!/bin/sh\nexit 0\n',
      npx: `#!/bin/sh\nshift\nexec "${process.execPath}" "${path.join(root, 'dist/cli/main.js')}" "$@"\n`,
      'qrels.txt': queries.map((id) => `${id} 0 d-${id} 1\n`).join(''),
      'good.txt': runWith(() => 0),
      'worse.txt': runWith((i) => (i % 3 === 0 ? 9 : 0)),
      '.gitignore': '*.run\n',
    });
    for (const name of ['npm', 'npx']) chmodSync(path.join(folder, name), 0o755);
    mkdirSync(path.join(folder, 'gate'));
    copyFileSync(path.join(root, 'examples/gate/gate.sh'), path.join(folder, 'gate/gate.sh'));
    const git = (...args: string[]) => {
      const identity = ['-c', 'user.name=ci', '-c', 'user.email=ci@example.com'];
      const { status, stdout, stderr } = spawnSync('git', [...identity, ...args], { cwd: folder, encoding: 'utf8' });
      expect(status, stderr).toBe(0);
      return stdout.trim();
    };
    const commit = (file: string) => {
      writeFileSync(path.join(folder, 'search-all.sh'), `#!/bin/sh\n# ${file}\ncat ${file}\n`, { mode: 0o755 });
      git('add', '--all');
      git('commit', '--quiet', '--allow-empty', '--message', file);
      return git('rev-parse', 'HEAD');
    };
    git('init', '--quiet');
    const [base, worse] = [commit('good.txt'), commit('worse.txt')];
    const run = (head: string) => {
      git('checkout', '--quiet', head);
      const environment = { ...job.variables, CI_MERGE_REQUEST_DIFF_BASE_SHA: base, CI_COMMIT_SHA: head };
      return spawnSync('bash', ['-eo', 'pipefail', '-c', job.script.join('\n')], {
        cwd: folder,
        encoding: 'utf8',
        env: { ...process.env, ...environment, PATH: `${folder}${path.delimiter}${process.env['PATH'] ?? ''}` },
      });
    };
    const stopped = run(worse);
    expect(stopped, stopped.stderr).toMatchObject({ status: 1 });
    expect(stopped.stdout).toContain('Verdict on ndcg@10: regression.');
    expect(run(base)).toMatchObject({ status: 0 });
  });
});
