/** Compares the published search results of a public course with the results of recalld's retrievers. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';

interface CourseResult {
  readonly engine: string;
  readonly versions: Readonly<Record<string, string>>;
  readonly date: string;
  readonly queries: number;
  readonly hitRate: number;
  readonly mrr: number;
  /** MRR as the course computes it: a document that occurs twice in the data counts at each of its ranks. */
  readonly courseMrr: number;
  /** Number of queries whose result depends on the order of documents with equal scores. */
  readonly ties: number;
  /** Lowest and highest `courseMrr` over all orders of documents with equal scores. */
  readonly courseMrrBounds: readonly [number, number];
}

/** Values at cutoff 5 that the course published, measured with Elasticsearch 8.4. */
export const published = { hitRate: 0.7395720769397017, mrr: 0.6032418413658963 };

/** Folder with the files of the course, which have no license and are therefore not in this repository. */
export const courseVariable = 'RECALLD_TEST_COURSE';
export const courseFiles = { documents: 'documents-with-ids.json', queries: 'ground-truth-data.csv' };

const file = path.resolve(import.meta.dirname, '../../fixtures/interop/course.json');

export function readCourseResults(): readonly CourseResult[] {
  return existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as CourseResult[]) : [];
}

/** Replaces the engine's earlier result. */
export function writeCourseResult(result: CourseResult): void {
  const others = readCourseResults().filter(({ engine }) => engine !== result.engine);
  const all = [...others, result].toSorted((a, b) => (a.engine < b.engine ? -1 : 1));
  writeFileSync(file, `${JSON.stringify(all, null, 2)}\n`);
}
