/** Starts an OpenID Connect provider for tests, and simulates a browser that signs in there. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { type AtEnd } from './recalld.ts';

export interface ProviderSettings {
  readonly port: number;
  /** Issuer that the provider's documents name; correct only if it equals the provider's address. */
  readonly issuer: string;
  readonly redirectUri: string;
  readonly signedOutUri: string;
  /** Number of seconds by which the provider's clock is ahead. */
  readonly aheadSeconds: number;
  readonly idTokenSeconds: number;
  readonly claimsIn: 'token' | 'userinfo';
  /** Groups of each user, keyed by user name. Any password is accepted. */
  readonly groups: Readonly<Record<string, readonly string[]>>;
  readonly secret: string;
}

export async function startProvider(settings: ProviderSettings, atEnd: AtEnd): Promise<{ stop(): Promise<void> }> {
  const program = path.join(import.meta.dirname, 'oidc-provider.mjs');
  const child = spawn(process.execPath, [program, JSON.stringify(settings)], { stdio: ['ignore', 'pipe', 'pipe'] });
  const exit = once(child, 'exit');
  let errors = '';
  child.stderr.on('data', (chunk: Buffer) => (errors += chunk.toString('utf8')));
  const stop = async (): Promise<void> => {
    child.kill('SIGKILL');
    await exit;
  };
  atEnd(stop);
  await Promise.race([
    once(child.stdout, 'data'),
    exit.then(() => {
      throw new Error(`the provider ended: ${errors}`);
    }),
  ]);
  return { stop };
}

export interface Visit {
  readonly url: string;
  readonly status: number;
  readonly body: string;
  readonly location: string | null;
  readonly cookies: readonly string[];
}

/** A browser that stores cookies by host, and does not follow redirects automatically. */
export function aBrowser(headers: Readonly<Record<string, string>> = {}) {
  const jars = new Map<string, Map<string, string>>();
  const jarOf = (url: string): Map<string, string> => {
    const { host } = new URL(url);
    const jar = jars.get(host) ?? new Map<string, string>();
    jars.set(host, jar);
    return jar;
  };
  const open = async (url: string, form?: Readonly<Record<string, string>>): Promise<Visit> => {
    const jar = jarOf(url);
    const response = await fetch(url, {
      redirect: 'manual',
      method: form === undefined ? 'GET' : 'POST',
      headers: {
        accept: 'text/html',
        cookie: [...jar].map(([name, value]) => `${name}=${value}`).join('; '),
        ...(form === undefined ? {} : { origin: new URL(url).origin }),
        ...headers,
      },
      ...(form === undefined ? {} : { body: new URLSearchParams(form) }),
    });
    for (const cookie of response.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(cookie) ?? [];
      if (value === '' || /max-age=0|expires=thu, 01 jan 1970/i.test(cookie)) jar.delete(name);
      else jar.set(name, value);
    }
    const location = response.headers.get('location');
    return {
      url,
      status: response.status,
      body: await response.text(),
      location: location === null ? null : new URL(location, url).href,
      cookies: response.headers.getSetCookie(),
    };
  };
  return {
    open,
    cookies: jarOf,
    /** Follows redirects until a page is returned, or until `stop` accepts an address. */
    async follow(url: string, stop: (url: string) => boolean = () => false): Promise<Visit> {
      let visit = await open(url);
      while (visit.location !== null && !stop(visit.location)) visit = await open(visit.location);
      return visit;
    },
    /** Enters a user name at the provider. Returns the address to which the provider then redirects the browser. */
    async signInAtProvider(start: string, user: string, callback: string): Promise<string> {
      const isBack = (url: string): boolean => url.startsWith(callback);
      let visit = await this.follow(start, isBack);
      if (visit.location === null) {
        const action = /action="([^"]+)"/.exec(visit.body)?.[1] ?? '';
        visit = await open(new URL(action, visit.url).href, { prompt: 'login', login: user, password: 'any' });
        while (visit.location !== null && !isBack(visit.location)) visit = await open(visit.location);
      }
      if (visit.location === null) throw new Error(`the provider showed ${visit.url}: ${visit.body.slice(0, 500)}`);
      return visit.location;
    },
  };
}
