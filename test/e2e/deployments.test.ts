/** Changes of a pipeline, told on the command line and over HTTP, read in both places. */
import { expect, it, onTestFinished } from 'vitest';
import { aFolder, runRecalld, startRecalld } from '../support/recalld.ts';

const config = `
server: {port: 0}
pipelines: [{name: docs, retriever: {kind: http, url: "http://127.0.0.1:9/search"}}]
`;

it('deployments are noted and listed, newest first, by command and over HTTP', async () => {
  const folder = await aFolder({ 'recalld.yaml': config }, onTestFinished);
  const daemon = await startRecalld(['serve'], folder, {}, onTestFinished);
  const call = async (path: string, body?: unknown) => {
    const response = await fetch(`${daemon.url}${path}`, {
      ...(body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }),
      headers: body === undefined ? {} : { 'content-type': 'application/json' },
    });
    return { status: response.status, json: (await response.json()) as Record<string, unknown> };
  };

  const added = await runRecalld(
    [
      'deployments',
      'add',
      '--pipeline',
      'docs',
      '--kind',
      'index',
      '--version',
      'v7',
      '--note',
      'ef 100',
      '--at',
      '2026-11-01T00:00:00Z',
    ],
    folder,
  );
  expect(added).toMatchObject({
    code: 0,
    stdout: 'Noted: index of docs is v7 since 2026-11-01T00:00:00.000Z.\n',
  });
  const posted = await call('/v1/deployments', { pipeline: 'docs', kind: 'retriever', version: '3.2' });
  expect(posted).toMatchObject({ status: 201, json: { kind: 'retriever', source: 'annotated', note: null } });

  const first = await call('/v1/deployments?pipeline=docs&limit=1');
  expect(first.json).toMatchObject({ items: [{ kind: 'retriever', version: '3.2' }] });
  const rest = await call(`/v1/deployments?limit=1&cursor=${String(first.json['next_cursor'])}`);
  expect(rest.json).toMatchObject({ items: [{ kind: 'index', version: 'v7', note: 'ef 100' }] });
  const listed = await runRecalld(['deployments', 'list', '--json'], folder);
  expect((JSON.parse(listed.stdout) as { version: string }[]).map(({ version }) => version)).toEqual([
    '3.2',
    'v7',
  ]);

  expect(await call('/v1/deployments', { pipeline: 'faq', kind: 'index', version: '1' })).toMatchObject({
    status: 404,
    json: { code: 'pipeline_unknown' },
  });
  expect(await call('/v1/deployments', { pipeline: 'docs', kind: 'moon', version: '1' })).toMatchObject({
    status: 400,
    json: { detail: 'kind is missing, has the wrong type or is out of range; see /openapi.json.' },
  });
  expect(
    await runRecalld(
      ['deployments', 'add', '--pipeline', 'faq', '--kind', 'index', '--version', '1'],
      folder,
    ),
  ).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('has no pipeline "faq"') as string,
  });
});
