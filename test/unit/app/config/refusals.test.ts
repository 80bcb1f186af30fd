import { describe, expect, it } from 'vitest';
import { parse as parseYaml, stringify } from 'yaml';
import { configExample, exampleEnvironment } from '../../../../docs/build/config-example.ts';
import { parseConfig } from '../../../../src/app/config/parse.ts';
import { RecalldError } from '../../../../src/core/errors.ts';
import { isMapping } from '../../../../src/core/text/json.ts';

/** Returns the problems for which a config is refused. */
function problems(text: string): string[] {
  try {
    parseConfig(text, 'recalld.yaml', exampleEnvironment, () => '');
  } catch (error) {
    if (!(error instanceof RecalldError) || error.code !== 'config_invalid') throw error;
    const [head = '', ...rest] = error.message.split('\n');
    if (rest.length === 0) return [head.replace(/^recalld\.yaml: /, '')];
    if (head !== `recalld.yaml has ${rest.length} problems:`) throw error;
    return rest.map((line) => line.replace(/^- /, ''));
  }
  return [];
}

const aPipeline = (rest: string): string =>
  `pipelines: [{name: docs, retriever: {kind: http, url: "http://rag/"}, ${rest}}]`;
const aProvider = (issuer: string, roles: string): string =>
  `server: {oidc: {issuer: "${issuer}", client_id: recalld, client_secret: x, roles: ${roles}}}`;
const aRetriever = (retriever: string): string => `pipelines: [{name: docs, retriever: {${retriever}}}]`;
const aGolden = (golden: string): string => aPipeline(`golden: [{${golden}}]`);
const aCheck = (check: string): string => aPipeline(`golden: [{set: faq}], checks: [${check}]`);

describe('an invalid value', () => {
  it.each([
    ['server: {port: eight}', 'server.port must be a number.'],
    ['server: {port: 80.5}', 'server.port must be a whole number.'],
    ['server: {port: 70000}', 'server.port must be at most 65535.'],
    ['server: {port: -1}', 'server.port must be at least 0.'],
    ['server: {metrics_port: x}', 'server.metrics_port must be a number.'],
    ['server:\n', 'server is empty; it must be a mapping.'],
    ['server: [1]', 'server must be a mapping.'],
    ['server: {host: ""}', 'server.host must not be empty.'],
    ['server: {trusted_proxies: 10.0.0.1}', 'server.trusted_proxies must be a list.'],
    [
      'server: {port: 8400, metrics_port: 8400}',
      'server.metrics_port equals server.port; use another port, or remove this key to share the port.',
    ],
    ['notify: [{kind: webhook, url: "https://[pager"}]', 'notify[0].url is not a valid URL; check its host and port.'],
    [
      aRetriever('kind: http, url: "http://rag/", proxy: "http://proxy:port"'),
      'pipelines[0].retriever.proxy is not a valid URL; check its host and port.',
    ],
    [
      aPipeline('privacy: {patterns: [{name: staff, regex: "[A-"}]}'),
      expect.stringMatching(
        /^pipelines\[0\]\.privacy\.patterns\[0\] cannot be read \(.+\); correct the regular expression\.$/,
      ),
    ],
    [
      aPipeline('privacy: {patterns: [{name: staff, regex: "(a+)+"}]}'),
      expect.stringMatching(/^pipelines\[0\]\.privacy\.patterns\[0\] has an unbounded repetition inside a repetition/),
    ],
    [
      aPipeline('privacy: {patterns: [{name: staff, regex: "x*"}]}'),
      expect.stringMatching(/^pipelines\[0\]\.privacy\.patterns\[0\] matches the empty text/),
    ],
    [
      aPipeline('privacy: {patterns: [{name: staff, regex: b}, {name: staff, regex: c}]}'),
      'pipelines[0].privacy.patterns[1] has a name that is already in use; choose another.',
    ],
    [
      'server: {trusted_proxies: [proxy.internal]}',
      'server.trusted_proxies[0] must be an IP address or a network such as 10.0.0.0/8.',
    ],
    [
      'server: {trusted_proxies: ["::/0"]}',
      'server.trusted_proxies[0] must not cover all IP addresses; list only the networks of your proxies.',
    ],
    [
      aProvider('https://login.example', '{admin: [ops]}'),
      'server.oidc needs `alerts.console_base_url`, because the provider sends users back to that address.',
    ],
    [
      aProvider('http://login.example', '{admin: [ops]}'),
      'server.oidc.issuer must be an https:// URL without a query; http:// is allowed only for a provider on this machine.',
    ],
    [
      aProvider('https://login.example', '{}'),
      'server.oidc.roles names no group, so no user could sign in; add groups under `admin` or `read`.',
    ],
    [
      'server: {auth_proxy: {user_header: X-User, groups_header: X-Groups, roles: {read: [ops]}}}',
      'server.auth_proxy needs `server.trusted_proxies`, because only these proxies may name a user; add the address of the proxy.',
    ],
    ['storage: {hash_key: short}', 'storage.hash_key must be at least 16 characters long.'],
    ['storage: {url: "mysql://x"}', 'storage.url must be `embedded` or a postgres:// URL.'],
    ['queue: {}', 'queue.backend is missing; it must be "postgres" or "redis".'],
    ['queue: {backend: rediss}', 'queue.backend must be "postgres" or "redis"; did you mean "redis"?'],
    ['queue: {backend: redis}', 'queue.url is missing; it must be text.'],
    ['queue: {backend: redis, url: "http://x"}', 'queue.url must be a redis:// or rediss:// URL.'],
    [
      'queue: {backend: redis, url: "redis://x:6379/abc"}',
      'queue.url must have the form redis://host:port or redis://host:port/database, with a database number.',
    ],
    [
      'server: {host: "http://localhost"}',
      'server.host must be an address or a host name, without scheme, port or brackets.',
    ],
    ['queue: {backend: redis, url: "redis://x", tls: {ca_file: ca.pem}}', 'queue.tls requires a rediss:// URL.'],
    [
      'queue: {backend: redis, url: "redis://x/2", topology: {kind: cluster}}',
      'queue.url selects a database, but a cluster has only database 0; remove the number.',
    ],
    [
      'queue: {backend: redis, url: "redis://x", topology: {kind: sentinel, name: r, others: [s2]}}',
      'queue.topology.others[0] must have the form host:port.',
    ],
    ['queue: {backend: postgres, url: "redis://x"}', 'queue.url is not a known key; known keys here are backend.'],
    ['log: {level: inf}', 'log.level must be "debug", "info", "warn" or "error"; did you mean "info"?'],
    ['log: {level: 3}', 'log.level must be "debug", "info", "warn" or "error".'],
    ['pipelines: {}', 'pipelines must be a list.'],
    ['pipelines: [docs]', 'pipelines[0] must be a mapping.'],
    ['pipelines: [{name: 5, retriever: {kind: http, url: u}}]', 'pipelines[0].name must be text; put it in quotes.'],
    [
      'pipelines: [{name: "a b", retriever: {kind: http, url: u}}]',
      'pipelines[0].name must be 1 to 100 letters, digits, dots, dashes or underscores.',
    ],
    [
      aRetriever('url: u'),
      'pipelines[0].retriever.kind is missing; it must be "http", "vector_store", "elasticsearch", "opensearch", "command" or "rerank".',
    ],
    [
      aRetriever('kind: grpc, url: u'),
      'pipelines[0].retriever.kind must be "http", "vector_store", "elasticsearch", "opensearch", "command" or "rerank".',
    ],
    [aRetriever('kind: http, url: u, method: PATCH'), 'pipelines[0].retriever.method must be "GET", "POST" or "PUT".'],
    [
      aRetriever('kind: http, url: u, headers: {a: 1}'),
      'pipelines[0].retriever.headers.a must be text; put it in quotes.',
    ],
    [aRetriever('kind: http, url: u, headers: [a]'), 'pipelines[0].retriever.headers must be a mapping.'],
    [aRetriever('kind: http, url: u, timeout_ms: .inf'), 'pipelines[0].retriever.timeout_ms must be a number.'],
    [
      aRetriever('kind: http, url: u, body: {a: .nan}'),
      'pipelines[0].retriever.body must be JSON: a string, a finite number, true, false, null, a list or a mapping.',
    ],
    [aGolden('set: faq, cutoffs: 10'), 'pipelines[0].golden[0].cutoffs must be a list.'],
    [aGolden('set: faq, cutoffs: []'), 'pipelines[0].golden[0].cutoffs must not be empty.'],
    [aGolden('set: faq, cutoffs: [1, 0]'), 'pipelines[0].golden[0].cutoffs[1] must be at least 1.'],
    [aGolden('set: faq, max_per_second: 0'), 'pipelines[0].golden[0].max_per_second must be more than 0.'],
    [aPipeline('sampling: {segments: {acme: 1}}'), 'pipelines[0].sampling.segments.acme must have the form key=value.'],
    [aPipeline('privacy: {retention_days: 0}'), 'pipelines[0].privacy.retention_days must be at least 1.'],
    [
      aPipeline(`privacy: {patterns: [${Array.from({ length: 51 }, (_, i) => `{name: a${i}, regex: b}`).join(', ')}]}`),
      'pipelines[0].privacy.patterns must have at most 50 elements.',
    ],
    [aGolden('cron: "0 * * * *"'), 'pipelines[0].golden[0].set is missing; it must be text.'],
    [aCheck('3'), 'pipelines[0].checks[0] must be a mapping.'],
    [
      aCheck('{}'),
      'pipelines[0].checks[0] lacks the keys that determine its kind; add `measure` and `below`, `measure` and `above`, `regression` and `drop`, `density_drift`, `stale_labels_above` or `forbidden_results`.',
    ],
    [
      aCheck('{severity: critical}'),
      'pipelines[0].checks[0] lacks the keys that determine its kind; add `measure` and `below`, `measure` and `above`, `regression` and `drop`, `density_drift`, `stale_labels_above` or `forbidden_results`.',
    ],
    [aCheck('{measure: ndcg@10}'), 'pipelines[0].checks[0].below is missing; it must be a number.'],
    [aCheck('{measure: ndcg@10, below: "0.8"}'), 'pipelines[0].checks[0].below must be a number.'],
    [aCheck('{measure: ndcg@10, below: 80}'), 'pipelines[0].checks[0].below must be at most 1.'],
    [aCheck('{measure: ndcg@10, below: 0}'), 'pipelines[0].checks[0].below must be more than 0.'],
    [
      aCheck('{measure: ndcg@10, below: 0.8, severity: page}'),
      'pipelines[0].checks[0].severity must be "critical" or "warning".',
    ],
    [aCheck('{density_drift: false}'), 'pipelines[0].checks[0].density_drift must be true.'],
    [aCheck('{regression: ndcg@10, drop: 0}'), 'pipelines[0].checks[0].drop must be more than 0.'],
    [aCheck('{stale_labels_above: 2}'), 'pipelines[0].checks[0].stale_labels_above must be at most 1.'],
  ])('is rejected in one sentence: %s', (text, sentence) => {
    expect(problems(text)).toEqual([sentence]);
  });

  it('is reported together with every other problem', () => {
    expect(problems('server: {port: x}\nlog: {leve: info}\npipelines: [{}]')).toEqual([
      'server.port must be a number.',
      'log.leve is not a known key; did you mean `level`?',
      'pipelines[0].name is missing; it must be text.',
      'pipelines[0].retriever is missing; it must be a mapping.',
    ]);
  });
});

describe('a duplicate name', () => {
  it.each([
    [
      'two pipelines',
      'pipelines: [{name: a, retriever: &r {kind: http, url: u}}, {name: b, retriever: *r}, {name: a, retriever: *r}]',
      'pipelines[2].name repeats "a" from list element 0; use each name once.',
    ],
    [
      'two golden sets of a pipeline',
      aPipeline('golden: [{set: faq}, {set: faq}]'),
      'pipelines[0].golden[1].set repeats "faq" from list element 0; use each name once.',
    ],
    [
      'two keys of segments',
      aPipeline('segments: {keys: [lang, lang]}'),
      'pipelines[0].segments.keys[1] repeats "lang" from list element 0; use each name once.',
    ],
    [
      'two equal threshold checks',
      aCheck('{measure: mrr@5, below: 0.5}, {measure: mrr@5, below: 0.50, severity: warning}'),
      'pipelines[0].checks[1].measure is the same check as checks[0]; remove one of the two.',
    ],
  ])('is rejected: %s', (_, text, sentence) => {
    expect(problems(text)).toEqual([sentence]);
  });

  it('is accepted in two different pipelines', () => {
    const pipeline =
      '{name: NAME, retriever: {kind: http, url: u}, golden: [{set: faq}], checks: [{measure: mrr@5, below: 0.5}]}';
    expect(problems(`pipelines: [${pipeline.replace('NAME', 'a')}, ${pipeline.replace('NAME', 'b')}]`)).toEqual([]);
  });
});

describe('a misspelt key', () => {
  const example: unknown = parseYaml(configExample);

  it.each(keyPaths(example))('is rejected with its path and a suggestion: %s', (_, path) => {
    const key = String(path.at(-1));
    const misspelt = `${key}z`;
    const [sentence, ...others] = problems(stringify(withRenamedKey(example, path, misspelt)));
    expect(others).toEqual([]);
    const field = [...formatted(path.slice(0, -1)), misspelt].join('.');
    const suggestion =
      key.length < 2 ? new RegExp(`; known keys here are .*\\b${key}\\b`) : new RegExp(`; did you mean \`${key}\`\\?$`);
    expect(sentence?.split('; ')[0]).toBe(`${field} is not a known key`);
    expect(sentence).toMatch(suggestion);
  });

  it('is rejected with all known keys of its section if none of them is similar', () => {
    expect(problems('log: {verbosity: 3}')).toEqual(['log.verbosity is not a known key; known keys here are level.']);
    expect(problems(aCheck('{regression: ndcg@10, drop: 0.1, qqq: 1}'))).toEqual([
      'pipelines[0].checks[0].qqq is not a known key; known keys here are name, regression, drop, alpha, severity, runs.',
    ]);
  });
});

type Path = readonly (string | number)[];

/**
 * Every key of the config with its path, except keys that users choose: headers, stages, segments, and keys of a body.
 */
function keyPaths(value: unknown, path: Path = []): [string, Path][] {
  if (Array.isArray(value)) return value.flatMap((item: unknown, index) => keyPaths(item, [...path, index]));
  const isFree = /(^|\.)(headers|body|results\.stages|sampling\.segments)$/.test(path.join('.'));
  if (!isMapping(value) || isFree) return [];
  return Object.entries(value).flatMap(([key, child]) => [
    [formatted([...path, key]).join('.'), [...path, key]] satisfies [string, Path],
    ...keyPaths(child, [...path, key]),
  ]);
}

function formatted(path: Path): string[] {
  const parts: string[] = [];
  for (const part of path) {
    if (typeof part === 'string') parts.push(part);
    else parts.push(`${parts.pop() ?? ''}[${part}]`);
  }
  return parts;
}

function withRenamedKey(value: unknown, path: Path, name: string): unknown {
  const [head, ...rest] = path;
  if (Array.isArray(value))
    return value.map((item: unknown, index) => (index === head ? withRenamedKey(item, rest, name) : item));
  if (!isMapping(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, child]) => {
      if (key !== head) return [key, child];
      return rest.length === 0 ? [name, child] : [key, withRenamedKey(child, rest, name)];
    }),
  );
}

describe('the config of judged live relevance', () => {
  const llm = 'llm: {base_url: "http://llm/v1", model: m, price_per_million_tokens: {input: 0, output: 0}}\n';
  const readable = 'retriever: {kind: http, url: "http://rag/", results: {text: text}}';
  const aJudged = (rest: string): string => `${llm}pipelines: [{name: docs, ${readable}, ${rest}}]`;

  it.each([
    [
      aJudged('judged: {}').replace(llm, ''),
      'pipelines[0].judged.judge.kind is llm, but no chat model is configured; add llm: {base_url, model, api_key}.',
    ],
    [
      aJudged('judged: {}').replace(', price_per_million_tokens: {input: 0, output: 0}', ''),
      'pipelines[0].judged.judge.kind is llm, but max_cost_per_day needs token prices; add llm.price_per_million_tokens: {input, output}, with 0 for a self-hosted model.',
    ],
    [
      aJudged('judged: {}, privacy: {text: hash}'),
      'pipelines[0].judged.judge.kind is llm, but query texts are not stored (privacy.text: hash); set privacy.text: redact, or use only human judgments with judged.judge: {kind: none}.',
    ],
    [
      aJudged('judged: {judge: {kind: reranker, reranker: {kind: tei, url: "http://r"}}}').replace(
        ', results: {text: text}',
        '',
      ),
      'pipelines[0].judged needs document texts; set retriever.results.text, or vector_store.content and an embedder.',
    ],
    [
      aJudged(
        'judged: {judge: {kind: reranker, grades_from: [0.5, 0.4, 0.8], reranker: {kind: tei, url: "http://r"}}}',
      ),
      'pipelines[0].judged.judge.grades_from must be ascending.',
    ],
    [
      aJudged('checks: [{measure: live_ndcg@5, below: 0.7}]'),
      'pipelines[0].checks[0].measure is live_ndcg@5, which requires `judged`.',
    ],
    [
      aJudged('judged: {depth: 3}, checks: [{measure: live_ndcg@5, below: 0.7}]'),
      'pipelines[0].checks[0].measure is live_ndcg@5, but judged.depth is 3; write live_ndcg@3, or change the depth.',
    ],
    [
      aJudged('judged: {}, checks: [{measure: live_ndgc@5, below: 0.7}]'),
      'pipelines[0].checks[0].measure is not a measure; did you mean "live_ndcg@5"?',
    ],
    [
      `metrics: {otlp: {url: "http://c", send: [metrics, evaluations]}}\n${aJudged('judged: {judge: {kind: none}}')}`,
      'metrics.otlp.send[1] is evaluations, but no pipeline has a model judge; add `judged` to a pipeline, or remove evaluations.',
    ],
  ])('is rejected: %s', (text, problem) => {
    expect(problems(text)).toEqual([problem]);
  });

  it.each([
    aJudged('judged: {}, checks: [{measure: live_ndcg@5, below: 0.7}]'),
    aJudged('judged: {judge: {kind: none}}, privacy: {text: hash}'),
    `metrics: {otlp: {url: "http://c", send: [evaluations]}}\n${aJudged('judged: {}')}`,
  ])('is accepted: %s', (text) => {
    expect(problems(text)).toEqual([]);
  });
});
