/**
 * Real child processes: programs that respond correctly, and programs that die, hang, flood their output or print
 * invalid lines.
 */

import { getEventListeners } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import process from 'node:process';
import * as fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createCommandRetriever } from '../../../../src/connectors/retrievers/command.ts';
import { createLineCutter } from '../../../../src/connectors/retrievers/command-program.ts';
import type { RetrieverConfigOf } from '../../../../src/connectors/retrievers/config.ts';
import type { RetrieverRequest } from '../../../../src/connectors/retrievers/retriever.ts';
import { never } from '../../../support/connectors.ts';
import { recordLog } from '../../../support/log.ts';

let folder = '';
let close: () => Promise<void> = () => Promise.resolve();
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'recalld-command-'));
});
afterEach(async () => {
  await close();
  rmSync(folder, { recursive: true });
});

/** A program that records its start and runs the code `onRequest` for each request. */
const program = (onRequest: string): string => `
  const fs = require('node:fs');
  fs.appendFileSync(process.env.STARTS, process.pid + '\\n');
  const write = (value) => process.stdout.write((typeof value === 'string' ? value : JSON.stringify(value)) + '\\n');
  const found = ({ id, text, k }) => ({ id, documents: [{ id: 'd-' + text, score: k, text: 'text of ' + text }] });
  let count = 0;
  require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
    const request = JSON.parse(line);
    count += 1;
    ${onRequest}
  });`;

const startsFile = () => path.join(folder, 'starts');
/** The program's process ids, one for each start, in chronological order. */
const starts = (): number[] =>
  existsSync(startsFile()) ? readFileSync(startsFile(), 'utf8').trim().split('\n').map(Number) : [];

function aRetriever(
  onRequest: string,
  changes: Partial<RetrieverConfigOf<'command'>> = {},
  { repeatsAnswers = true, ...limits }: { repeatsAnswers?: boolean; backoffMs?: number; maxLineBytes?: number } = {},
) {
  const log = recordLog();
  const retriever = createCommandRetriever(
    {
      kind: 'command',
      command: [process.execPath, '-e', program(onRequest)],
      directory: folder,
      environment: { STARTS: startsFile() },
      timeout_ms: 10_000,
      start_timeout_ms: 10_000,
      ...changes,
    },
    { embedder: null, store: null, logger: log.logger, repeatsAnswers },
    { backoffMs: 1, maxLineBytes: 8_000_000, ...limits },
  );
  close = () => retriever.close();
  const ask = (text: string, more: Partial<RetrieverRequest> = {}, signal = never) =>
    retriever.retrieve({ text, k: 3, tags: {}, ...more }, signal);
  return { retriever, ask, log };
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

const answering = 'write(found(request));';

describe('a program as a retriever', () => {
  it('is started by the first query and serves all queries', async () => {
    const { ask } = aRetriever(answering);
    expect(starts()).toEqual([]);
    expect(await ask('a')).toStrictEqual({
      kind: 'documents',
      documents: [{ id: 'd-a', score: 3 }],
      latencyMs: expect.any(Number),
      attempts: 1,
    });
    await ask('b');
    expect(starts()).toHaveLength(1);
  });

  it('gets id, text, k and tags on one line, whatever the text contains', async () => {
    const { ask } = aRetriever(`
      fs.appendFileSync('requests', line + '\\n');
      ${answering}`);
    const text = 'two\nlines, "quotes", \u2028 and 汉字 🙂';
    expect(await ask(text, { tags: { lang: 'en' } })).toMatchObject({ documents: [{ id: `d-${text}` }] });
    expect(JSON.parse(readFileSync(path.join(folder, 'requests'), 'utf8'))).toStrictEqual({
      id: '1',
      text,
      k: 3,
      tags: { lang: 'en' },
    });
  });

  it('can answer concurrent queries in any order', async () => {
    const { ask } = aRetriever(`
      (globalThis.held ??= []).push(request);
      if (held.length === 20) for (const one of held.reverse()) write(found(one));`);
    const texts = Array.from({ length: 20 }, (_, index) => `q${index}`);
    const answers = await Promise.all(texts.map((text) => ask(text)));
    expect(answers).toMatchObject(texts.map((text) => ({ documents: [{ id: `d-${text}` }] })));
  });

  it('is not quoted if messages must not repeat its output', async () => {
    const failing = `write({ id: request.id, error: { code: 'index_down', message: 'no index for Alice' } });`;
    expect(await aRetriever(failing).ask('where')).toMatchObject({ code: 'index_down', message: 'no index for Alice' });
    await close();
    expect(await aRetriever(failing, {}, { repeatsAnswers: false }).ask('where')).toMatchObject({
      code: 'index_down',
      message: 'The command reported an error.',
    });
  });

  it('returns texts if a reranker needs them', async () => {
    const { ask } = aRetriever(answering);
    expect(await ask('a', { withText: true })).toMatchObject({ documents: [{ text: 'text of a' }] });
  });

  it('can return ids that are numbers of any length, and results without valid scores', async () => {
    const { ask } = aRetriever(
      `write('{"id":' + request.id + ',"documents":[{"id":12345678901234567890},{"id":7,"score":"high"}]}');`,
    );
    expect(await ask('a')).toMatchObject({
      documents: [
        { id: '12345678901234567890', score: null },
        { id: '7', score: null },
      ],
    });
  });

  it('gets the environment of recalld and its own variables', async () => {
    const { ask } = aRetriever(
      'write({ id: request.id, documents: [{ id: process.env.EXTRA }, { id: process.env.PATH }] });',
      { environment: { STARTS: startsFile(), EXTRA: 'extra' } },
    );
    expect(await ask('a')).toMatchObject({ documents: [{ id: 'extra' }, { id: process.env['PATH'] }] });
  });
});

describe('an error that a program reports', () => {
  it('fails the query, but not the next one', async () => {
    const { ask } = aRetriever(`
      if (count === 1) write({ id: request.id, error: { code: 'index_missing', message: 'no\\nindex' } });
      else ${answering}`);
    expect(await ask('a')).toMatchObject({ kind: 'error', code: 'index_missing', message: 'no index' });
    expect(await ask('b')).toMatchObject({ kind: 'documents' });
    expect(starts()).toHaveLength(1);
  });

  it('never shows the query text, and gets a default code if its own code is invalid', async () => {
    const { ask } = aRetriever(
      `write({ id: request.id, error: { code: 'No Index!', message: 'cannot find ' + request.text.toUpperCase() } });`,
    );
    const answer = await ask('my secret');
    expect(answer).toMatchObject({ kind: 'error', code: 'command_error' });
    expect(JSON.stringify(answer).toLowerCase()).not.toContain('my secret');
  });

  it.each([
    ['a response without a list', '{ id: request.id }', 'no_result_list'],
    ['a document without an id', '{ id: request.id, documents: [{ id: "a" }, { score: 1 }] }', 'missing_id'],
  ])('is created for %s, without a restart', async (_, answer, code) => {
    const { ask } = aRetriever(`write(${answer});`);
    expect(await ask('a')).toMatchObject({ kind: 'error', code });
    expect(await ask('b')).toMatchObject({ kind: 'error', code });
    expect(starts()).toHaveLength(1);
  });
});

describe('a failing program', () => {
  it('fails its pending queries and is restarted for the next query', async () => {
    const { ask, log } = aRetriever(`
      if (request.text === 'poison') process.exit(7);
      if (request.text !== 'waits') ${answering}`);
    await ask('a');
    const lost = await Promise.all([ask('waits'), ask('poison')]);
    expect(lost).toMatchObject([{ code: 'command_exited' }, { code: 'command_exited' }]);
    expect(lost[0]).toMatchObject({ message: expect.stringContaining('code 7') });
    expect(await ask('b')).toMatchObject({ kind: 'documents' });
    expect(starts()).toHaveLength(2);
    expect(log.entries).toMatchObject([{ level: 'warn', fields: { code: 'command_exited', wait_ms: 1 } }]);
  });

  it('is not restarted before its back-off is over, which doubles with each failed start', async () => {
    const { ask, log } = aRetriever('process.exit(1);', { timeout_ms: 250 }, { backoffMs: 100 });
    for (let query = 0; query < 3; query += 1) expect(await ask('a')).toMatchObject({ code: 'command_exited' });
    // The next restart is due only after the timeout of this query.
    expect(await ask('a')).toMatchObject({
      code: 'command_exited',
      attempts: 0,
      message: expect.stringContaining('recalld will restart the command in 1 s.'),
    });
    expect(starts()).toHaveLength(3);
    expect(log.entries.map(({ fields }) => fields['wait_ms'])).toEqual([100, 200, 400]);
  });

  it.each([
    ['does not exist', ['/nowhere/to/be/found'], 'ENOENT'],
    ['cannot be executed', [tmpdir()], 'EACCES'],
    ['has arguments that are too long for any system', [process.execPath, 'x'.repeat(10_000_000)], 'E2BIG'],
  ])('is reported if it %s', async (_, command, reason) => {
    const { ask } = aRetriever('', { command });
    expect(await ask('a')).toMatchObject({
      kind: 'error',
      code: 'command_not_started',
      message: expect.stringContaining(reason),
    });
  });

  it('is reported if its folder does not exist', async () => {
    const { ask } = aRetriever(answering, { directory: path.join(folder, 'nowhere') });
    expect(await ask('a')).toMatchObject({ code: 'command_not_started' });
  });

  it('is restarted if it hangs: after three consecutive timeouts without output', async () => {
    const { ask } = aRetriever(`if (request.text !== 'hang') ${answering}`, { timeout_ms: 30 });
    await ask('a');
    const [first = 0] = starts();
    for (let query = 0; query < 3; query += 1) expect(await ask('hang')).toMatchObject({ kind: 'timeout' });
    await expect.poll(() => isAlive(first)).toBe(false);
    expect(await ask('b')).toMatchObject({ kind: 'documents' });
    expect(starts()).toHaveLength(2);
  });

  it('is not restarted for slow queries while it answers others', async () => {
    const { ask } = aRetriever(`if (request.text !== 'slow') ${answering}`, { timeout_ms: 500 });
    await ask('a');
    for (let query = 0; query < 3; query += 1) {
      expect(await Promise.all([ask('slow'), ask('a')])).toMatchObject([{ kind: 'timeout' }, { kind: 'documents' }]);
    }
    expect(starts()).toHaveLength(1);
  });

  it('may answer after the timeout without affecting the next query', async () => {
    const { ask } = aRetriever(
      `if (request.text === 'late') globalThis.late = request;
       else { if (globalThis.late) write(found(late)); ${answering} }`,
      { timeout_ms: 400 },
    );
    await ask('a');
    expect(await ask('late')).toMatchObject({ kind: 'timeout' });
    expect(await ask('b')).toMatchObject({ documents: [{ id: 'd-b' }] });
    expect(starts()).toHaveLength(1);
  });

  it('has more time for its first answer', async () => {
    const { ask } = aRetriever(`setTimeout(() => ${answering.slice(0, -1)}, count === 1 ? 100 : 0);`, {
      timeout_ms: 50,
    });
    expect(await ask('a')).toMatchObject({ kind: 'documents' });
  });

  it.each([
    ['a line that is not JSON', 'write("Loading the index...");', 'not_json'],
    ['a line that nests too deeply', 'write("[".repeat(900_000));', 'too_deep'],
    ['an answer without an id', 'write({ documents: [] });', 'unknown_id'],
    ['an answer to a query that was never sent', 'write({ id: "99", documents: [] });', 'unknown_id'],
    [
      'endless output without a newline',
      'setInterval(() => process.stdout.write("x".repeat(65536)), 0);',
      'line_too_long',
    ],
  ])('is restarted after %s, because answers can no longer be matched to queries', async (_, nonsense, code) => {
    const { ask, log } = aRetriever(
      `if (request.text === 'bad') { ${nonsense} } else if (request.text !== 'waits') ${answering}`,
      {},
      { maxLineBytes: 1_000_000 },
    );
    await ask('a');
    const [first = 0] = starts();
    const answers = await Promise.all([ask('waits'), ask('bad')]);
    expect(answers).toMatchObject([
      { kind: 'error', code },
      { kind: 'error', code },
    ]);
    await expect.poll(() => isAlive(first)).toBe(false);
    expect(await ask('b')).toMatchObject({ kind: 'documents' });
    expect(JSON.stringify([answers, log.entries])).not.toContain('Loading');
  });

  it('can write anything to its standard error, which is discarded', async () => {
    const { ask, log } = aRetriever(
      `process.stderr.write((request.text + ' ').repeat(500_000), () => ${answering.slice(0, -1)});`,
    );
    expect(await ask('my secret')).toMatchObject({ kind: 'documents' });
    expect(log.entries).toMatchObject([{ level: 'debug', message: expect.stringContaining('standard error') }]);
    expect(JSON.stringify(log.entries)).not.toContain('my secret');
  });
});

describe('the shutdown of a program', () => {
  it('happens when the retriever is closed, and fails pending and later queries', async () => {
    const { ask, retriever } = aRetriever(`if (request.text !== 'waits') ${answering}`);
    await ask('a');
    const waiting = ask('waits');
    await retriever.close();
    expect(starts().filter(isAlive)).toEqual([]);
    expect(await waiting).toMatchObject({ kind: 'error', code: 'command_closed' });
    expect(await ask('b')).toMatchObject({ kind: 'error', code: 'command_closed' });
    expect(starts()).toHaveLength(1);
  });

  it('is forced if the program ignores the signal, also for its child processes', async () => {
    const { ask, retriever } = aRetriever(`
      process.on('SIGTERM', () => undefined);
      process.stdin.on('end', () => undefined);
      setInterval(() => undefined, 1000);
      const child = require('node:child_process').spawn(process.execPath, ['-e', 'setInterval(() => undefined, 1000)'], { stdio: 'inherit' });
      fs.appendFileSync(process.env.STARTS, child.pid + '\\n');
      ${answering}`);
    await ask('a');
    expect(starts().filter(isAlive)).toHaveLength(2);
    await retriever.close();
    await expect.poll(() => starts().filter(isAlive)).toEqual([]);
  });

  it('does nothing if the program was never started', async () => {
    await aRetriever(answering).retriever.close();
    expect(starts()).toEqual([]);
  });

  it('is not caused by an aborted query', async () => {
    const { ask } = aRetriever(`if (request.text !== 'waits') ${answering}`);
    await ask('a');
    const stop = new AbortController();
    const waiting = ask('waits', {}, stop.signal);
    stop.abort(new Error('the run was cancelled'));
    await expect(waiting).rejects.toThrow('the run was cancelled');
    await expect(ask('b', {}, stop.signal)).rejects.toThrow('the run was cancelled');
    expect(getEventListeners(stop.signal, 'abort')).toHaveLength(0);
    expect(await ask('b')).toMatchObject({ kind: 'documents' });
    expect(starts()).toHaveLength(1);
  });
});

function cut(chunks: readonly Buffer[], maxBytes = 1000): { lines: string[]; tooLong: number } {
  const lines: string[] = [];
  let tooLong = 0;
  const take = createLineCutter(
    maxBytes,
    (line) => lines.push(line),
    () => {
      tooLong += 1;
    },
  );
  for (const chunk of chunks) take(chunk);
  return { lines, tooLong };
}

/** Splits the bytes of a text into chunks that may end anywhere, even within a character. */
function chunksOf(text: string, sizes: readonly number[]): Buffer[] {
  const bytes = Buffer.from(text);
  const chunks: Buffer[] = [];
  for (let at = 0, turn = 0; at < bytes.length; turn += 1) {
    const size = sizes[turn % sizes.length] ?? 1;
    chunks.push(bytes.subarray(at, at + size));
    at += size;
  }
  return chunks;
}

describe('a stream of lines', () => {
  const aLine = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 40 }).map((text) => JSON.stringify(text));
  const sizes = fc.array(fc.integer({ min: 1, max: 17 }), { minLength: 1 });

  it('is emitted line by line, however its bytes were split', () => {
    fc.assert(
      fc.property(fc.array(aLine), sizes, fc.constantFrom('\n', '\r\n', '\n\n'), (lines, sizes, end) => {
        const text = lines.map((line) => line + end).join('');
        expect(cut(chunksOf(text, sizes))).toEqual({ lines, tooLong: 0 });
      }),
    );
  });

  it('holds back an unfinished line', () => {
    expect(cut([Buffer.from('one\ntw')]).lines).toEqual(['one']);
    expect(cut([Buffer.from('one\ntw'), Buffer.from('o\n')]).lines).toEqual(['one', 'two']);
  });

  it('ends at a line that is too long, which is reported once', () => {
    const chunks = ['short\n', '123456', '789012', '\nshort again\n'].map((text) => Buffer.from(text));
    expect(cut(chunks, 10)).toEqual({ lines: ['short'], tooLong: 1 });
    expect(cut([Buffer.from('1234567890\n')], 10)).toEqual({ lines: ['1234567890'], tooLong: 0 });
  });
});
