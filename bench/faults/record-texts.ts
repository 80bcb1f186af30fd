/**
 * Creates the corpora of the fault benchmark from their sources, and computes the vectors of the small encoder.
 *
 *     npx tsx bench/faults/record-texts.ts --xquad FOLDER --limit FOLDER --papers FILE --texts FILE
 *
 * `--xquad` is a checkout of google-deepmind/xquad, `--limit` a folder with corpus.jsonl, queries.jsonl and qrels.tsv
 * of limit-small, `--papers` the file 200423_covidQA.json of deepset-ai/COVID-QA. `--texts` receives every text that is
 * embedded, as JSON, for `record-vectors.py`.
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { gzipSync } from 'node:zlib';
import { canaryTexts } from '../../src/density/rules/measurement-change.ts';
import { dotProduct, rowOf } from '../../src/math/vector/matrix.ts';
import { encode } from '../density/dense-encoder.ts';
import { mainDirections } from '../density/main-directions.ts';
import { type CorpusDocument, type CorpusQuery, dataFolder, type StoredCorpus } from './corpora.ts';
import { halvesOf, PREFIXES, prefixOf, terse } from './texts.ts';
import { encoders, packVectors } from './vectors.ts';

interface Xquad {
  readonly data: readonly {
    readonly title: string;
    readonly paragraphs: readonly {
      readonly context: string;
      readonly qas: readonly {
        readonly id: string;
        readonly question: string;
        readonly answers: readonly { readonly text: string; readonly answer_start: number }[];
      }[];
    }[];
  }[];
}

/** Minimum number of characters per chunk; a chunk ends with the sentence that reaches this number. */
const CHUNK_CHARACTERS = 380;

/** Start and end of each chunk of a text. */
function chunkBounds(text: string, characters: number | null): [number, number][] {
  if (characters === null) return [[0, text.length]];
  const bounds: [number, number][] = [];
  let start = 0;
  for (const match of text.matchAll(/[.!?]["»”)]?\s+/g)) {
    const end = match.index + match[0].length;
    if (end - start < characters || text.length - end < characters / 3) continue;
    bounds.push([start, end]);
    start = end;
  }
  return [...bounds, [start, text.length]];
}

function readXquad(file: string, language: string, characters: number | null): StoredCorpus {
  return toCorpus((JSON.parse(readFileSync(file, 'utf8')) as Xquad).data, language, characters);
}

function toCorpus(data: Xquad['data'], language: string, characters: number | null): StoredCorpus {
  const documents: CorpusDocument[] = [];
  const queries: CorpusQuery[] = [];
  for (const { title, paragraphs } of data) {
    for (const [index, { context, qas }] of paragraphs.entries()) {
      const bounds = chunkBounds(context, characters);
      const ids = bounds.map((_, at) => `${title}/${index + 1}${characters === null ? '' : `.${at + 1}`}`);
      for (const [at, [start, end]] of bounds.entries())
        documents.push({ id: ids[at] ?? '', source: title, language, text: context.slice(start, end).trim() });
      for (const { id, question, answers } of qas) {
        const start = answers[0]?.answer_start ?? 0;
        const at = bounds.findIndex(([from, until]) => start >= from && start < until);
        queries.push({ id, text: question.trim(), source: title, language, relevant: [ids[Math.max(0, at)] ?? ''] });
      }
    }
  }
  return { documents, queries };
}

interface CovidQa {
  readonly data: readonly { readonly paragraphs: Xquad['data'][number]['paragraphs'] }[];
}

const PAPER_CHUNK_CHARACTERS = 700;

/** Keeps only papers whose header says that their license is CC BY. */
function readPapers(file: string): StoredCorpus {
  const { data } = JSON.parse(readFileSync(file, 'utf8')) as CovidQa;
  const licensed = data.filter(({ paragraphs: [paper] }) => /License:\s*cc-by\b(?!-)/i.test(paper?.context ?? ''));
  return toCorpus(
    licensed.map(({ paragraphs }, index) => ({ title: `paper-${index + 1}`, paragraphs })),
    'en',
    PAPER_CHUNK_CHARACTERS,
  );
}

/** Returns the first letter of the id as the source of a document, because the data set names no sources. */
function sourceOf(id: string): string {
  return `letter-${id.slice(0, 1)}`;
}

function readLimit(folder: string): StoredCorpus {
  const lines = (name: string): string[] => readFileSync(path.join(folder, name), 'utf8').trim().split('\n');
  const items = (name: string) => lines(name).map((line) => JSON.parse(line) as { _id: string; text: string });
  const judged = new Map<string, string[]>();
  for (const line of lines('qrels.tsv').slice(1)) {
    const [query = '', document = ''] = line.split('\t');
    judged.set(query, [...(judged.get(query) ?? []), document.replaceAll(' ', '_')]);
  }
  const documents = items('corpus.jsonl').map(({ _id, text }) => ({ id: _id.replaceAll(' ', '_'), text }));
  return {
    documents: documents.map(({ id, text }) => ({ id, source: sourceOf(id), language: 'en', text })),
    queries: items('queries.jsonl').map(({ _id, text }) => {
      const relevant = judged.get(_id) ?? [];
      return { id: _id, text, source: sourceOf(relevant[0] ?? 'x'), language: 'en', relevant };
    }),
  };
}

function writeCorpus(name: string, corpus: StoredCorpus): void {
  writeFileSync(path.join(dataFolder, `${name}.json.gz`), gzipSync(JSON.stringify(corpus), { level: 9 }));
  process.stdout.write(`${name}: ${corpus.documents.length} documents, ${corpus.queries.length} queries\n`);
}

function valueOf(flag: string): string {
  const value = process.argv[process.argv.indexOf(flag) + 1];
  if (!process.argv.includes(flag) || value === undefined)
    throw new Error(`${flag} is missing; see the head of the file`);
  return value;
}

const xquad = valueOf('--xquad');
const papers = readPapers(valueOf('--papers'));
const corpora: Readonly<Record<string, StoredCorpus>> = {
  'xquad-en': readXquad(path.join(xquad, 'xquad.en.json'), 'en', null),
  'xquad-de': readXquad(path.join(xquad, 'xquad.de.json'), 'de', CHUNK_CHARACTERS),
  'xquad-es': readXquad(path.join(xquad, 'xquad.es.json'), 'es', CHUNK_CHARACTERS),
  'limit-small': readLimit(valueOf('--limit')),
};
mkdirSync(dataFolder, { recursive: true });
/** Texts by language. English comes first, because one of the encoders encodes only English texts. */
const texts: Record<string, Set<string>> = { en: new Set(canaryTexts) };
for (const [name, corpus] of Object.entries(corpora)) {
  writeCorpus(name, corpus);
  for (const { text, language } of corpus.documents) {
    texts[language] ??= new Set();
    for (const one of [text, ...halvesOf(text), ...PREFIXES.map((share) => prefixOf(text, share))])
      texts[language].add(one);
  }
  for (const { text, language } of corpus.queries) texts[language]?.add(text).add(terse(text));
}
// The papers are only for the benchmarks of query density, which never embed parts of a text.
writeCorpus('covid-qa', papers);
texts['papers'] = new Set([...papers.documents, ...papers.queries].map(({ text }) => text));
writeFileSync(
  valueOf('--texts'),
  JSON.stringify(Object.fromEntries(Object.entries(texts).map(([key, set]) => [key, [...set]]))),
);
for (const [language, set] of Object.entries(texts)) process.stdout.write(`${language}: ${set.size} texts\n`);
if (!process.argv.includes('--texts-only')) {
  const english = [...(texts['en'] ?? [])];
  const vectors = await encode(english);
  const directions = mainDirections(vectors, encoders['use-lite']);
  const packed = packVectors(
    english,
    english.map((_, row) => directions.map((direction) => dotProduct(direction, rowOf(vectors, row)))),
  );
  writeFileSync(path.join(dataFolder, 'use-lite.bin'), packed);
}
