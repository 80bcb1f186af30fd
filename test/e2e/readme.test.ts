/** A new user's first steps: the config, files and commands in README.md, in order. */
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { chmod, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { documents, type FaultServer, startFaultServer } from '../support/fault-server.ts';
import { aFolder, startRecalld } from '../support/recalld.ts';

const root = path.resolve(import.meta.dirname, '../..');
const readme = readFileSync(path.join(root, 'README.md'), 'utf8');
const run = promisify(execFile);

const blocks = (language: string) =>
  [...readme.matchAll(new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\``, 'gm'))].map(([, text = '']) => text);

/** Commands of all sh blocks, one per line, without comments after `#`. */
const commands = blocks('sh')
  .flatMap((block) => block.replaceAll(/\\\n\s*/g, '').split('\n'))
  .map((line) => line.replace(/\s+# .*$/, '').trim())
  .filter((line) => line !== '');

/** Commands to skip: they start this test, install from the registry, or need servers that other tests start. */
const elsewhere = [/^npm /, /^npx recalld migrate/, /^npx recalld serve/, /^npx recalld init/];

const cleanups: (() => Promise<void>)[] = [];
const atEnd = (clean: () => Promise<void>) => void cleanups.unshift(clean);

let folder = '';
let retriever: FaultServer;

beforeAll(async () => {
  retriever = await startFaultServer(
    documents(() => [
      { id: 'kb-104', score: 2 },
      { id: 'kb-377', score: 1 },
    ]),
  );
  atEnd(() => retriever.close());
  const [config = ''] = blocks('yaml');
  const [table = ''] = blocks('csv');
  const judged = Array.from({ length: 20 }, (_, i) => `q${i}`);
  folder = await aFolder(
    {
      'recalld.yaml': `server: {port: 0}\n${config.replace('http://127.0.0.1:9000/search', retriever.url)}`,
      'faq.csv': table,
      'qrels.txt': judged.map((id) => `${id} 0 d1 1\n`).join(''),
      'main.run': judged.map((id) => `${id} Q0 d1 1 2 x\n`).join(''),
      'branch.run': judged.map((id) => `${id} Q0 d1 1 2 x\n`).join(''),
      npx: `#!/bin/sh\nshift\nexec "${process.execPath}" "${path.join(root, 'dist/cli/main.js')}" "$@"\n`,
    },
    atEnd,
  );
  await chmod(path.join(folder, 'npx'), 0o755);
});

afterAll(async () => {
  for (const clean of cleanups) await clean();
});

const shell = (line: string) =>
  run('sh', ['-c', line], {
    cwd: folder,
    env: { ...process.env, PATH: `${folder}${path.delimiter}${process.env['PATH'] ?? ''}` },
  });

describe('the README', () => {
  it('has only commands that are run here or in another test', () => {
    const known = [...elsewhere, /^npx recalld (config|golden|rules|dashboards|eval|compare) /, /^curl /];
    expect(commands.filter((line) => !known.some((pattern) => pattern.test(line)))).toEqual([]);
  });

  it.each(commands.filter((line) => /^npx recalld (?!serve|migrate|init)/.test(line)))(
    'has a command that works: %s',
    async (line) => {
      await expect(shell(line)).resolves.toMatchObject({ stderr: expect.not.stringContaining('recalld: ') });
    },
  );

  it('has curl commands and a client snippet whose data recalld accepts', async () => {
    const daemon = await startRecalld(['serve'], folder, {}, atEnd);
    for (const line of commands.filter((command) => command.startsWith('curl '))) {
      const { stdout } = await shell(line.replace('http://127.0.0.1:8321', daemon.url));
      expect(JSON.parse(stdout)).toMatchObject({ accepted: 1, rejected: [] });
    }
    const [snippet = ''] = blocks('js');
    const script = `const question = 'why?';\n${snippet
      .replace("'recalld/client'", `'${path.join(root, 'dist/client/client.js')}'`)
      .replace('http://127.0.0.1:8321', daemon.url)}\nconsole.log(JSON.stringify(await recalld.close()));\n`;
    await writeFile(path.join(folder, 'service.mjs'), script);
    const { stdout } = await shell(`"${process.execPath}" service.mjs`);
    expect(JSON.parse(stdout)).toMatchObject({ sent: 2, pending: 0 });
  });
});
