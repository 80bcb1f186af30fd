/**
 * docs/explanation/architecture.md matches the code: its files exist, and each file in a drawing imports the next one.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { measureTable } from '../../src/measures/rules/measure-table.ts';
import { sourceFiles } from './source-files.ts';

const root = path.resolve(import.meta.dirname, '../..');
const page = readFileSync(path.join(root, 'docs/explanation/architecture.md'), 'utf8');
const src = sourceFiles('src');

/** The files in a drawing, in order. */
function drawing(title: string): string[] {
  const section = page.slice(page.indexOf(`## ${title}`)).split('\n## ')[0] ?? '';
  return section
    .split('\n')
    .filter((line) => line.startsWith('| ') && !line.startsWith('| step'))
    .flatMap((line) => [...(line.split(' | ')[1] ?? '').matchAll(/`([^`]+)`/g)].map(([, file = '']) => file));
}

function importsOf(file: string): string[] {
  const text = src.find((source) => source.path === `src/${file}`)?.text ?? '';
  return [...text.matchAll(/from '(\.[^']+)'/g)].map(([, to = '']) => path.posix.join(path.posix.dirname(file), to));
}

describe.each([
  ['A live query, from the route to the row', ['app/http/server.ts', 'app/http-surface.ts']],
  ['A density window, from the job to the verdict', ['density/jobs.ts', 'checks/evaluate-checks.ts']],
])('%s', (title, starts) => {
  const files = drawing(title);

  it('lists at most 20 files, each once', () => {
    expect(files.length).toBeGreaterThan(10);
    expect(files.length).toBeLessThanOrEqual(20);
    expect(new Set(files).size).toBe(files.length);
  });

  it('never goes backwards: each file is imported by an earlier file', () => {
    const astray = files.filter(
      (file, index) =>
        !starts.includes(file) && !files.slice(0, index).some((before) => importsOf(before).includes(file)),
    );
    expect(astray).toEqual([]);
  });
});

it('names only files that exist', () => {
  const pages = readdirSync(path.join(root, 'docs'), { recursive: true, encoding: 'utf8' }).filter(
    (name) => name.endsWith('.md') && !name.startsWith('decisions'),
  );
  const missing = pages.flatMap((name) =>
    [...readFileSync(path.join(root, 'docs', name), 'utf8').matchAll(/`([\w./-]+\/[\w.-]+\.tsx?)`/g)]
      .map(([, file = '']) => file)
      .filter((file) => !existsSync(path.join(root, file)) && !existsSync(path.join(root, 'src', file)))
      .map((file) => `docs/${name}: ${file}`),
  );
  expect(missing).toEqual([]);
});

it('has a reader for every row of the measure table', () => {
  const readers = src.filter(({ path: file }) => !file.startsWith('src/measures/rules/'));
  const unread = Object.keys(measureTable).filter(
    (measure) =>
      !readers.some(
        ({ text }) => text.includes(`'${measure}'`) || text.includes(`'${measure.replace(/[a-z]+$/, '')}'`),
      ),
  );
  expect(unread).toEqual([]);
});
