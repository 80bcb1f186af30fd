/** Tests access and rate limits: API keys, console sessions, and addresses behind a proxy. */
import { createHash, createHmac } from 'node:crypto';
import { request } from 'node:http';
import type { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { aDatabase, aFolder, type Daemon, logLines, runRecalld, startRecalld } from '../../support/recalld.ts';
import { waitFor } from '../../support/wait-for.ts';

const cleanups: (() => Promise<void>)[] = [];
const atEnd = (clean: () => Promise<void>): void => void cleanups.unshift(clean);

afterAll(async () => {
  for (const clean of cleanups) await clean();
});

interface Answer {
  readonly status: number;
  readonly body: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
}

/** Sends the request unchanged, because fetch would normalize the path and refuse some headers. */
function call(
  url: string,
  path: string,
  headers: Readonly<Record<string, string>> = {},
  form?: Readonly<Record<string, string>>,
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const body = form === undefined ? '' : new URLSearchParams(form).toString();
    const type = form === undefined ? {} : { 'content-type': 'application/x-www-form-urlencoded' };
    const sent = request(
      url,
      { path, method: form === undefined ? 'GET' : 'POST', headers: { ...type, ...headers } },
      (response) => {
        let text = '';
        response.setEncoding('utf8').on('data', (part: string) => (text += part));
        response.once('end', () =>
          resolve({ status: response.statusCode ?? 0, body: text, headers: response.headers }),
        );
      },
    );
    sent.once('error', reject);
    sent.end(body);
  });
}

/** Counts the responses by status. */
async function tally(answers: readonly Promise<Answer>[]): Promise<Record<number, number>> {
  const counts: Record<number, number> = {};
  for (const { status } of await Promise.all(answers)) counts[status] = (counts[status] ?? 0) + 1;
  return counts;
}

const times = <T>(count: number, make: (index: number) => T): T[] =>
  Array.from({ length: count }, (_, index) => make(index));

let addresses = 0;
/** Returns a header with a unique client address behind the proxy. */
const aClient = (): { readonly 'x-forwarded-for': string } => ({
  'x-forwarded-for': `198.51.100.${(addresses += 1)}`,
});

const bearer = (key: string) => ({ authorization: `Bearer ${key}` });

describe('a daemon behind a trusted proxy', () => {
  let daemon: Daemon;
  let folder: string;
  let database: Client;
  let keys = 0;

  beforeAll(async () => {
    const config = 'server: {port: 0, max_requests_per_minute: 100, trusted_proxies: [127.0.0.1]}\npipelines: []\n';
    folder = await aFolder({ 'recalld.yaml': config }, atEnd);
    daemon = await startRecalld(['serve'], folder, {}, atEnd);
    database = await aDatabase(folder, atEnd);
  });

  /** Creates a key as `recalld keys create` does. */
  const aKey = async (...scopes: string[]): Promise<{ id: string; text: string }> => {
    const [id, text] = [`key-${(keys += 1)}`, `rcl_${keys}`];
    const hash = createHash('sha256').update(text).digest();
    const sql = 'insert into api_keys (id, name, key_hash, scopes, created_at) values ($1, $1, $2, $3, now())';
    await database.query(sql, [id, hash, scopes]);
    return { id, text };
  };

  const ask = (headers: Readonly<Record<string, string>>, path = '/v1/pipelines'): Promise<Answer> =>
    call(daemon.url, path, headers);

  describe('blocks guessing of keys', () => {
    it('after 20 wrong keys, with Retry-After and a log line, while other addresses and known keys are served', async () => {
      const client = aClient();
      const { text: key } = await aKey('read');
      expect((await ask({ ...client, ...bearer(key) })).status).toBe(200);
      const wrong = times(60, (i) => ask({ ...client, ...bearer(`rcl_wrong_${i}`) }));
      expect(await tally(wrong)).toEqual({ 401: 20, 429: 40 });
      const refused = await ask({ ...client, ...bearer('rcl_wrong') });
      expect(JSON.parse(refused.body)).toMatchObject({ status: 429, code: 'attempts_limited' });
      expect(Number(refused.headers['retry-after'])).toBeGreaterThan(10);
      const logged = logLines(daemon.stderr()).filter((line) => line['address'] === client['x-forwarded-for']);
      expect(logged).toHaveLength(1);
      expect((await ask({ ...client, ...bearer(key) })).status).toBe(200);
      expect((await ask({ ...aClient(), ...bearer('rcl_wrong_0') })).status).toBe(401);
    });

    it('at sign-in too, without blocking colleagues behind the same proxy', async () => {
      const origin = { origin: daemon.url };
      const [one, colleague] = [aClient(), aClient()];
      const tries = times(30, (i) => call(daemon.url, '/sign-in', { ...origin, ...one }, { key: `rcl_typo_${i}` }));
      expect(await tally(tries)).toEqual({ 401: 20, 429: 10 });
      const { text: key } = await aKey('read');
      expect((await call(daemon.url, '/sign-in', { ...origin, ...one }, { key })).status).toBe(429);
      expect((await call(daemon.url, '/sign-in', { ...origin, ...colleague }, { key })).status).toBe(303);
    });

    it('and guessing of sessions', async () => {
      const client = aClient();
      const tries = times(30, (i) => ask({ ...client, cookie: `recalld_session=guess-${i}` }, '/checks'));
      expect(await tally(tries)).toEqual({ 303: 20, 429: 10 });
    });
  });

  describe('limits requests', () => {
    it('per valid key, however the authorization scheme is spelled, and from any address', async () => {
      const { text: key } = await aKey('read');
      const calls = times(150, (i) => {
        const scheme = Array.from('bearer', (c, bit) => ((i >> bit) & 1 ? c.toUpperCase() : c)).join('');
        return ask({ ...aClient(), authorization: `${scheme} ${key}` });
      });
      expect(await tally(calls)).toEqual({ 200: 100, 429: 50 });
      const { body, headers } = await ask({ ...aClient(), ...bearer(key) });
      expect(JSON.parse(body)).toMatchObject({ code: 'rate_limited' });
      expect(Number(headers['retry-after'])).toBeGreaterThan(0);
    });

    it('per address without a valid key, whatever the header and the spelling of the path', async () => {
      const client = aClient();
      expect(await tally(times(60, () => ask({ ...client, authorization: 'Basic eDp5' })))).toEqual({
        401: 60,
      });
      expect(await tally(times(60, () => ask(client, '/%761/pipelines')))).toEqual({ 401: 40, 429: 20 });
      expect(await tally(times(5, () => ask(client, '/v1/nowhere')))).toEqual({ 429: 5 });
      expect(await tally(times(5, () => ask(client, '/sign-in')))).toEqual({ 429: 5 });
      expect(await tally(times(200, () => ask(client, '/livez')))).toEqual({ 200: 200 });
      const { text: key } = await aKey('read');
      expect((await ask({ ...client, ...bearer(key) })).status).toBe(200);
    });

    it('and counts the refused calls of a valid key, but not those without a key', async () => {
      const shed = async () =>
        /recalld_ingest_shed_total\{reason="rate_limit"\} (\d+)/.exec((await ask({}, '/metrics')).body)?.[1];
      const before = Number(await shed());
      const client = aClient();
      await tally(times(150, () => ask(client)));
      expect(Number(await shed())).toBe(before);
      const { text: key } = await aKey('read');
      await tally(times(103, () => ask({ ...client, ...bearer(key) })));
      expect(Number(await shed())).toBe(before + 3);
    });
  });

  describe('has console sessions', () => {
    const signIn = async (key: string, headers: Readonly<Record<string, string>> = {}) => {
      const sentHeaders = { origin: daemon.url, ...aClient(), ...headers };
      const answer = await call(daemon.url, '/sign-in', sentHeaders, { key });
      expect(answer.status).toBe(303);
      const [cookie = ''] = answer.headers['set-cookie'] ?? [];
      return { set: cookie, cookie: cookie.split(';')[0] ?? '' };
    };
    const look = (cookie: string) => ask({ ...aClient(), cookie }, '/checks');
    const tokenIn = ({ body }: Answer): string => /name="form_token" value="([^"]+)"/.exec(body)?.[1] ?? '';
    const send = (path: string, cookie: string, form: Readonly<Record<string, string>>) =>
      call(daemon.url, path, { origin: daemon.url, ...aClient(), cookie }, form);

    it('that end at sign-out, also for a copied cookie', async () => {
      const { cookie } = await signIn((await aKey('read')).text);
      const page = await look(cookie);
      expect(page.status).toBe(200);
      const out = await send('/sign-out', cookie, { form_token: tokenIn(page) });
      expect(out.status).toBe(303);
      expect(String(out.headers['set-cookie'])).toContain('Max-Age=0');
      const after = await look(cookie);
      expect(after.headers.location).toMatch(/^\/sign-in/);
    });

    it('that end as soon as their key is revoked or deleted', async () => {
      const [revoked, deleted] = [await aKey('admin'), await aKey('admin')];
      const [one, other] = [await signIn(revoked.text), await signIn(deleted.text)];
      expect([(await look(one.cookie)).status, (await look(other.cookie)).status]).toEqual([200, 200]);
      const { stdout } = await runRecalld(['keys', 'list', '--json'], folder);
      const listed = (JSON.parse(stdout) as { id: string; sessions: number; last_seen_at: string }[]).find(
        ({ id }) => id === revoked.id,
      );
      expect(listed).toMatchObject({ sessions: 1, last_seen_at: expect.stringMatching(/^20/) as string });
      expect(await runRecalld(['keys', 'revoke', revoked.id], folder)).toMatchObject({ code: 0 });
      expect((await look(one.cookie)).status).toBe(303);
      await database.query('delete from api_keys where id = $1', [deleted.id]);
      expect((await look(other.cookie)).status).toBe(303);
      const { rows } = await database.query('select from console_sessions where key_id in ($1, $2)', [
        revoked.id,
        deleted.id,
      ]);
      expect(rows).toEqual([]);
    });

    it('that end when they expire', async () => {
      const key = await aKey('read');
      const { cookie, set } = await signIn(key.text);
      expect(set).toContain('Max-Age=43200');
      await database.query(`update console_sessions set expires_at = now() where key_id = $1`, [key.id]);
      expect((await look(cookie)).status).toBe(303);
    });

    it('that cannot be forged from data in the database', async () => {
      const key = await aKey('admin');
      const { cookie } = await signIn(key.text);
      const token = cookie.split('=')[1] ?? '';
      const { rows: tables } = await database.query<{ name: string }>(
        `select quote_ident(table_name) as name from information_schema.tables
          where table_schema = 'public' and table_type = 'BASE TABLE'`,
      );
      const storedRows: string[] = [];
      for (const { name } of tables) {
        const { rows } = await database.query<{ row: string }>(`select t::text as row from ${name} t`);
        storedRows.push(...rows.map(({ row }) => row));
      }
      const spellings = [token, Buffer.from(token).toString('hex'), Buffer.from(token, 'base64url').toString('hex')];
      for (const spelling of spellings) expect(storedRows.join('\n')).not.toContain(spelling);

      const isForged = async (made: string) =>
        (await look(`recalld_session=${encodeURIComponent(made)}`)).status === 200;
      const { rows } = await database.query<{ key: string }>('select key from hash_keys');
      const secret = createHmac('sha256', rows[0]?.key ?? '')
        .update('sessions of the pages')
        .digest();
      const content = `${key.id}.9999999999.${'x'.repeat(22)}`;
      const signature = createHmac('sha256', secret).update(`session\n${content}`).digest('base64url');
      expect(await isForged(`${content}.${signature}`)).toBe(false);
      const { rows: stored } = await database.query<{ hash: string }>(
        `select encode(token_hash, 'base64') as hash from console_sessions where key_id = $1`,
        [key.id],
      );
      expect(stored).toHaveLength(1);
      expect(await isForged(stored[0]?.hash ?? '')).toBe(false);
    });

    it('in cookies that scripts, other sites and, over TLS, other hosts cannot reach', async () => {
      const { text: key } = await aKey('read');
      const plain = await signIn(key);
      expect(plain.set).toMatch(/^recalld_session=[\w-]{43}; Max-Age=43200; Path=\/; HttpOnly; SameSite=Strict$/);
      const overTls = { 'x-forwarded-proto': 'https' };
      const { set, cookie } = await signIn(key, overTls);
      expect(set).toMatch(
        /^__Host-recalld_session=[\w-]{43}; Max-Age=43200; Path=\/; HttpOnly; Secure; SameSite=Strict$/,
      );
      const lookOverTls = (sent: string) => ask({ ...aClient(), ...overTls, cookie: sent }, '/checks');
      expect((await lookOverTls(cookie)).status).toBe(200);
      expect((await lookOverTls(plain.cookie)).status).toBe(303);
    });

    it('and accepts a form only with the token of its session, as a form, and from its own origin', async () => {
      const [reader, admin] = [await signIn((await aKey('read')).text), await signIn((await aKey('admin')).text)];
      const [readers, admins] = [tokenIn(await look(reader.cookie)), tokenIn(await look(admin.cookie))];
      const note = { subject: 'run', id: 'none', text: 'hello' };
      const statuses = async (cookie: string, form_token: string) =>
        (await send('/actions/annotate', cookie, { ...note, form_token })).status;
      expect(await statuses(admin.cookie, admins)).toBe(404);
      expect(await statuses(admin.cookie, readers)).toBe(403);
      expect(await statuses(admin.cookie, `${admins}x`)).toBe(403);
      expect(await statuses(reader.cookie, readers)).toBe(403);
      const commonHeaders = { origin: daemon.url, cookie: admin.cookie };
      const large = { ...note, form_token: admins, text: 'x'.repeat(300_000) };
      expect((await call(daemon.url, '/actions/annotate', { ...commonHeaders, ...aClient() }, large)).status).toBe(413);
      const json = { ...commonHeaders, ...aClient(), 'content-type': 'application/json' };
      expect((await call(daemon.url, '/actions/annotate', json, note)).status).toBe(415);
      // The proxy's headers state the public address.
      const public_ = { 'x-forwarded-host': 'recalld.example', ...aClient() };
      const { text: key } = await aKey('read');
      const from = (origin: string) => call(daemon.url, '/sign-in', { ...public_, origin }, { key });
      expect((await from('https://recalld.example')).status).toBe(303);
      expect((await from(daemon.url)).status).toBe(403);
    });
  });

  it('lets browsers cache the style sheet of its version', async () => {
    const client = aClient();
    const { body, headers } = await ask(client, '/sign-in');
    const sheet = /href="(\/style\.css\?v=[^"]+)"/.exec(body)?.[1] ?? '';
    const first = await ask(client, sheet);
    expect(first).toMatchObject({ status: 200, headers: { 'content-type': 'text/css; charset=utf-8' } });
    expect(first.headers['cache-control']).toBe('no-cache');
    expect(first.headers['content-security-policy']).toBe(headers['content-security-policy']);
    const again = await ask({ ...client, 'if-none-match': String(first.headers['etag']) }, sheet);
    expect(again).toMatchObject({ status: 304, body: '' });
    expect(await ask(client, '/report.css')).toMatchObject({ status: 404 });
  });
});

describe('a daemon that trusts no proxy', () => {
  it('ignores the client address and the host name that a caller claims', async () => {
    // Does not listen on 127.0.0.1, where callers need no key.
    const config = 'server: {port: 0, host: 127.0.0.2}\npipelines: []\n';
    const folder = await aFolder({ 'recalld.yaml': config }, atEnd);
    const daemon = await startRecalld(['serve', '--roles', 'api'], folder, {}, atEnd);
    const wrong = times(60, (i) => call(daemon.url, '/v1/pipelines', { ...aClient(), ...bearer(`rcl_wrong_${i}`) }));
    expect(await tally(wrong)).toEqual({ 401: 20, 429: 40 });
    await waitFor(() => logLines(daemon.stderr()).find((line) => line['address'] === '127.0.0.1'));
    const forged = { origin: 'https://recalld.example', 'x-forwarded-host': 'recalld.example' };
    expect((await call(daemon.url, '/sign-in', forged, { key: 'rcl_wrong_0' })).status).toBe(403);
  });
});
