import { array, assert, property, string } from 'fast-check';
import { describe, expect, it } from 'vitest';
import { CallFailure, classifyFailure, TimeOver } from '../../../../src/connectors/stores/pgvector/session.ts';
import { quoted, tableParts } from '../../../../src/connectors/stores/pgvector/table.ts';

const place = {
  address: 'db.internal:5432',
  table: 'rag.chunks',
  user: 'reader',
  configField: 'pipelines[0].vector_store',
  timeoutMs: 2000,
};

function serverError(code: string): Error {
  return Object.assign(new Error('invalid input "[0.123,4]" for postgres://reader:hunter2@db'), {
    code,
    severity: 'ERROR',
  });
}

describe('a PostgreSQL error', () => {
  it.each([
    ['57014', 'timeout', 'raise pipelines[0].vector_store.timeout_ms'],
    ['28P01', 'authentication_failed', 'rejects the user reader'],
    ['3D000', 'database_missing', 'check pipelines[0].vector_store.url'],
    ['42501', 'permission_denied', 'GRANT SELECT ON rag.chunks'],
    ['42703', 'not_found', 'check pipelines[0].vector_store'],
    ['53300', 'too_many_connections', 'max_connections'],
    ['22000', 'dimension_mismatch', 'the same embedding model'],
    ['XX000', 'query_failed', 'the PostgreSQL error XX000'],
  ])('with %s has the code %s and a fix', (state, code, fix) => {
    const failure = classifyFailure(serverError(state), place);
    expect(failure.code).toBe(code);
    expect(failure.problem).toContain(fix);
    expect(failure.problem).not.toMatch(/hunter2|0\.123/);
    expect(failure.problem).toMatch(/\.$/);
  });

  it.each([
    [new TimeOver(), 'timeout'],
    [new Error('timeout exceeded when trying to connect'), 'timeout'],
    [new Error('Connection terminated due to connection timeout'), 'timeout'],
    [new Error('Connection terminated unexpectedly'), 'connection_reset'],
    [new Error('SASL: SCRAM-SERVER-FIRST-MESSAGE: client password must be a string'), 'authentication_failed'],
    [new Error('The server does not support SSL connections'), 'tls_error'],
    [Object.assign(new Error(), { code: 'ENOTFOUND' }), 'dns_not_found'],
    [new AggregateError([Object.assign(new Error(), { code: 'ECONNREFUSED' })]), 'connection_refused'],
    [new CallFailure('table_missing', 'there is no table.'), 'table_missing'],
    ['thrown text', 'connection_failed'],
  ])('thrown by the driver as %o has the code %s', (error, code) => {
    const failure = classifyFailure(error, place);
    expect(failure.code).toBe(code);
    expect(failure.problem).toMatch(/\.$/);
  });
});

describe('the name of a table', () => {
  it.each([
    ['chunks', ['chunks']],
    ['Chunks', ['Chunks']],
    ['rag.chunks', ['rag', 'chunks']],
    ['"a.b"."say ""hi"""', ['a.b', 'say "hi"']],
    [' my table ', ['my table']],
    ['', null],
    ['a.b.c', null],
    ['a..b', null],
    ['a.', null],
    ['"a', null],
    ['"a"b', null],
    ['a"b', null],
  ])('%j has the parts %j', (name, parts) => {
    expect(tableParts(name)).toEqual(parts);
  });

  it('can be parsed from its quoted form, whatever it contains', () => {
    const part = string({ minLength: 1 });
    assert(
      property(array(part, { minLength: 1, maxLength: 2 }), (parts) => {
        expect(tableParts(parts.map(quoted).join('.'))).toEqual(parts);
      }),
    );
  });
});
