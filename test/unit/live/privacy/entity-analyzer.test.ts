import { afterEach, describe, expect, it } from 'vitest';
import {
  createPresidioAnalyzer,
  createSemaphore,
  type PresidioConfig,
} from '../../../../src/live/privacy/personal-data.ts';
import {
  type FaultServer,
  hang,
  hangInBody,
  html,
  json,
  type Responder,
  raw,
  redirect,
  reset,
  startFaultServer,
  status,
  truncated,
} from '../../../support/fault-server.ts';
import { waitFor } from '../../../support/wait-for.ts';

/** A task that runs until it is released. */
function aTask() {
  const state = { isRunning: false };
  let release = (): void => undefined;
  const run = (): Promise<string> => {
    state.isRunning = true;
    return new Promise((resolve) => {
      release = () => resolve('done');
    });
  };
  return { state, run, release: () => release() };
}

const never = new AbortController().signal;

describe('a semaphore', () => {
  it('runs at most the given number of tasks at a time, in order', async () => {
    const semaphore = createSemaphore(2);
    const tasks = [aTask(), aTask(), aTask(), aTask()];
    const work = tasks.map(({ run }) => semaphore(run, never));
    const running = (): boolean[] => tasks.map(({ state }) => state.isRunning);
    await Promise.resolve();
    expect(running()).toEqual([true, true, false, false]);
    tasks[1]?.release();
    expect(await work[1]).toBe('done');
    expect(running()).toEqual([true, true, true, false]);
    tasks[0]?.release();
    tasks[2]?.release();
    await Promise.all([work[0], work[2]]);
    tasks[3]?.release();
    expect(await work[3]).toBe('done');
  });

  it('starts the next task after a failed one', async () => {
    const semaphore = createSemaphore(1);
    await expect(semaphore(() => Promise.reject(new Error('no')), never)).rejects.toThrow('no');
    expect(await semaphore(async () => 'next', never)).toBe('next');
  });

  it('never starts a task that was aborted in the queue', async () => {
    const semaphore = createSemaphore(1);
    const [first, second, third] = [aTask(), aTask(), aTask()];
    const over = new AbortController();
    const running = semaphore(first.run, never);
    const waiting = semaphore(second.run, over.signal);
    const last = semaphore(third.run, never);
    over.abort(new Error('too late'));
    await expect(waiting).rejects.toThrow('too late');
    await expect(semaphore(second.run, over.signal)).rejects.toThrow('too late');
    first.release();
    await running;
    third.release();
    expect(await last).toBe('done');
    expect(second.state.isRunning).toBe(false);
  });
});

let server: FaultServer | null = null;
afterEach(async () => {
  await server?.close();
  server = null;
});

async function anAnalyzer(responder: Responder, changes: Partial<PresidioConfig> = {}) {
  server = await startFaultServer(responder);
  return createPresidioAnalyzer({
    url: server.url,
    headers: { authorization: 'Bearer secret-token' },
    language: 'de',
    score_threshold: 0.6,
    timeout_ms: 5000,
    concurrency: 4,
    ...changes,
  });
}

const ada = { entity_type: 'PERSON', start: 3, end: 6, score: 0.85, analysis_explanation: null };

describe('the Presidio analyzer', () => {
  it('sends requests in the format of Presidio, and parses the response', async () => {
    const analyze = await anAnalyzer(json([ada]), { entities: ['PERSON'] });
    expect(await analyze('is Ada in')).toEqual({
      kind: 'found',
      entities: [{ entityType: 'PERSON', start: 3, end: 6, score: 0.85 }],
    });
    const [request] = server?.requests ?? [];
    expect(request).toMatchObject({ method: 'POST', target: '/analyze' });
    expect(request?.headers.authorization).toBe('Bearer secret-token');
    expect(JSON.parse(request?.body ?? '')).toEqual({
      text: 'is Ada in',
      language: 'de',
      score_threshold: 0.6,
      entities: ['PERSON'],
    });
  });

  it('requests all types by default', async () => {
    const analyze = await anAnalyzer(json([]));
    expect(await analyze('who is it')).toEqual({ kind: 'found', entities: [] });
    expect(JSON.parse(server?.requests[0]?.body ?? '')).not.toHaveProperty('entities');
  });

  it.each<[string, Responder, string]>([
    ['returns 500', status(500), 'failed'],
    ['returns 422, as for an unsupported language', status(422), 'failed'],
    ['redirects', redirect('http://elsewhere.internal/'), 'failed'],
    ['resets the connection', reset(), 'failed'],
    ['closes the connection in the middle', truncated(), 'failed'],
    ['returns a web page', html(), 'malformed'],
    ['returns half of a JSON document', raw('[{"entity_type": "PERSON"'), 'malformed'],
    ['returns an error as JSON', json({ error: 'no text' }), 'malformed'],
    ['returns null', json(null), 'malformed'],
    ['returns an entity without offsets', json([{ entity_type: 'PERSON', score: 1 }]), 'malformed'],
    ['returns an entity with offsets as strings', json([{ ...ada, start: '3' }]), 'malformed'],
    ['returns an entity without a valid type', json([{ ...ada, entity_type: 7 }]), 'malformed'],
    ['returns a null entity', json([ada, null]), 'malformed'],
  ])('fails without quoting the text if Presidio %s', async (_what, responder, kind) => {
    const analyze = await anAnalyzer(responder);
    const analysis = await analyze('is Ada in');
    expect(analysis.kind).toBe(kind);
    const message = analysis.kind === 'found' ? '' : analysis.message;
    expect(message).toMatch(/^Presidio .*\.$/);
    expect(message).not.toMatch(/Ada|secret/);
    expect(server?.requests).toHaveLength(1);
  });

  it.each<[string, Responder]>([
    ['never responds', hang()],
    ['stops in the middle of its response', hangInBody()],
  ])('times out if Presidio %s', async (_what, responder) => {
    const analyze = await anAnalyzer(responder, { timeout_ms: 50 });
    const analysis = await analyze('is Ada in');
    expect(analysis).toMatchObject({ kind: 'timeout', message: expect.stringContaining('within 50 ms') });
    await waitFor(() => server?.openConnections === 0);
  });

  it('sends at most the configured number of concurrent texts, and times out queued texts', async () => {
    const analyze = await anAnalyzer(hang(), { timeout_ms: 2000, concurrency: 3 });
    const analyses = Promise.all(Array.from({ length: 10 }, (_, i) => analyze(`text ${i}`)));
    await waitFor(() => server?.requests.length === 3);
    expect(server?.openConnections).toBe(3);
    expect((await analyses).map(({ kind }) => kind)).toEqual(Array.from({ length: 10 }, () => 'timeout'));
  });

  it('sends many texts over few connections', async () => {
    const analyze = await anAnalyzer(json([]), { concurrency: 2 });
    const analyses = await Promise.all(Array.from({ length: 50 }, (_, i) => analyze(`text ${i}`)));
    expect(analyses.every(({ kind }) => kind === 'found')).toBe(true);
    expect(server?.connections).toBeLessThanOrEqual(2);
  });

  it('rejects a URL with credentials', async () => {
    await expect(anAnalyzer(json([]), { url: 'http://user:pass@presidio' })).rejects.toThrow('privacy.presidio.url');
  });
});
