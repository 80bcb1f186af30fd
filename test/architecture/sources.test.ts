import { existsSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { type SourceFile, sourceFiles } from './source-files.ts';

const src = sourceFiles('src');
const root = path.resolve(import.meta.dirname, '../..');

describe('a file in src', () => {
  it('has at most 400 lines, unless a command generated it', () => {
    const tooLong = src
      .filter(({ path: file }) => file !== 'src/incidents/diagnosis/rules/fitted-weights.ts')
      .map(({ path: file, text }) => ({ file, lines: text.split('\n').length - 1 }))
      .filter(({ lines }) => lines > 400)
      .map(({ file, lines }) => `${file} has ${lines} lines; split it`);
    expect(tooLong).toEqual([]);
  });

  it('writes through the logger or the commands, never to the console', () => {
    const talkative = src.filter(({ text }) => /\bconsole\s*\.\s*[a-z]/.test(text)).map(({ path: file }) => file);
    // bullmq.ts redirects the console output of BullMQ to the log.
    expect(talkative).toEqual(['src/platform/queue/bullmq.ts']);
  });

  it('is in one of at most 20 entries at the top of src', () => {
    expect(new Set(src.map(({ path: file }) => file.split('/')[1])).size).toBeLessThanOrEqual(20);
  });

  it('has a folder name that states its content', () => {
    const dumps = src
      .map(({ path: file }) => file)
      .filter((file) => /\/(utils?|helpers?|common|misc|shared|services)(\/|\.ts$)/.test(file));
    expect(dumps).toEqual([]);
  });
});

/**
 * Files that parse only text from recalld itself or from its operator, with the source of the text. The size of this
 * text needs no limit.
 */
const parsesOwnText: Readonly<Record<string, string>> = {
  'src/platform/postgres/embedded/binaries.ts': 'files of an installed package',
  'src/platform/postgres/embedded/data-dir.ts': 'a file that we wrote',
  'src/platform/files/text-file.ts': 'a file that we wrote',
  'src/density/vector-files.ts': 'a file of the person who runs the command',
  'src/live/sql/feedback-rows.ts': 'made by our own statement',
  'src/platform/queue/backends.ts': 'what a deployment of recalld wrote to name itself',
  'src/connectors/stores/pgvector/rows.ts': 'what PostgreSQL writes for a vector, which nests nothing',
  'src/golden/edge/commands/check.ts': 'a file of the person who runs the command',
  'src/golden/sets/source-layout.ts': 'a file of the person who runs the command',
  'src/golden/edge/commands/run.ts': 'what we sent ourselves',
  'src/app/version.ts': 'our package.json',
  'src/report/export/export-folder.ts': 'a file that we wrote',
  'src/platform/dashboards/frame.ts': 'a dashboard that it has just made',
  'src/client/delivery.ts': 'an answer of recalld, cut to some kilobytes',
  'src/core/text/json.ts': 'after it has looked',
  'src/demo/agent-spans.ts': 'a data file of the package',
  'src/demo/rag/corpus.ts': 'a file of the demo',
};

describe('JSON from other programs', () => {
  it('is never passed to JSON.parse directly, which has no limits', () => {
    const parsing = src.filter(({ text }) => text.includes('JSON.parse(')).map(({ path: file }) => file);
    expect(parsing.toSorted()).toEqual(Object.keys(parsesOwnText).toSorted());
  });
});

/** Pure files that are tested elsewhere, through the code that uses them. */
const testedThrough: Readonly<Record<string, string>> = {
  'src/core/errors.ts': 'test/architecture/catalogues.test.ts',
  'src/golden/rules/cell-lists.ts': 'test/unit/golden/sets/foreign-sets.test.ts',
  'src/golden/rules/foreign-judgments.ts': 'test/unit/golden/sets/foreign-sets.test.ts',
  'src/golden/rules/golden-set-builder.ts': 'test/unit/golden/sets/csv.test.ts',
  'src/golden/rules/golden-set.ts': 'test/unit/golden/sets/csv.test.ts',
  'src/golden/rules/judgment-lines.ts': 'test/unit/golden/sets/beir-and-trec.test.ts',
  'src/golden/rules/table-rows.ts': 'test/unit/golden/sets/csv.test.ts',
  'src/core/text/source-line.ts': 'test/unit/golden/sets/csv.test.ts',
};

/** Paths of a file's relative imports, from the repository root. */
function importsOf({ path: file, text }: SourceFile): string[] {
  return [...text.matchAll(/from '(\.[^']+)'/g)].map(([, target]) =>
    path.posix.join(path.posix.dirname(file), target ?? ''),
  );
}

function hasCode({ text }: SourceFile): boolean {
  return /^export (async )?(function|class) /m.test(text);
}

function folderOf(file: string): string {
  return path.posix.dirname(file);
}

describe('a rule in a subject, and other pure code', () => {
  const core = src.filter(({ path: file }) => /^src\/(stats|ir|vector|schedule|text|[a-z]+\/rules)\//.test(file));
  const tests = sourceFiles('test/unit');

  /** Files that tests in the mirrored folder import, directly or through other files in the same folder. */
  const reached = new Set<string>();
  const reach = (file: string): void => {
    const source = core.find((candidate) => candidate.path === file);
    if (source === undefined || reached.has(file)) return;
    reached.add(file);
    for (const used of importsOf(source)) if (folderOf(used) === folderOf(file)) reach(used);
  };
  for (const test of tests) {
    for (const used of importsOf(test))
      if (`test/unit${folderOf(used).slice('src'.length)}` === folderOf(test.path)) reach(used);
  }

  it('has a test in the mirrored folder', () => {
    const untested = core
      .filter((file) => hasCode(file) && !reached.has(file.path) && testedThrough[file.path] === undefined)
      .map(
        ({ path: file }) =>
          `${file} has no test: write ${file.replace('src/', 'test/unit/').replace('.ts', '.test.ts')}`,
      );
    expect(untested).toEqual([]);
  });

  it('still exists if it is listed as tested elsewhere, as does the listed test', () => {
    const gone = Object.entries(testedThrough)
      .flat()
      .filter((file) => !existsSync(path.join(root, file)));
    expect(gone).toEqual([]);
  });
});
