import { createReadStream } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { RecalldError } from '../../errors.ts';

/** One passage of the demo's corpus. */
export interface DemoDocument {
  readonly id: string;
  readonly title: string;
  readonly text: string;
}

/** One question of the demo's golden set; its judgments are in `qrels.tsv`. */
export interface DemoQuestion {
  readonly id: string;
  readonly text: string;
}

/**
 * The folder of the demo's data in BEIR layout: corpus.jsonl, queries.jsonl, qrels.tsv. The data are not compiled,
 * so the path leads to src/ from src/demo/rag and from dist/demo/rag alike.
 */
export const demoDataPath = join(import.meta.dirname, '../../../src/demo/data/xquad-en');

/** The 240 passages in the order of the file. Throws file_unreadable or file_malformed. */
export async function readDemoDocuments(): Promise<DemoDocument[]> {
  const rows = await readJsonLines(join(demoDataPath, 'corpus.jsonl'), ['_id', 'title', 'text']);
  return rows.map((row) => ({ id: row._id, title: row.title, text: row.text }));
}

/** The 1,190 questions in the order of the file. Throws file_unreadable or file_malformed. */
export async function readDemoQuestions(): Promise<DemoQuestion[]> {
  const rows = await readJsonLines(join(demoDataPath, 'queries.jsonl'), ['_id', 'text']);
  return rows.map((row) => ({ id: row._id, text: row.text }));
}

/** Which document each question has its answer in, by the id of the question. */
export async function readDemoAnswers(): Promise<ReadonlyMap<string, string>> {
  const path = join(demoDataPath, 'qrels.tsv');
  const text = await readFile(path, 'utf8').catch((cause: unknown) => {
    throw unreadable(path, cause);
  });
  const rows = text.trim().split('\n').slice(1);
  return new Map(
    rows.map((row) => {
      const [question = '', document = ''] = row.split('\t');
      return [question, document];
    }),
  );
}

/** Reads objects with the given text fields, one per line; blank lines are skipped. */
async function readJsonLines<Field extends string>(
  path: string,
  fields: readonly Field[],
): Promise<Record<Field, string>[]> {
  const rows: Record<Field, string>[] = [];
  let lineNumber = 0;
  try {
    for await (const line of createInterface({
      input: createReadStream(path, 'utf8'),
      crlfDelay: Infinity,
    })) {
      lineNumber += 1;
      if (line.trim() !== '') rows.push(parseRow(line, fields, `${path}, line ${lineNumber}`));
    }
  } catch (cause) {
    if (cause instanceof RecalldError) throw cause;
    throw unreadable(path, cause);
  }
  return rows;
}

function unreadable(path: string, cause: unknown): RecalldError {
  const message = `The demo data file ${path} cannot be read; reinstall recalld.`;
  return new RecalldError('file_unreadable', message, { cause });
}

function parseRow<Field extends string>(line: string, fields: readonly Field[], place: string): Record<Field, string> {
  let row: unknown;
  try {
    row = JSON.parse(line);
  } catch (cause) {
    throw new RecalldError('file_malformed', `${place} is not JSON; reinstall recalld.`, { cause });
  }
  if (!hasTextFields(row, fields)) {
    throw new RecalldError('file_malformed', `${place} needs the text fields ${fields.join(', ')}; reinstall recalld.`);
  }
  return row;
}

function hasTextFields<Field extends string>(row: unknown, fields: readonly Field[]): row is Record<Field, string> {
  if (typeof row !== 'object' || row === null) return false;
  const values: Record<string, unknown> = { ...row };
  return fields.every((field) => typeof values[field] === 'string');
}
