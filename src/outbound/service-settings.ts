/** Config of a service that speaks HTTP and JSON -> the settings of calls to it. */
import { readFileSync } from 'node:fs';
import { createSecureContext } from 'node:tls';
import { RecalldError } from '../errors.ts';
import type { TlsMaterial } from './exchange.ts';
import type { JsonApiSettings } from './json-api.ts';
import type { ProxySetting } from './proxy.ts';

/** What vector stores, embedders, retrievers and rerankers have in common in the config. */
export interface HttpServiceConfig {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly tls?: TlsConfig | undefined;
  readonly proxy?: ProxySetting | undefined;
  readonly timeout_ms: number;
  readonly retries: number;
  readonly max_per_second: number;
}

interface TlsConfig {
  readonly ca_file?: string | undefined;
  readonly client?: { readonly cert_file: string; readonly key_file: string } | undefined;
}

interface ServiceIdentity {
  /** What it is called in messages: `Qdrant`. */
  readonly service: string;
  /** Where the config describes it: `pipelines[0].vector_store`. */
  readonly configField: string;
  /** The key there that holds the address, `url` unless it is called otherwise. */
  readonly urlKey?: string;
  /** Headers that stand for the keys of the config, see bearer, basic and keyHeader; configured headers win. */
  readonly credentials?: Readonly<Record<string, string>>;
  /** The key of the config that they are made of, for messages; left out, there is none but `headers`. */
  readonly credentialsKey?: string;
}

/** The names of the headers come out in lower case. @throws RecalldError config_invalid */
export function createServiceSettings(
  config: HttpServiceConfig,
  { service, configField, urlKey, credentials = {}, credentialsKey }: ServiceIdentity,
): JsonApiSettings {
  const tls = readTls(config.tls, `${configField}.tls`);
  return {
    service,
    configField,
    ...(urlKey === undefined ? {} : { urlKey }),
    ...(credentialsKey === undefined ? {} : { credentialsKey }),
    url: config.url,
    headers: { ...lowerCased(credentials, configField), ...lowerCased(config.headers, configField) },
    timeoutMs: config.timeout_ms,
    retries: config.retries,
    maxPerSecond: config.max_per_second,
    ...(tls === undefined ? {} : { tls }),
    proxy: config.proxy,
  };
}

/** `Authorization: Bearer KEY`; none without a key. */
export function bearer(key: string | undefined): Record<string, string> {
  return key === undefined ? {} : { authorization: `Bearer ${key}` };
}

/** Basic authentication; none without a user. */
export function basic(username: string | undefined, password = ''): Record<string, string> {
  if (username === undefined) return {};
  return { authorization: `Basic ${Buffer.from(`${username}:${password}`, 'utf8').toString('base64')}` };
}

/** Where an API key and a user with a password can stand: the key of the config that messages point to. */
export function loginKey(login: { readonly api_key?: string | undefined; readonly username?: string | undefined }) {
  return login.api_key === undefined && login.username !== undefined ? 'password' : 'api_key';
}

/** A key in a header of its own, such as `api-key`; none without a key. */
export function keyHeader(name: string, key: string | undefined): Record<string, string> {
  return key === undefined ? {} : { [name]: key };
}

/** Reads the files of `tls`. @throws RecalldError config_invalid for one that cannot be read or holds no PEM */
export function readTls(tls: TlsConfig | undefined, field: string): TlsMaterial | undefined {
  if (tls?.ca_file === undefined && tls?.client === undefined) return undefined;
  const material = {
    ...(tls.ca_file === undefined ? {} : { ca: readPem(tls.ca_file, `${field}.ca_file`) }),
    ...(tls.client === undefined
      ? {}
      : {
          cert: readPem(tls.client.cert_file, `${field}.client.cert_file`),
          key: readPem(tls.client.key_file, `${field}.client.key_file`),
        }),
  };
  try {
    createSecureContext(material);
  } catch (cause) {
    const problem = 'these files are no certificates and keys that fit together; check that they are PEM';
    throw new RecalldError('config_invalid', `${field}: ${problem}.`, { cause });
  }
  return material;
}

function readPem(path: string, field: string): string {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (cause) {
    const reason = (cause as NodeJS.ErrnoException).code === 'ENOENT' ? 'does not exist' : 'cannot be read';
    throw new RecalldError('config_invalid', `${field}: ${path} ${reason}; check the path.`, { cause });
  }
  if (text.includes('-----BEGIN ')) return text;
  throw new RecalldError('config_invalid', `${field}: ${path} holds no PEM; convert it with openssl.`);
}

function lowerCased(headers: Readonly<Record<string, string>>, configField: string): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => {
      checkHeader(name, value, `${configField}.headers.${name}`);
      return [name.toLowerCase(), value.trim()];
    }),
  );
}

function checkHeader(name: string, value: string, field: string): void {
  if (!/^[\w!#$%&'*+.^`|~-]+$/.test(name)) {
    throw new RecalldError('config_invalid', `${field}: this is not the name of an HTTP header field.`);
  }
  // What HTTP lets through: tab, printable ASCII and the rest of Latin-1.
  if (!/^[\t\x20-\x7e\x80-\xff]*$/.test(value.trim())) {
    const problem = 'the value holds a line break, a control character or one outside Latin-1';
    throw new RecalldError('config_invalid', `${field}: ${problem}; remove it.`);
  }
}
