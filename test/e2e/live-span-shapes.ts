/** Expected rows of each export under test/fixtures/live-spans. */
import { expect } from 'vitest';

export interface Stored {
  readonly text: string | null;
  readonly results: readonly (readonly [string, number | null])[];
  readonly outcome: string;
  readonly latency_ms: number | null;
  readonly top_k: number | null;
  readonly probability: number;
  readonly dimensions: number | null;
  readonly segments: object;
  readonly stages: readonly { name: string }[] | null;
}

const hash = (digits: string) => expect.stringMatching(new RegExp(`^sha256:${digits}`));
const anUnknown = expect.stringMatching(/^unidentified:/);
const one = (results: unknown, more: Partial<Stored> = {}) => [{ results, ...more }];
const a = [['a', null]];

export const shapes: readonly (readonly [fixture: string, queries: readonly unknown[]])[] = [
  ['batch-attr-object', one(a)],
  ['batch-deep-attr', one(a)],
  ['batch-no-ids', one(a)],
  ['batch-null-attr', one(a)],
  ['batch-null-span', one(a)],
  ['batch-valueless-attr', one(a)],
  ['clock-behind-3d', one(a)],
  ['ctrl-chars', one(a, { text: 'nul \ufffd and \ufffd lone' })],
  ['deep-attr-batch', one(a, { text: 'ok' })],
  [
    'doc-without-id-in-middle',
    one([
      [anUnknown, 0.9],
      ['b', 0.8],
    ]),
  ],
  [
    'docs-list-attr',
    one([
      ['a', 0.5],
      ['b', null],
    ]),
  ],
  ['dropped-attrs', one([0, 1, 2, 3, 4, 5].map((n) => [`d${n}`, 0.1]))],
  [
    'dup-docs',
    one([
      ['a', 0.9],
      ['a', 0.8],
      ['b', 0.7],
    ]),
  ],
  ['empty-list', one([], { outcome: 'empty' })],
  ['empty-oi', one([], { outcome: 'empty' })],
  ['end-before-start', one(a, { latency_ms: null })],
  ['enum-names', one(a, { outcome: 'error' })],
  [
    'es-hits',
    one([
      ['e1', 1.5],
      ['e2', 1.1],
    ]),
  ],
  ['flags-unknown-fields', one(a)],
  [
    'gap-index',
    one([
      ['a', null],
      [anUnknown, null],
      ['c', null],
      ...Array.from({ length: 6 }, () => [anUnknown, null]),
      ['j', null],
      ['k', null],
    ]),
  ],
  [
    'genai-langchain-metadata-flat',
    one([
      ['kb-104', null],
      ['pay.md', null],
    ]),
  ],
  [
    'genai-metadata-nested',
    one([
      ['kb-104', null],
      ['pay.md', 0.7],
    ]),
  ],
  ['haystack-native', []],
  [
    'langfuse-observe-args',
    one(
      [
        ['kb-1', 0.9],
        ['kb-2', 0.4],
      ],
      { text: 'How do I pay?' },
    ),
  ],
  [
    'langfuse-observe-array',
    one(
      [
        ['kb-1', 0.9],
        ['kb-2', 0.4],
      ],
      { text: 'How do I pay?' },
    ),
  ],
  [
    'langsmith-otel',
    one(
      [
        ['kb-1', null],
        ['kb-2', null],
      ],
      { text: 'How do I reset it (ls)?', dimensions: null },
    ),
  ],
  [
    'llamaindex-nodes',
    one(
      [
        ['n-1', 0.83],
        ['n-2', null],
      ],
      { text: 'llama q' },
    ),
  ],
  ['mcp-vercel-tool', []],
  [
    'nan-double',
    one([
      ['kb-1', null],
      ['kb-2', null],
      ['kb-3', 0.2],
    ]),
  ],
  [
    'nan-json-genai',
    one([
      ['kb-1', null],
      ['kb-2', 0.5],
    ]),
  ],
  ['nano-number', one(a)],
  [
    'nested',
    one(
      [
        ['a', null],
        ['b', null],
      ],
      { stages: [expect.objectContaining({ name: 'retrieval' })] as never },
    ),
  ],
  ['no-resource', one(a)],
  [
    'numeric-ids',
    one([
      ['17', 0.91],
      ['9007199254740993', 1],
      ['9007199254740993', null],
      ['9223372036854775807', null],
    ]),
  ],
  [
    'numeric-ids-json',
    one([
      ['9007199254740993', 0.25],
      ['42', 0.001],
      ['0', null],
    ]),
  ],
  ['openllmetry-bridge-tool', []],
  [
    'openllmetry-chroma-event',
    one(
      [
        ['kb-1', null],
        ['kb-2', null],
      ],
      { text: 'what', top_k: 2 },
    ),
  ],
  [
    'parallel-arrays',
    one([
      ['kb-1', null],
      ['kb-2', null],
    ]),
  ],
  ['python-repr-output', one([['kb-1', 0.5]], { text: 'repr' })],
  [
    'qdrant-points',
    one([
      ['u-1', 0.8],
      ['2', 0.4],
    ]),
  ],
  ['sampling-th', one(a, { probability: 0.25 })],
  [
    'score-as-percent-string',
    one([
      ['a', null],
      ['b', null],
    ]),
  ],
  ['session-int', one(a, { segments: { tenant: '3' } })],
  ['source-collapse', one([0, 1, 2].map(() => ['handbook.pdf', null]))],
  [
    'spring-ai',
    one(
      [
        [hash('714570ef'), null],
        [hash('05bad28c'), null],
      ],
      { text: 'What is spring?', top_k: 4 },
    ),
  ],
  [
    'spring-ai-event',
    one(
      [
        [hash('714570ef'), null],
        [hash('05bad28c'), null],
      ],
      { text: 'What is spring?' },
    ),
  ],
  [
    'tuple-pairs',
    one([
      ['kb-1', 0.83],
      ['kb-2', 0.5],
    ]),
  ],
  ['two-embeddings', one(a, { dimensions: 3 })],
  ['upper-ids', one(a)],
  [
    'uuid-bytes',
    one([
      ['MTIzNA==', null],
      ['b', null],
    ]),
  ],
  ['zero-parent', one(a)],
];
