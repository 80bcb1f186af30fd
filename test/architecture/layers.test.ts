import { readdirSync } from 'node:fs';
import { mkdir, mkdtemp, realpath, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { cruise, type ICruiseResult } from 'dependency-cruiser';
import extractDepcruiseOptions from 'dependency-cruiser/config-utl/extract-depcruise-options';
import { describe, expect, it, onTestFinished } from 'vitest';

const root = path.resolve(import.meta.dirname, '../..');

/** Applies the repository's own rules to the folder `src` of `baseDir`. */
async function cruiseSource(baseDir: string): Promise<ICruiseResult> {
  const options = await extractDepcruiseOptions(path.join(root, '.dependency-cruiser.mjs'));
  const { output } = await cruise(['src'], { ...options, baseDir });
  if (typeof output === 'string') throw new Error(`dependency-cruiser answered with a text: ${output}`);
  return output;
}

function violations({ summary }: ICruiseResult): string[] {
  return summary.violations.map(({ from, to, rule }) => `${from} -> ${to} (${rule.name})`);
}

/** A folder with these files in `src` and with the packages of the repository. */
async function aSource(files: Readonly<Record<string, string>>): Promise<string> {
  const folder = await realpath(await mkdtemp(path.join(tmpdir(), 'recalld-layers-')));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
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

describe('the dependency rule', () => {
  const src = cruiseSource(root);

  it('has looked at every file of src: a cruiser that cannot read TypeScript sees none and reports no violation', async () => {
    const files = readdirSync(path.join(root, 'src'), { recursive: true, encoding: 'utf8' }).filter((file) =>
      /\.tsx?$/.test(file),
    );
    const seen = new Set((await src).modules.map(({ source }) => source));
    expect(files.length).toBeGreaterThan(100);
    expect(files.filter((file) => !seen.has(`src/${file.replaceAll(path.sep, '/')}`))).toEqual([]);
  });

  it('is kept by src', async () => {
    expect(violations(await src)).toEqual([]);
  });

  it.each([
    ['core reads files', { 'core/x.ts': importing('node:fs') }, 'src/core/x.ts -> fs'],
    ['core uses a package', { 'core/x.ts': importing('zod') }, 'src/core/x.ts -> '],
    [
      'core imports outward',
      { 'core/x.ts': importing('../ports/a.ts'), 'ports/a.ts': exporting },
      'src/core/x.ts -> src/ports/a.ts',
    ],
    [
      'core imports outward, but only a type',
      {
        'core/x.ts': "import type { A } from '../ports/a.ts';\nexport type B = A;\n",
        'ports/a.ts': exporting,
      },
      'src/core/x.ts -> src/ports/a.ts',
    ],
    [
      'core is re-exported from outside',
      { 'core/x.ts': "export * from '../app/a.ts';\n", 'app/a.ts': exporting },
      'src/core/x.ts -> src/app/a.ts',
    ],
    [
      'core imports at run time',
      { 'core/x.ts': "export const b = import('../app/a.ts');\n", 'app/a.ts': exporting },
      'src/core/x.ts -> src/app/a.ts',
    ],
    [
      'the pipeline knows an adapter',
      { 'pipeline/x.ts': importing('../adapters/postgres/a.ts'), 'adapters/postgres/a.ts': exporting },
      'src/pipeline/x.ts -> src/adapters/postgres/a.ts',
    ],
    [
      'the rules of a subject know its use cases',
      { 'checks/rules/x.ts': importing('../a.ts'), 'checks/a.ts': exporting },
      'src/checks/rules/x.ts -> src/checks/a.ts',
    ],
    [
      'the rules of a subject read the clock of Node',
      { 'checks/rules/x.ts': importing('node:timers') },
      'src/checks/rules/x.ts -> timers',
    ],
    [
      'a use case of a subject knows the command line',
      { 'checks/x.ts': importing('../cli/a.ts'), 'cli/a.ts': exporting },
      'src/checks/x.ts -> src/cli/a.ts',
    ],
    [
      'what measures knows who evaluates',
      { 'pipeline/density/x.ts': importing('../../checks/a.ts'), 'checks/a.ts': exporting },
      'src/pipeline/density/x.ts -> src/checks/a.ts (measured-before-checked)',
    ],
    [
      'an adapter knows another',
      { 'adapters/queue/x.ts': importing('../postgres/a.ts'), 'adapters/postgres/a.ts': exporting },
      'src/adapters/queue/x.ts -> src/adapters/postgres/a.ts',
    ],
    [
      'an adapter uses the driver of another',
      { 'adapters/schedule/x.ts': importing('pg') },
      'src/adapters/schedule/x.ts -> ',
    ],
    [
      'the command line knows an adapter',
      { 'cli/x.ts': importing('../adapters/files/a.ts'), 'adapters/files/a.ts': exporting },
      'src/cli/x.ts -> src/adapters/files/a.ts',
    ],
    [
      'a folder without a place is imported',
      { 'core/x.ts': importing('../helpers/a.ts'), 'helpers/a.ts': exporting },
      'src/core/x.ts -> src/helpers/a.ts',
    ],
    [
      'a folder without a place imports',
      { 'helpers/x.ts': importing('../core/a.ts'), 'core/a.ts': exporting },
      'src/helpers/x.ts -> src/core/a.ts',
    ],
    [
      'a rule of density uses a package',
      { 'density/rules/x.ts': importing('pg') },
      'src/density/rules/x.ts -> ',
    ],
    [
      'a rule of density reads the clock of a port',
      { 'density/rules/x.ts': importing('../../ports/a.ts'), 'ports/a.ts': exporting },
      'src/density/rules/x.ts -> src/ports/a.ts',
    ],
    [
      'a rule of density knows a table',
      { 'density/rules/x.ts': importing('../a-table.ts'), 'density/a-table.ts': exporting },
      'src/density/rules/x.ts -> src/density/a-table.ts',
    ],
    [
      'another subject goes behind the doors of density',
      { 'pipeline/x.ts': importing('../density/traffic.ts'), 'density/traffic.ts': exporting },
      'src/pipeline/x.ts -> src/density/traffic.ts',
    ],
    [
      'two files import each other',
      {
        'core/x.ts': importing('./a.ts'),
        'core/a.ts': "import { b } from './x.ts';\nexport const a = () => b;\n",
      },
      'src/core/a.ts -> src/core/x.ts (no-cycles)',
    ],
    [
      'something is imported that does not exist',
      { 'core/x.ts': importing('./nowhere.ts') },
      'src/core/x.ts -> ',
    ],
  ])('is seen to be broken when %s', async (_, files, violation) => {
    const found = violations(await cruiseSource(await aSource(files)));
    expect(found.filter((line) => line.startsWith(violation))).not.toEqual([]);
  });

  it('lets imports pass that point inward', async () => {
    const folder = await aSource({
      'core/a.ts': exporting,
      'core/x.ts': importing('./a.ts'),
      'pipeline/x.ts': importing('../core/a.ts'),
      'checks/rules/x.ts': importing('../../core/a.ts'),
      'checks/x.ts': importing('./rules/x.ts'),
      'checks/x-command.ts': importing('../cli/x.ts'),
      'cli/x.ts': importing('../app/x.ts'),
      'adapters/schedule/x.ts': importing('node-cron'),
      'app/x.ts': importing('../adapters/schedule/x.ts'),
      'density/rules/x.ts': importing('../../core/stats/a.ts'),
      'core/stats/a.ts': exporting,
      'density/index.ts': "export { b } from './rules/x.ts';\n",
      'pipeline/y.ts': "import { b } from '../density/index.ts';\nexport const c = b;\n",
    });
    expect(violations(await cruiseSource(folder))).toEqual([]);
  });
});
