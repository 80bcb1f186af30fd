import { spawnSync } from 'node:child_process';
import { expect, it } from 'vitest';
import type { LogLevel } from '../../../src/app/logger.ts';

/** Makes some logger calls in a separate process, and returns the output as an operator sees it. */
function logged(level: LogLevel, calls: string): { stdout: string; entries: Record<string, unknown>[] } {
  const adapter = new URL('../../../src/app/logger.ts', import.meta.url).href;
  const script = `import { createLogger } from '${adapter}';\nconst log = createLogger('${level}');\n${calls}`;
  const args = ['--import', import.meta.resolve('tsx'), '--input-type=module', '--eval', script];
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' });
  expect({ status, stderr }).toMatchObject({ status: 0 });
  const lines = stderr.split('\n').filter((line) => line !== '');
  return { stdout, entries: lines.map((line) => JSON.parse(line) as Record<string, unknown>) };
}

it('writes one JSON object per line to stderr, including the last lines before the process exits', () => {
  const { stdout, entries } = logged(
    'info',
    `log.info('started', { port: 8321 }); log.error('two\\nlines'); process.exit(0);`,
  );
  expect(stdout).toBe('');
  expect(entries).toEqual([
    { level: 'info', time: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/), port: 8321, msg: 'started' },
    { level: 'error', time: expect.any(String), msg: 'two\nlines' },
  ]);
});

it('omits lines below the configured level', () => {
  const { entries } = logged('warn', `log.debug('d'); log.info('i'); log.warn('w'); log.error('e');`);
  expect(entries.map(({ level }) => level)).toEqual(['warn', 'error']);
});

it('redacts secrets in fields', () => {
  const secrets = `{ password: 's3cret', storage: { password: 's3cret', url: 'x' }, headers: { authorization: 's3cret' }, api_key: 's3cret' }`;
  const { entries } = logged('info', `log.info('config', ${secrets});`);
  expect(JSON.stringify(entries)).not.toContain('s3cret');
  expect(entries[0]).toMatchObject({ password: '[redacted]', storage: { password: '[redacted]', url: 'x' } });
});
