import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { basic, bearer, keyHeader, readTls, serviceHeaders } from '../../../../src/platform/outbound/json-api.ts';

const identity = { service: 'Qdrant', configField: 'pipelines[0].vector_store' };

let folder = '';
const file = (name: string): string => path.join(folder, name);
beforeAll(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'recalld-tls-'));
  for (const name of ['ours', 'theirs']) {
    execFileSync(
      'openssl',
      ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '2'].concat([
        '-subj',
        `/CN=${name}`,
        '-keyout',
        file(`${name}.key`),
        '-out',
        file(`${name}.pem`),
      ]),
      { stdio: 'pipe' },
    );
  }
  writeFileSync(file('empty.pem'), '');
  writeFileSync(file('broken.pem'), '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n');
});
afterAll(() => rmSync(folder, { recursive: true }));

describe('the headers of a service', () => {
  it('contain the API key in the header that the service expects, unless a configured header replaces it', () => {
    const headersOf = (credentials: Record<string, string>, headers: Record<string, string> = {}) =>
      serviceHeaders(headers, { ...identity, credentials });
    expect(headersOf(bearer('k'))).toEqual({ authorization: 'Bearer k' });
    expect(headersOf(basic('ann', 'pä:ss'))).toEqual({ authorization: 'Basic YW5uOnDDpDpzcw==' });
    expect(headersOf(keyHeader('api-key', 'k'), { 'X-Team': 'a' })).toEqual({
      'api-key': 'k',
      'x-team': 'a',
    });
    expect(headersOf(bearer('k'), { Authorization: 'ApiKey z' })).toEqual({ authorization: 'ApiKey z' });
    expect([bearer(undefined), basic(undefined), keyHeader('api-key', undefined)]).toEqual([{}, {}, {}]);
  });

  it('accept a key that ends with a line break, and reject one with a line break inside without showing it', () => {
    const settings = (key: string) => serviceHeaders({}, { ...identity, credentials: keyHeader('api-key', key) });
    expect(settings('secret\n')).toEqual({ 'api-key': 'secret' });
    expect(() => settings('sec\nret')).toThrow(
      expect.objectContaining({
        code: 'config_invalid',
        message: expect.not.stringContaining('ret\n') as unknown,
      }),
    );
    expect(() => settings('sec\nret')).toThrow(/^pipelines\[0\]\.vector_store\.headers\.api-key: the value contains/);
  });
});

describe('TLS files', () => {
  const tlsOf = (tls: Parameters<typeof readTls>[0]) => readTls(tls, `${identity.configField}.tls`);

  it('are read', () => {
    const tls = tlsOf({
      ca_file: file('theirs.pem'),
      client: { cert_file: file('ours.pem'), key_file: file('ours.key') },
    });
    expect(tls).toEqual({
      ca: expect.stringContaining('BEGIN CERTIFICATE') as unknown,
      cert: expect.stringContaining('BEGIN CERTIFICATE') as unknown,
      key: expect.stringContaining('PRIVATE KEY') as unknown,
    });
    expect(tlsOf(undefined)).toBeUndefined();
    expect(tlsOf({})).toBeUndefined();
  });

  it('that cannot be used are reported in one sentence', () => {
    const field = 'pipelines[0].vector_store.tls';
    expect(() => tlsOf({ ca_file: '/nowhere/ca.pem' })).toThrow(
      `${field}.ca_file: /nowhere/ca.pem does not exist; check the path.`,
    );
    expect(() => tlsOf({ ca_file: folder })).toThrow(`${field}.ca_file: ${folder} cannot be read`);
    expect(() => tlsOf({ ca_file: file('empty.pem') })).toThrow(`${file('empty.pem')} is not in PEM format`);
    const misfits = [
      { cert_file: file('ours.pem'), key_file: file('theirs.key') },
      { cert_file: file('broken.pem'), key_file: file('ours.key') },
    ];
    for (const client of misfits) {
      expect(() => tlsOf({ client })).toThrow(`${field}: certificate and key do not match`);
    }
  });
});
