/** Golden sets and configs that several end-to-end tests share. */
import type { ReceivedRequest } from '../support/fault-server.ts';

/** Returns a golden set in which document `di` is relevant to `question i`; `course` is a tag. */
export function aGoldenCsv(queries: number): string {
  const rows = Array.from({ length: queries }, (_, i) => `question ${i},d${i},${i % 2 === 0 ? 'even' : 'odd'}`);
  return ['question,document,course', ...rows].join('\n');
}

/** Returns the number of the query that a request contains. */
export function questionOf(request: ReceivedRequest): number {
  return Number((JSON.parse(request.body) as { query: string }).query.replace('question ', ''));
}

/** Returns the relevant document first, then others. */
export function rightAnswer(request: ReceivedRequest): { id: string; score: number }[] {
  const right = questionOf(request);
  return [right, right + 1000, right + 2000].map((n, rank) => ({ id: `d${n}`, score: 1 - rank / 10 }));
}

export interface ConfigOptions {
  readonly url: string;
  readonly storage?: string;
  readonly golden?: string;
  readonly retriever?: string;
  readonly checks?: string;
}

/** A recalld.yaml with one pipeline `docs` and one golden set `faq`; extra keys are given as YAML flow text. */
export function aConfig({ url, storage = '{}', golden = '', retriever = '', checks = '[]' }: ConfigOptions): string {
  return `
server: {port: 0}
storage: ${storage}
pipelines:
  - name: docs
    retriever: {kind: http, url: "${url}/search"${retriever === '' ? '' : `, ${retriever}`}}
    golden: [{set: faq, concurrency: 4, max_per_second: 1000${golden === '' ? '' : `, ${golden}`}}]
    checks: ${checks}
`;
}
