/** Sign-in to the console through a real OpenID Connect provider, and through a proxy's headers. */
import { type OutgoingHttpHeaders, request } from 'node:http';
import type { Client } from 'pg';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { describeWithBrowser, useBrowser } from '../../support/browser.ts';
import { freePort } from '../../support/free-port.ts';
import { aBrowser, type ProviderSettings, startProvider } from '../../support/oidc-provider.ts';
import { aDatabase, aFolder, type Daemon, logLines, runRecalld, startRecalld } from '../../support/recalld.ts';
import { waitFor } from '../../support/wait-for.ts';

const cleanups: (() => Promise<void>)[] = [];
const atEnd = (clean: () => Promise<void>): void => void cleanups.unshift(clean);

afterAll(async () => {
  for (const clean of cleanups) await clean();
});

const SECRET = 'a secret that no output may contain';

describe('a daemon with an OpenID Connect provider', () => {
  let daemon: Daemon;
  let folder: string;
  let database: Client;
  let settings: ProviderSettings;
  let provider: { stop(): Promise<void> } | null = null;
  let callback: string;

  const start = async (changes: Partial<ProviderSettings> = {}): Promise<void> => {
    await provider?.stop();
    provider = await startProvider({ ...settings, ...changes }, atEnd);
  };

  beforeAll(async () => {
    const [port, providerPort] = [await freePort(), await freePort()];
    const url = `http://127.0.0.1:${port}`;
    callback = `${url}/sign-in/callback`;
    settings = {
      port: providerPort,
      issuer: `http://localhost:${providerPort}`,
      redirectUri: callback,
      signedOutUri: `${url}/sign-in`,
      aheadSeconds: 0,
      idTokenSeconds: 600,
      claimsIn: 'token',
      groups: { ann: ['search-admins', 'all'], bob: ['search-readers'], eve: ['sales'], zoe: [] },
      secret: SECRET,
    };
    const config = `
server:
  port: ${port}
  oidc:
    issuer: ${settings.issuer}
    client_id: recalld
    client_secret: \${CLIENT_SECRET}
    scopes: [openid, email, profile, groups]
    roles: {admin: [search-admins], read: [search-readers]}
alerts: {console_base_url: ${url}}
pipelines:
  - name: docs
    retriever: {kind: http, url: "http://127.0.0.1:9/search", body: {query: "{{text}}"}, results: {list: results, id: id}}
`;
    folder = await aFolder({ 'recalld.yaml': config }, atEnd);
    daemon = await startRecalld(['serve'], folder, { CLIENT_SECRET: SECRET }, atEnd);
    database = await aDatabase(folder, atEnd);
  });

  /** Signs in as `user`, and returns recalld's response after the provider has redirected the browser back. */
  const signIn = async (user: string, browser = aBrowser(), next = '/checks') => {
    const start = `${daemon.url}/sign-in/provider?next=${encodeURIComponent(next)}`;
    const back = await browser.signInAtProvider(start, user, callback);
    return { browser, back, answer: await browser.open(back) };
  };
  const degraded = async (): Promise<string[]> => {
    const response = await fetch(`${daemon.url}/readyz`);
    return ((await response.json()) as { degraded: { name: string }[] }).degraded.map(({ name }) => name);
  };
  const examined = async () => {
    const { stdout } = await runRecalld(['doctor', '--json'], folder, { CLIENT_SECRET: SECRET });
    const { findings } = JSON.parse(stdout) as { findings: { service: string; status: string; message: string }[] };
    return findings.find(({ service }) => service === 'sign-in');
  };
  const alertIn = (body: string): string => /id="problem">([^<]*)</.exec(body)?.[1] ?? '';

  it('starts while the provider is down, reports the outage, and offers sign-in with an API key', async () => {
    await waitFor(async () => ((await degraded()).includes('sign-in') ? true : undefined));
    const logged = logLines(daemon.stderr()).find(({ msg }) => msg === 'the sign-in provider cannot be used');
    expect(logged).toMatchObject({ level: 'error', reason: expect.stringContaining('refused') as string });
    const page = await aBrowser().open(`${daemon.url}/sign-in/provider`);
    expect(page.status).toBe(503);
    expect(page.body).toContain('name="key"');
    expect(await examined()).toMatchObject({ status: 'unreachable' });
  });

  describe('while the provider works', () => {
    beforeEach(() => (provider === null ? start() : undefined));

    it('signs users in by the groups in the ID token, without a redirect to another site', async () => {
      const { browser, answer } = await signIn('ann');
      expect(await examined()).toMatchObject({ status: 'ok', message: expect.stringContaining(callback) as string });
      expect(answer).toMatchObject({ status: 200, location: null });
      expect(answer.body).toContain('content="0;url=/checks"');
      const session = answer.cookies.find((cookie) => cookie.startsWith('recalld_session=')) ?? '';
      expect(session).toMatch(/Max-Age=3600; Path=\/; HttpOnly; SameSite=Strict$/);
      const page = await browser.open(`${daemon.url}/checks`);
      expect(page.status).toBe(200);
      expect(page.body).toContain('ann@example.com');
      const evil = await signIn('ann', browser, '//evil.example/x');
      expect(evil.answer.body).toContain('content="0;url=/"');
    });

    it('records the name and the subject of the user who made a change, and refuses changes by a reader', async () => {
      const { browser } = await signIn('ann');
      const page = await browser.open(`${daemon.url}/checks`);
      const token = /name="form_token" value="([^"]+)"/.exec(page.body)?.[1] ?? '';
      const silence = { form_token: token, pipeline: 'docs', for: '2h', reason: 'index is being rebuilt' };
      expect((await browser.open(`${daemon.url}/actions/silence`, silence)).status).toBe(303);
      const audit = await runRecalld(['audit', '--json'], folder, { CLIENT_SECRET: SECRET });
      const [act] = JSON.parse(audit.stdout) as { act: string; by: string }[];
      expect(act).toMatchObject({
        act: 'add_silence',
        by: expect.stringMatching(/^user ann@example\.com \(ann\), console, 127\./),
      });
      const reader = await signIn('bob');
      const readers = await reader.browser.open(`${daemon.url}/checks`);
      const readToken = /name="form_token" value="([^"]+)"/.exec(readers.body)?.[1] ?? '';
      const refused = await reader.browser.open(`${daemon.url}/actions/silence`, { ...silence, form_token: readToken });
      expect(refused.status).toBe(403);
    });

    it('shows a user without a role the groups that the provider sent, and starts no session', async () => {
      for (const [user, groups] of [
        ['eve', 'sales'],
        ['zoe', 'no groups'],
      ] as const) {
        const { browser, answer } = await signIn(user);
        expect(answer.status).toBe(403);
        expect(alertIn(answer.body)).toContain(`${user}@example.com`);
        expect(alertIn(answer.body)).toContain(groups);
        expect((await browser.open(`${daemon.url}/checks`)).status).toBe(303);
      }
    });

    it('reads groups from the userinfo endpoint if the ID token has none', async () => {
      await start({ claimsIn: 'userinfo' });
      const { answer, browser } = await signIn('bob');
      expect(answer.status).toBe(200);
      expect((await browser.open(`${daemon.url}/checks`)).status).toBe(200);
      await start();
    });

    it('accepts a code once, and only from the browser that started the sign-in', async () => {
      const { browser, back, answer } = await signIn('ann');
      expect(answer.status).toBe(200);
      expect((await browser.open(back)).status).toBe(401);

      const victim = aBrowser();
      const stolen = await aBrowser().signInAtProvider(`${daemon.url}/sign-in/provider`, 'ann', callback);
      const foreign = await victim.open(stolen);
      expect(foreign.status).toBe(401);
      expect(alertIn(foreign.body)).toContain('did not start');
      expect(victim.cookies(daemon.url).has('recalld_session')).toBe(false);

      // Even if the browser restores the cookie of the first attempt, the provider rejects the used code.
      const other = aBrowser();
      const again = await other.signInAtProvider(`${daemon.url}/sign-in/provider`, 'ann', callback);
      const cookies = new Map(other.cookies(daemon.url));
      expect((await other.open(again)).status).toBe(200);
      for (const [name, value] of cookies) other.cookies(daemon.url).set(name, value);
      const replayed = await other.open(again);
      expect(replayed.status).toBe(401);
      expect(alertIn(replayed.body)).toContain('used before or has expired');
    });

    it('rejects a forged state and an empty callback, and does not render HTML from an error', async () => {
      const browser = aBrowser();
      const back = new URL(await browser.signInAtProvider(`${daemon.url}/sign-in/provider`, 'ann', callback));
      const state = back.searchParams.get('state') ?? '';
      expect((await browser.open(`${callback}?code=x&state=${state.replace(/.$/, '_')}`)).status).toBe(401);
      expect(
        (await browser.open(`${callback}?error=access_denied&error_description=%3Cb%3E&state=${state}`)).body,
      ).not.toContain('<b>');
      expect((await browser.open(callback)).status).toBe(401);
    });

    it('accepts rotated signing keys of the provider immediately', async () => {
      expect((await signIn('ann')).answer.status).toBe(200);
      await start();
      expect((await signIn('ann')).answer.status).toBe(200);
    });

    it('tolerates clocks that differ by less than a minute, and rejects an expired token', async () => {
      await start({ aheadSeconds: 45 });
      expect((await signIn('ann')).answer.status).toBe(200);
      await start({ aheadSeconds: -45, idTokenSeconds: 10 });
      expect((await signIn('ann')).answer.status).toBe(200);
      await start({ aheadSeconds: -3600, idTokenSeconds: 10 });
      const { answer } = await signIn('ann');
      expect(answer.status).toBe(401);
      expect(alertIn(answer.body)).toContain('expired');
      await start();
    });

    it('rejects a provider whose issuer or client secret differs from the config', async () => {
      await start({ issuer: `http://127.0.0.1:${settings.port}` });
      const wrong = await aBrowser().open(`${callback}?code=1`);
      expect(wrong.status).toBe(401);
      expect(await examined()).toMatchObject({
        status: 'wrong',
        message: expect.stringContaining(`names the issuer http://127.0.0.1:${settings.port}`) as string,
      });
      await start({ secret: 'another secret' });
      const { answer } = await signIn('ann');
      expect(answer.status).toBe(401);
      expect(alertIn(answer.body)).toContain('server.oidc.client_secret');
      await start();
    });

    it('redirects to the provider after a session expires, and shows the sign-in page after sign-out', async () => {
      const { browser } = await signIn('ann');
      await database.query('update console_sessions set expires_at = now() where user_id is not null');
      const expired = await browser.follow(`${daemon.url}/checks`, (url) => url.startsWith(settings.issuer));
      expect(expired.location).toContain('code_challenge_method=S256');
      const back = await browser.signInAtProvider(expired.location ?? '', 'ann', callback);
      expect((await browser.open(back)).body).toContain('content="0;url=/checks"');

      const page = await browser.open(`${daemon.url}/checks`);
      const token = /name="form_token" value="([^"]+)"/.exec(page.body)?.[1] ?? '';
      const out = await browser.open(`${daemon.url}/sign-out`, { form_token: token });
      const url = /content="0;url=([^"]+)"/.exec(out.body)?.[1]?.replaceAll('&amp;', '&') ?? '';
      expect(new URL(url).searchParams.get('id_token_hint')).toMatch(/^ey/);
      expect(new URL(url).searchParams.get('post_logout_redirect_uri')).toBe(`${daemon.url}/sign-in`);
      const confirm = await browser.follow(url);
      const form = /action="([^"]+)"[^]*name="xsrf" value="([^"]+)"/.exec(confirm.body);
      const ended = await browser.open(form?.[1] ?? '', { xsrf: form?.[2] ?? '', logout: 'yes' });
      expect(ended.location).toBe(`${daemon.url}/sign-in`);
      const shown = await browser.open(`${daemon.url}/sign-in`);
      expect(shown.status).toBe(200);
      expect(shown.body).toContain(`Sign in with localhost:${settings.port}`);
      expect((await browser.open(`${daemon.url}/checks`)).location).toContain('/sign-in');
      const asked = await browser.follow(`${daemon.url}/sign-in/provider`);
      expect(asked.body).toContain('name="login"');
    });

    describeWithBrowser('in a real browser', () => {
      const visiting = useBrowser();

      it('opens the requested page after sign-in at the provider, and signs out at the provider too', async () => {
        const { page } = await visiting.page(new URL(daemon.url).host);
        await page.goto(`${daemon.url}/checks`);
        await page.getByRole('link', { name: 'Sign in with' }).click();
        await page.fill('input[name=login]', 'ann');
        await page.fill('input[name=password]', 'any');
        await page.click('button[type=submit]');
        // The session cookie is SameSite=Strict, so browsers do not send it with a redirect from the provider.
        await page.waitForURL(`${daemon.url}/checks`);
        expect(await page.textContent('.who-name')).toBe('ann@example.com');
        await page.getByRole('button', { name: 'Sign out' }).click();
        await page.getByRole('button', { name: 'Yes, sign me out' }).click();
        await page.waitForURL(`${daemon.url}/sign-in`);
        expect(await page.getByLabel('API key').count()).toBe(1);
      });
    });

    it('requires API keys for the API even on loopback', async () => {
      expect((await fetch(`${daemon.url}/v1/pipelines`)).status).toBe(401);
    });

    it('blocks an address that sends many invalid codes', async () => {
      const browser = aBrowser();
      const statuses: number[] = [];
      for (let i = 0; i < 22; i += 1) {
        const started = await browser.open(`${daemon.url}/sign-in/provider`);
        const state = new URL(started.location ?? '').searchParams.get('state') ?? '';
        statuses.push((await browser.open(`${callback}?code=wrong-${i}&state=${state}&iss=${settings.issuer}`)).status);
      }
      expect(statuses.slice(-1)).toEqual([429]);
      expect(statuses.filter((status) => status === 401).length).toBeGreaterThan(0);
    });

    it('writes no secret, code or token to its log or to the output of `config print`', async () => {
      const shown = await runRecalld(['config', 'print'], folder, { CLIENT_SECRET: SECRET });
      expect(shown.stdout).toContain('client_secret');
      for (const text of [daemon.stderr(), shown.stdout]) {
        expect(text).not.toContain(SECRET);
        expect(text).not.toMatch(/eyJ[\w-]{20}|code=/);
      }
      const user = logLines(daemon.stderr()).find(({ msg }) => msg === 'a user signed in');
      expect(user).toMatchObject({ user: 'ann@example.com', subject: 'ann', address: '127.0.0.1' });
    });
  });
});

describe('a daemon behind a proxy that authenticates users', () => {
  let daemon: Daemon;
  let folder: string;

  beforeAll(async () => {
    const config = `
server:
  port: 0
  trusted_proxies: [127.0.0.1]
  auth_proxy:
    user_header: X-Forwarded-Email
    groups_header: X-Forwarded-Groups
    roles: {admin: [search-admins], read: [search-readers]}
pipelines:
  - name: docs
    retriever: {kind: http, url: "http://127.0.0.1:9/search", body: {query: "{{text}}"}, results: {list: results, id: id}}
`;
    folder = await aFolder({ 'recalld.yaml': config }, atEnd);
    daemon = await startRecalld(['serve'], folder, {}, atEnd);
  });

  const user = (name: string, ...groups: string[]) => ({
    'x-forwarded-email': name,
    'x-forwarded-groups': groups.join(', '),
  });

  /** Sends a request from an address of this machine. */
  const ask = (localAddress: string, headers: OutgoingHttpHeaders, path = '/checks') =>
    new Promise<{ status: number; location: string | undefined; body: string }>((resolve, reject) => {
      const sent = request(`${daemon.url}${path}`, { localAddress, headers }, (response) => {
        let body = '';
        response.setEncoding('utf8').on('data', (part: string) => (body += part));
        response.once('end', () =>
          resolve({ status: response.statusCode ?? 0, location: response.headers.location, body }),
        );
      });
      sent.once('error', reject);
      sent.end();
    });

  it('shows pages to the user named by the proxy, without a sign-out button', async () => {
    const page = await ask('127.0.0.1', user('bob@example.com', 'all', 'search-readers'));
    expect(page.status).toBe(200);
    expect(page.body).toContain('bob@example.com');
    expect(page.body).not.toContain('Sign out');
  });

  it('ignores the headers from another address, and logs one warning', async () => {
    for (let i = 0; i < 3; i += 1) {
      const page = await ask('127.0.0.2', user('ann@example.com', 'search-admins'));
      expect(page).toMatchObject({ status: 303, location: '/sign-in?next=%2Fchecks' });
    }
    const logged = await waitFor(() => {
      const lines = logLines(daemon.stderr()).filter(({ msg }) => String(msg).startsWith('ignored the header'));
      return lines.length > 0 ? lines : undefined;
    });
    expect(logged).toHaveLength(1);
    expect(logged[0]).toMatchObject({ level: 'warn', address: '127.0.0.2' });
  });

  it('rejects headers that were sent twice, and users without a role', async () => {
    const twice = { ...user('bob@example.com', 'search-readers'), 'x-forwarded-groups': ['sales', 'search-admins'] };
    expect((await ask('127.0.0.1', twice)).status).toBe(401);
    const eve = await ask('127.0.0.1', user('eve@example.com', 'sales'));
    expect(eve.status).toBe(403);
    expect(eve.body).toContain('sales');
    expect((await ask('127.0.0.1', user('eve@example.com'))).status).toBe(403);
    expect((await ask('127.0.0.1', {})).status).toBe(303);
  });

  it('requires an API key for the API', async () => {
    const admin = user('ann@example.com', 'search-admins');
    expect((await ask('127.0.0.1', admin, '/v1/pipelines')).status).toBe(401);
  });

  it('accepts a form from an administrator, and names the user in the audit log', async () => {
    const [ann, bob] = [
      aBrowser(user('ann@example.com', 'search-admins')),
      aBrowser(user('bob@example.com', 'search-readers')),
    ];
    const silence = async (browser: typeof ann) => {
      const page = await browser.open(`${daemon.url}/checks`);
      const token = /name="form_token" value="([^"]+)"/.exec(page.body)?.[1] ?? '';
      const form = { form_token: token, pipeline: 'docs', for: '2h', reason: 'index is being rebuilt' };
      return browser.open(`${daemon.url}/actions/silence`, form);
    };
    expect((await silence(ann)).status).toBe(303);
    expect((await silence(bob)).status).toBe(403);
    const foreign = { form_token: 'x', pipeline: 'docs', for: '2h', reason: 'x' };
    expect((await ann.open(`${daemon.url}/actions/silence`, foreign)).status).toBe(403);
    const audit = await runRecalld(['audit', '--json'], folder);
    const acts = JSON.parse(audit.stdout) as { act: string; by: string }[];
    expect(acts).toHaveLength(1);
    expect(acts[0]).toMatchObject({
      act: 'add_silence',
      by: expect.stringMatching(/^user ann@example\.com \(ann@example\.com\), console, [\d.]+$/),
    });
  });
});
