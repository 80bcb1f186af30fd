import { readdirSync } from 'node:fs';
import { mkdir, mkdtemp, realpath, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { cruise, type ICruiseResult } from 'dependency-cruiser';
import extractDepcruiseOptions from 'dependency-cruiser/config-utl/extract-depcruise-options';
import { describe, expect, it, onTestFinished } from 'vitest';

const root = path.resolve(import.meta.dirname, '../..');

/** Applies the repository's own rules to the folder `src` in `baseDir`. */
async function cruiseSource(baseDir: string): Promise<ICruiseResult> {
  const options = await extractDepcruiseOptions(path.join(root, '.dependency-cruiser.mjs'));
  const { output } = await cruise(['src'], { ...options, baseDir });
  if (typeof output === 'string') throw new Error(`dependency-cruiser returned a text: ${output}`);
  return output;
}

function violations({ summary }: ICruiseResult): string[] {
  return summary.violations.map(({ from, to, rule }) => `${from} -> ${to} (${rule.name})`);
}

/** Creates a folder with these files in `src` and with the repository's packages. The caller removes it. */
async function aSource(files: Readonly<Record<string, string>>): Promise<string> {
  const folder = await realpath(await mkdtemp(path.join(tmpdir(), 'recalld-layers-')));
  await symlink(path.join(root, 'node_modules'), path.join(folder, 'node_modules'));
  await Promise.all(
    Object.entries(files).map(async ([name, content]) => {
      const file = path.join(folder, 'src', name);
      await mkdir(path.dirname(file), { recursive: true });
      await writeFile(file, content);
    }),
  );
  return folder;
}

const exporting = 'export const a = 1;\nexport type A = number;\n';

function importing(name: string): string {
  return `import { a } from '${name}';\nexport const b = a;\n`;
}

/** Violations of the rules. The file x.ts of each violation is renamed, so that all violations fit into one folder. */
const canaries: readonly (readonly [what: string, files: Readonly<Record<string, string>>, violation: string])[] = [
  ['mathematics reads files', { 'math/stats/x.ts': importing('node:fs') }, 'src/math/stats/x.ts -> fs'],
  ['mathematics uses a package', { 'math/ir/x.ts': importing('zod') }, 'src/math/ir/x.ts -> '],
  [
    'mathematics imports a subject',
    { 'math/stats/x.ts': importing('../../checks/a.ts'), 'checks/a.ts': exporting },
    'src/math/stats/x.ts -> src/checks/a.ts',
  ],
  [
    'mathematics imports a type of a subject',
    {
      'math/stats/x.ts': "import type { A } from '../../checks/a.ts';\nexport type B = A;\n",
      'checks/a.ts': exporting,
    },
    'src/math/stats/x.ts -> src/checks/a.ts',
  ],
  [
    'a rule re-exports code from an outer layer',
    { 'checks/rules/x.ts': "export * from '../../app/a.ts';\n", 'app/a.ts': exporting },
    'src/checks/rules/x.ts -> src/app/a.ts',
  ],
  [
    'a rule imports an outer layer at run time',
    { 'checks/rules/x.ts': "export const b = import('../../app/a.ts');\n", 'app/a.ts': exporting },
    'src/checks/rules/x.ts -> src/app/a.ts',
  ],
  [
    'a rule imports a use case of its subject',
    { 'checks/rules/x.ts': importing('../a.ts'), 'checks/a.ts': exporting },
    'src/checks/rules/x.ts -> src/checks/a.ts',
  ],
  [
    'a rule reads the clock of Node',
    { 'checks/rules/x.ts': importing('node:timers') },
    'src/checks/rules/x.ts -> timers',
  ],
  ['a rule uses a package', { 'density/rules/x.ts': importing('pg') }, 'src/density/rules/x.ts -> '],
  [
    'a rule imports a table',
    { 'density/rules/x.ts': importing('../a-table.ts'), 'density/a-table.ts': exporting },
    'src/density/rules/x.ts -> src/density/a-table.ts',
  ],
  [
    'a use case imports the command line',
    { 'checks/x.ts': importing('../cli/a.ts'), 'cli/a.ts': exporting },
    'src/checks/x.ts -> src/cli/a.ts',
  ],
  [
    'a use case imports the app',
    { 'golden/x.ts': importing('../app/a.ts'), 'app/a.ts': exporting },
    'src/golden/x.ts -> src/app/a.ts',
  ],
  [
    'a subject imports a later subject',
    { 'live/x.ts': importing('../golden/a.ts'), 'golden/a.ts': exporting },
    'src/live/x.ts -> src/golden/a.ts',
  ],
  [
    'a subject that measures imports the checks',
    { 'density/x.ts': importing('../checks/a.ts'), 'checks/a.ts': exporting },
    'src/density/x.ts -> src/checks/a.ts (measured-before-checked)',
  ],
  [
    'the platform imports a subject',
    { 'platform/queue/x.ts': importing('../../golden/a.ts'), 'golden/a.ts': exporting },
    'src/platform/queue/x.ts -> src/golden/a.ts',
  ],
  [
    'a part of the platform uses a package of another part',
    { 'platform/threads/x.ts': importing('pg') },
    'src/platform/threads/x.ts -> ',
  ],
  [
    'a vector store imports a subject',
    { 'connectors/stores/x.ts': importing('../../density/a.ts'), 'density/a.ts': exporting },
    'src/connectors/stores/x.ts -> src/density/a.ts',
  ],
  [
    'the client imports the daemon',
    { 'client/x.ts': importing('../app/a.ts'), 'app/a.ts': exporting },
    'src/client/x.ts -> src/app/a.ts',
  ],
  [
    'a folder outside the layers is imported',
    { 'checks/x.ts': importing('../helpers/a.ts'), 'helpers/a.ts': exporting },
    'src/checks/x.ts -> src/helpers/a.ts',
  ],
  [
    'a folder outside the layers imports a layer',
    { 'helpers/x.ts': importing('../math/stats/a.ts'), 'math/stats/a.ts': exporting },
    'src/helpers/x.ts -> src/math/stats/a.ts',
  ],
  [
    'two files import each other',
    {
      'math/stats/x.ts': importing('./c.ts'),
      'math/stats/c.ts': "import { b } from './x.ts';\nexport const a = () => b;\n",
    },
    'src/math/stats/c.ts -> src/math/stats/x.ts (no-cycles)',
  ],
  [
    'the core imports mathematics',
    { 'core/x.ts': importing('../math/a.ts'), 'math/a.ts': exporting },
    'src/core/x.ts -> src/math/a.ts',
  ],
  [
    'the platform imports a connector',
    { 'platform/http/x.ts': importing('../../connectors/stores/a.ts'), 'connectors/stores/a.ts': exporting },
    'src/platform/http/x.ts -> src/connectors/stores/a.ts',
  ],
  [
    'a use case imports its own edge',
    { 'checks/x.ts': importing('./edge/a.ts'), 'checks/edge/a.ts': exporting },
    'src/checks/x.ts -> src/checks/edge/a.ts',
  ],
  [
    'a use case imports the report',
    { 'golden/x.ts': importing('../report/a.ts'), 'report/a.ts': exporting },
    'src/golden/x.ts -> src/report/a.ts',
  ],
  ['a use case imports the HTTP server', { 'golden/x.ts': importing('fastify') }, 'src/golden/x.ts -> '],
  [
    'the report imports the demo',
    { 'report/x.ts': importing('../demo/a.ts'), 'demo/a.ts': exporting },
    'src/report/x.ts -> src/demo/a.ts',
  ],
  [
    'the daemon imports the command line of MCP',
    { 'live/x.ts': importing('../mcp/a.ts'), 'mcp/a.ts': exporting },
    'src/live/x.ts -> src/mcp/a.ts',
  ],
  [
    'a file imports a file that does not exist',
    { 'math/stats/x.ts': importing('./nowhere.ts') },
    'src/math/stats/x.ts -> ',
  ],
];

function named(text: string, index: number): string {
  return text.replaceAll(/\/x\.ts/g, `/x${index}.ts`);
}

const remove = (folder: string): Promise<void> => rm(folder, { recursive: true, force: true });

/** Puts all violations in one folder, because checking a separate folder for each violation would be too slow. */
async function cruiseAll(planted: readonly Readonly<Record<string, string>>[]): Promise<ICruiseResult> {
  const files = planted.flatMap((one, index) =>
    Object.entries(one).map(([name, content]) => [named(name, index), named(content, index)]),
  );
  const folder = await aSource(Object.fromEntries(files) as Record<string, string>);
  try {
    return await cruiseSource(folder);
  } finally {
    await remove(folder);
  }
}

describe('the dependency rule', { timeout: 120_000 }, () => {
  const src = cruiseSource(root);

  it('is checked for every file in src, because a checker that reads no files reports no violations', async () => {
    const files = readdirSync(path.join(root, 'src'), { recursive: true, encoding: 'utf8' }).filter((file) =>
      /\.tsx?$/.test(file),
    );
    const seen = new Set((await src).modules.map(({ source }) => source));
    expect(files.length).toBeGreaterThan(100);
    expect(files.filter((file) => !seen.has(`src/${file.replaceAll(path.sep, '/')}`))).toEqual([]);
  });

  it('is followed in src', async () => {
    expect(violations(await src)).toEqual([]);
  });

  const planted = cruiseAll(canaries.map(([, files]) => files));

  it.each(canaries.map(([what, , violation], index) => [what, named(violation, index)]))(
    'is reported as broken if %s',
    async (_, violation) => {
      expect(violations(await planted).filter((line) => line.startsWith(violation))).not.toEqual([]);
    },
  );

  it('allows imports of earlier layers', async () => {
    const folder = await aSource({
      'math/stats/a.ts': exporting,
      'math/stats/x.ts': importing('./a.ts'),
      'live/rules/a.ts': exporting,
      'checks/rules/x.ts': importing('../../math/stats/a.ts'),
      'checks/rules/y.ts': importing('../../live/rules/a.ts'),
      'checks/x.ts': importing('../platform/postgres/a.ts'),
      'checks/edge/x.ts': importing('../../cli/x.ts'),
      'platform/postgres/a.ts': exporting,
      'platform/queue/x.ts': importing('node-cron'),
      'connectors/stores/x.ts': importing('../../platform/postgres/a.ts'),
      'golden/a.ts': exporting,
      'density/x.ts': importing('../golden/a.ts'),
      'golden/edge/x.ts': importing('../../checks/a.ts'),
      'checks/a.ts': exporting,
      'report/x.ts': importing('../checks/a.ts'),
      'app/x.ts': importing('../platform/queue/b.ts'),
      'platform/queue/b.ts': exporting,
      'cli/x.ts': importing('../app/a.ts'),
      'app/a.ts': exporting,
    });
    onTestFinished(() => remove(folder));
    expect(violations(await cruiseSource(folder))).toEqual([]);
  });
});
