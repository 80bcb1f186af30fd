import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Client } from 'pg';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { problemOfDatabaseUrl, readDatabaseUrl } from '../../../../src/platform/postgres/database-url.ts';

const read = (url: string) => readDatabaseUrl(url, 'storage.url');
const sslOf = (query: string): unknown => read(`postgres://me@db/x${query}`).connection.ssl;

describe('a postgres:// URL', () => {
  it.each([
    ['postgres://me:p@ss#w/rd@127.0.0.1:5432/x', /%23, %2F, %3F, %40 and %25/],
    ['postgres://me:p/w@db/x', /%2F/],
    ['postgres://me:p?w@db/x', /%3F/],
    ['postgres://me:p%e4@db/x', /%25/],
    ['postgres://db:port/x', /port that is not a number/],
    ['postgres://a:5432,b:5433/x', /several hosts/],
    ['postgres://me:p,w@a,b/x', /several hosts/],
    ['postgres:///x?host=a,b', /several hosts/],
    ['postgres://db/x?sslmode=bogus', /unknown sslmode/],
    ['postgres://db/x?sslmode=require&sslrootcert=system', /sslmode=verify-full/],
    ['postgres://db/x?sslmode=prefer&sslnegotiation=direct', /sslnegotiation=direct/],
    ['postgres://db/x?sslnegotiation=later', /unknown sslnegotiation/],
  ])('is rejected with the problem, but not quoted: %s', (url, problem) => {
    expect(problemOfDatabaseUrl(url)).toMatch(problem);
    expect(() => read(url)).toThrow(expect.objectContaining({ code: 'config_invalid' }));
    for (const part of ['p@ss', 'rd@', 'p/w', 'w@', '%e4']) expect(problemOfDatabaseUrl(url)).not.toContain(part);
  });

  it.each([
    ['postgres:///x?host=/run/pg&port=5433', '/run/pg', 5433],
    ['postgres://%2Frun%2Fpg:5433/x', '/run/pg', 5433],
    ['postgres://me@[::1]/x', '::1', 5432],
    ['postgresql://me:p%40w%23@db:6432/x?pgbouncer=true&connection_limit=5', 'db', 6432],
    ['postgres://me:p@w,d@db/x', 'db', 5432],
  ])('has this host and port: %s', (url, host, port) => {
    expect(problemOfDatabaseUrl(url)).toBeNull();
    expect(new Client(read(url).connection)).toMatchObject({ host, port });
  });

  it('does not use TLS on a Unix socket', () => {
    expect(read('postgres:///x?host=/run/pg&sslmode=prefer')).toMatchObject({
      connection: { ssl: false },
      fallback: null,
    });
  });
});

describe('the sslmode of a postgres:// URL', () => {
  it('has the same meaning as in libpq', async () => {
    vi.stubEnv('PGSSLMODE', undefined);
    const folder = await mkdtemp(path.join(tmpdir(), 'recalld-url-'));
    onTestFinished(async () => {
      vi.unstubAllEnvs();
      await rm(folder, { recursive: true });
    });
    const ca = path.join(folder, 'ca.pem');
    await writeFile(ca, 'PEM');
    const unchecked = { rejectUnauthorized: false };
    const anyName = { rejectUnauthorized: true, checkServerIdentity: expect.any(Function) };
    expect(sslOf('?sslmode=disable')).toBe(false);
    expect(sslOf('?sslmode=require')).toMatchObject(unchecked);
    expect(sslOf('?sslmode=no-verify')).toMatchObject(unchecked);
    expect(sslOf(`?sslmode=require&sslrootcert=${ca}`)).toMatchObject({ ...anyName, ca: 'PEM' });
    expect(sslOf('?sslmode=verify-ca')).toMatchObject(anyName);
    expect(sslOf('?sslmode=verify-full')).toEqual({ rejectUnauthorized: true });
    expect(read('postgres://me@db/x?sslnegotiation=direct').connection).toMatchObject({
      ssl: unchecked,
      sslnegotiation: 'direct',
    });
    vi.stubEnv('SSL_CERT_FILE', ca);
    expect(sslOf('?sslrootcert=system')).toEqual({ rejectUnauthorized: true, ca: ['PEM'] });
    for (const url of ['postgres://me@db/x', 'postgres://me@db/x?sslmode=prefer'])
      expect(read(url)).toMatchObject({ connection: { ssl: unchecked }, fallback: { ssl: false } });
    expect(read('postgres://me@db/x?sslmode=allow')).toMatchObject({
      connection: { ssl: false },
      fallback: { ssl: unchecked },
    });
    vi.stubEnv('PGSSLMODE', 'verify-full');
    expect(sslOf('')).toEqual({ rejectUnauthorized: true });
  });

  it('is rejected with the name of the parameter whose file cannot be read', () => {
    expect(() => read('postgres://db/x?sslmode=verify-ca&sslrootcert=/no/such.pem')).toThrow(/sslrootcert .*ENOENT/);
  });
});
