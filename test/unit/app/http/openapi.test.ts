import { createConfig, lintFromString } from '@redocly/openapi-core';
import { expect, it } from 'vitest';
import { endpoints, openApiDocument } from '../../../../src/app/http/openapi.ts';

it('the OpenAPI document is accepted by a linter', async () => {
  const config = await createConfig({ extends: ['recommended'] });
  const source = JSON.stringify(openApiDocument('1.2.3'));
  const problems = await lintFromString({ source, config });
  expect(problems.map(({ ruleId, message, location }) => `${ruleId}: ${message} at ${location[0]?.pointer}`)).toEqual(
    [],
  );
});

it('the OpenAPI document describes every endpoint once, with a body that can be read without following references', () => {
  const { paths } = openApiDocument('1.2.3') as { paths: Record<string, Record<string, unknown>> };
  const described = Object.entries(paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method} ${path}`),
  );
  expect(described.toSorted()).toEqual(endpoints.map(({ method, path }) => `${method} ${path}`).toSorted());
  expect(JSON.stringify(paths)).not.toContain('$defs');
});
