/** The recorded corpora: documents, queries and judgments. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { gunzipSync } from 'node:zlib';

export const dataFolder = path.join(import.meta.dirname, 'data');

export interface CorpusDocument {
  readonly id: string;
  /** Article or file that contains the document. */
  readonly source: string;
  readonly language: string;
  readonly text: string;
}

export interface CorpusQuery {
  readonly id: string;
  readonly text: string;
  readonly source: string;
  readonly language: string;
  /** Ids of the documents that answer the query. */
  readonly relevant: readonly string[];
}

export interface StoredCorpus {
  readonly documents: readonly CorpusDocument[];
  readonly queries: readonly CorpusQuery[];
}

const files = ['xquad-en', 'xquad-de', 'xquad-es', 'limit-small', 'covid-qa'] as const;
type FileName = (typeof files)[number];

/** Sources of each corpus: one recorded file, or files in two languages. */
const parts = {
  'xquad-en': ['xquad-en'],
  'xquad-de': ['xquad-de'],
  'xquad-es': ['xquad-es'],
  'limit-small': ['limit-small'],
  'covid-qa': ['covid-qa'],
  'xquad-en-de': ['xquad-en', 'xquad-de'],
  'xquad-en-es': ['xquad-en', 'xquad-es'],
} as const satisfies Readonly<Record<string, readonly FileName[]>>;

export type CorpusName = keyof typeof parts;

const read = new Map<FileName, StoredCorpus>();

function readFile(name: FileName): StoredCorpus {
  const known = read.get(name);
  if (known !== undefined) return known;
  const bytes = gunzipSync(readFileSync(path.join(dataFolder, `${name}.json.gz`)));
  const corpus = JSON.parse(bytes.toString('utf8')) as StoredCorpus;
  read.set(name, corpus);
  return corpus;
}

/** Returns the queries of one file. In XQuAD, a query has the same id in every language. */
export function readQueries(name: FileName): readonly CorpusQuery[] {
  return readFile(name).queries;
}

function marked(id: string, language: string): string {
  return `${language}:${id}`;
}

/** In a corpus of two languages, ids of the second language contain the language, so that all ids are unique. */
export function readCorpus(name: CorpusName): StoredCorpus {
  const [first, second] = parts[name].map(readFile);
  if (first === undefined) throw new Error(`The corpus ${name} has no file.`);
  if (second === undefined) return first;
  return {
    documents: [...first.documents, ...second.documents.map((one) => ({ ...one, id: marked(one.id, one.language) }))],
    queries: [
      ...first.queries,
      ...second.queries.map((one) => ({
        ...one,
        id: marked(one.id, one.language),
        relevant: one.relevant.map((id) => marked(id, one.language)),
      })),
    ],
  };
}
