/** Tests that deployments recorded on the command line or over HTTP can be read in both ways. */
import { expect, it } from 'vitest';
import { anInstallation } from '../../support/installation.ts';

const config = `
server: {port: 0}
pipelines: [{name: docs, retriever: {kind: http, url: "http://127.0.0.1:9/search"}}]
`;

it('deployments can be recorded and listed, newest first, on the command line and over HTTP', async () => {
  const { recalld, json, serve } = await anInstallation({ 'recalld.yaml': config });
  const { call } = await serve();
  const add = 'deployments add --kind index --pipeline';

  const options = ['--note', 'ef 100', '--at', '2026-11-01T00:00:00Z'];
  expect(await recalld(`${add} docs --version v7`, ...options)).toMatchObject({
    code: 0,
    stdout: 'Recorded: the index of docs changed to v7 at 2026-11-01T00:00:00.000Z.\n',
  });
  const posted = await call('POST', '/v1/deployments', {
    pipeline: 'docs',
    kind: 'retriever',
    version: '3.2',
  });
  expect(posted).toMatchObject({ status: 201, json: { kind: 'retriever', source: 'annotated', note: null } });

  const first = await call('GET', '/v1/deployments?pipeline=docs&limit=1');
  expect(first.json).toMatchObject({ items: [{ kind: 'retriever', version: '3.2' }] });
  const rest = await call('GET', `/v1/deployments?limit=1&cursor=${String(first.json['next_cursor'])}`);
  expect(rest.json).toMatchObject({ items: [{ kind: 'index', version: 'v7', note: 'ef 100' }] });
  expect(await json('deployments list')).toMatchObject([{ version: '3.2' }, { version: 'v7' }]);

  const change = (pipeline: string, kind: string) => call('POST', '/v1/deployments', { pipeline, kind, version: '1' });
  expect(await change('faq', 'index')).toMatchObject({ status: 404, json: { code: 'pipeline_unknown' } });
  expect(await change('docs', 'moon')).toMatchObject({
    status: 400,
    json: { detail: 'kind must be one of index, embedder, retriever, golden, judge, not text.' },
  });
  expect(await recalld(`${add} faq --version 1`)).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('has no pipeline "faq"') as string,
  });
});
