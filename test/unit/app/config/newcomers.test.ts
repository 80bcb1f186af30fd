import { describe, expect, it } from 'vitest';
import { configWarnings } from '../../../../src/app/config/inspect.ts';
import { parseConfig } from '../../../../src/app/config/parse.ts';
import { createPipelines } from '../../../../src/app/pipelines.ts';
import { silentLogger } from '../../../support/log.ts';

const parse = (text: string) => parseConfig(text, 'recalld.yaml', {}, () => '');
const withRetriever = (retriever: string) => parse(`pipelines: [{name: docs, retriever: ${retriever}}]`);
const build = (retriever: string) => () => createPipelines(withRetriever(retriever), silentLogger);

describe('a placeholder without quotes', () => {
  it.each([
    ['pipelines:\n  - name: docs\n    retriever: {kind: http, url: "http://x/s", body: {query: {{text}}}}', 3, 'text'],
    ['pipelines:\n  - name: docs\n    retriever:\n      kind: http\n      body:\n        q: {{ text }}', 6, 'text'],
    ['pipelines:\n  - name: docs\n    retriever: {kind: http, body: {q: "{{text}}", k: {{k}}}}', 3, 'k'],
    ['pipelines:\n  - name: docs\n    retriever: {kind: http, body: {c: {{tags.course}}}}', 3, 'tags.course'],
    [
      'pipelines:\n  - name: docs\n    retriever:\n      kind: http\n      body:\n        q: {{text}} please',
      6,
      'text',
    ],
  ])('is rejected with its line and the correct notation: %j', (text, line, name) => {
    expect(() => parse(text)).toThrow(`recalld.yaml:${line}: {{${name}}} has no quotes`);
  });
});

describe('a retriever config', () => {
  it.each([
    ['{kind: http, url: "http://x/search", method: GET}', 'retriever.url'],
    ['{kind: http, url: "http://x/search", body: {query: "text"}}', 'retriever.body'],
    ['{kind: http, url: "http://x/search", body: {k: "{{k}}"}}', 'retriever.body'],
    ['{kind: elasticsearch, url: "http://x", index: docs, query: {match_all: {}}}', 'retriever.query'],
  ])('without the query is rejected: %s', (retriever, field) => {
    expect(build(retriever)).toThrow(
      expect.objectContaining({
        code: 'config_invalid',
        message: expect.stringContaining(`${field}: no part of the request contains {{text}}`) as string,
      }),
    );
  });

  it.each([
    '{kind: http, url: "http://x/search"}',
    '{kind: http, url: "http://x/search?q={{text}}", method: GET}',
    '{kind: http, url: "http://x/search", headers: {x-query: "{{ text }}"}, body: {}}',
    '{kind: http, url: "http://x/search", body: {messages: [{role: user, content: "Q: {{text}}"}]}}',
    '{kind: elasticsearch, url: "http://x", index: docs, query: {match: {body: "{{text}}"}}}',
  ])('with the query in the address, a header or the body is accepted: %s', (retriever) => {
    expect(build(retriever)).not.toThrow();
  });
});

describe('a cron expression', () => {
  const cron = (expression: string) => () =>
    parse(
      `pipelines: [{name: docs, retriever: {kind: http, url: "http://x/s"}, golden: [{set: faq, cron: "${expression}"}]}]`,
    );

  it.each(['0 0 30 2 *', '0 0 31 2,4,6 *', '0 0 0 31 4 *', '0 0 30-31 2 *'])(
    'that matches no date is rejected: %s',
    (expression) => {
      expect(cron(expression)).toThrow('never occurs');
    },
  );

  it.each(['0 0 29 2 *', '0 0 30 * *', '*/5 * * * *'])('that matches a date is accepted: %s', (expression) => {
    expect(cron(expression)).not.toThrow();
  });

  it.each(['0 0 40 2 *', '0 0 0 2 *', 'hourly'])('with invalid syntax is rejected: %s', (expression) => {
    expect(cron(expression)).toThrow('is not a cron expression');
  });
});

describe('warnings of a valid config', () => {
  const checked =
    'pipelines: [{name: docs, retriever: {kind: http, url: "http://x/s"}, checks: [{measure: ndcg@10, below: 0.7, severity: critical}]}]';

  it('report that nothing is monitored, and that alerts have no link to the console', () => {
    expect(configWarnings(parse('{}'))).toEqual([expect.stringContaining('no pipelines')]);
    expect(configWarnings(parse(checked))).toEqual([expect.stringContaining('alerts.console_base_url is not set')]);
    expect(configWarnings(parse(`alerts: {console_base_url: "https://recalld.example.com"}\n${checked}`))).toEqual([]);
    expect(configWarnings(withRetriever('{kind: http, url: "http://x/s"}'))).toEqual([]);
  });
});
