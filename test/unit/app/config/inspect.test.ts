import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { configExample, exampleEnvironment } from '../../../../docs/build/config-example.ts';
import { branches, type JsonSchema } from '../../../../src/app/config/explain.ts';
import { redactConfig } from '../../../../src/app/config/inspect.ts';
import { configJsonSchema, parseConfig } from '../../../../src/app/config/parse.ts';
import type { Config } from '../../../../src/app/config/schema.ts';
import { RecalldError } from '../../../../src/core/errors.ts';
import { isMapping } from '../../../../src/core/text/json.ts';

function parse(text: string, env: Readonly<Record<string, string>> = {}): Config {
  return parseConfig(text, 'recalld.yaml', env, () => '');
}

/** The config as `config print` shows it: as YAML and as JSON. */
function printed(config: Config): string {
  const redacted = redactConfig(config);
  return `${stringify(redacted)}\n${JSON.stringify(redacted)}`;
}

/** Characters that occur in no key or redaction marker, so that a match must come from the secret, escaped or not. */
const aCanary = fc
  .array(fc.constantFrom('Q', 'X', 'Z', 'J', '0', '7'), { minLength: 12, maxLength: 24 })
  .map((letters) => letters.join(''));

const aUrl = fc.constantFrom(
  (scheme: string, secret: string) => `${scheme}://user:${secret}@host:1234/path`,
  (scheme: string, secret: string) => `${scheme}://:${secret}@host/0`,
  (scheme: string, secret: string) => `${scheme}://host/path?user=me&password=${secret}`,
  (scheme: string, secret: string) => `${scheme}://host/path?sslmode=require&api_key=a&api_key=${secret}`,
  (scheme: string, secret: string) => `${scheme}://user:pa%2Fss%40${secret}@host/path`,
  (scheme: string, secret: string) => `${scheme}://user:p@ss:${secret}@host/path`,
  // An unescaped slash: no program can tell where this password ends.
  (scheme: string, secret: string) => `${scheme}://user:pa/ss${secret}@host/path`,
  (scheme: string, secret: string) => `${scheme}://host/path#${secret}`,
);

const aHeader = fc.constantFrom(
  (secret: string) => `Bearer ${secret}`,
  (secret: string) => secret,
  (secret: string) => `user:${secret}`,
  (secret: string) => `https://host/${secret}`,
  (secret: string) => `embedded${secret}`,
);

const aBody = fc.constantFrom(
  (secret: string) => ({ api_key: secret }),
  (secret: string) => ({ query: '{{text}}', auth: { user: 'me', pin: secret } }),
  (secret: string) => [{ accessToken: [`{{text}} ${secret}`] }],
  (secret: string) => ({ PASSWORD: { nested: [[secret]] } }),
);

describe('the printed config', () => {
  it('contains no secret of any form from any key', () => {
    const secrets = fc.tuple(aCanary, aUrl, aHeader, aBody);
    fc.assert(
      fc.property(secrets, ([canary, url, header, body]) => {
        const pipeline = {
          name: 'docs',
          retriever: {
            kind: 'http',
            url: url('https', canary),
            headers: { authorization: header(canary), 'x-key': canary },
            body: body(canary),
          },
          vector_store: { kind: 'pgvector', url: url('postgres', canary), table: 'chunks' },
          embedder: { kind: 'openai', base_url: url('https', canary), model: 'm', api_key: header(canary) },
        };
        const storage = { url: url('postgres', canary) };
        const queue = { backend: 'redis', url: url('rediss', canary) };
        // A URL is refused if a character in the password ends the URL early; the error must not contain the password.
        const shown = (): string => {
          try {
            return printed(parse(JSON.stringify({ storage, queue, pipelines: [pipeline] })));
          } catch (error) {
            if (error instanceof RecalldError) return error.message;
            throw error;
          }
        };
        expect(shown()).not.toContain(canary);
      }),
      { numRuns: 60 },
    );
  }, 30_000);

  it('masks every key that may contain a secret', () => {
    const unmarked: string[] = [];
    const visit = (schema: JsonSchema, path: string): void => {
      for (const form of branches(schema)) {
        for (const [key, child] of Object.entries(form.properties ?? {})) {
          if (!isMapping(child)) continue;
          if (/url|_key|token(?!s)|secret|passw|body/.test(key) && child['secret'] === undefined)
            unmarked.push(`${path}.${key}`);
          visit(child, `${path}.${key}`);
        }
        if (isMapping(form.items)) visit(form.items, path);
      }
    };
    visit(configJsonSchema(), '');
    expect(unmarked).toEqual([]);
  });

  it('contains no secret from the environment', () => {
    const text = printed(parse(configExample, exampleEnvironment));
    for (const secret of [':password', 'token-of-the-rag-service', 'key-of-the-embedder']) {
      expect(text).not.toContain(secret);
    }
  });

  it.each([
    ['the embedded database', 'embedded', 'embedded'],
    [
      'a URL without credentials',
      'postgres://db.internal:5432/recalld?sslmode=require',
      'postgres://db.internal:5432/recalld?sslmode=require',
    ],
    [
      'the user name, host and database',
      'postgres://me:pw@db:5432/recalld?sslmode=require',
      'postgres://me:redacted@db:5432/recalld?sslmode=require',
    ],
  ])('still shows %s', (_, url, shown) => {
    expect(redactConfig(parse(`storage: {url: "${url}"}`))).toMatchObject({ storage: { url: shown } });
  });

  it.each([
    ['environment', 'environment'],
    ['http://ops:s3cret@proxy:3128', 'http://redacted:redacted@proxy:3128/'],
  ])('shows the proxy %s as %s', (proxy, shown) => {
    const notify = [{ kind: 'slack', url: 'https://hooks.example/s3cret', proxy }];
    expect(redactConfig(parse(JSON.stringify({ notify })))).toMatchObject({ notify: [{ proxy: shown }] });
  });

  it("still shows a retriever's placeholders and the parts of its body that are not secret", () => {
    const retriever = {
      kind: 'http',
      url: 'https://rag/{{tags.course}}/search?q={{text}}&k={{k}}&sig=s3cret',
      headers: { accept: 'application/json' },
      body: {
        query: '{{text}}',
        top_k: '{{k}}',
        index: 'docs',
        user_token: '{{tags.token}}',
        api_key: 's3cret',
        token_limit: 5,
      },
    };
    expect(redactConfig(parse(JSON.stringify({ pipelines: [{ name: 'p', retriever }] })))).toMatchObject({
      pipelines: [
        {
          retriever: {
            url: 'https://rag/{{tags.course}}/search?q={{text}}&k={{k}}&sig=redacted',
            headers: { accept: '[redacted]' },
            body: {
              query: '{{text}}',
              top_k: '{{k}}',
              index: 'docs',
              user_token: '{{tags.token}}',
              api_key: '[redacted]',
              token_limit: '[redacted]',
            },
          },
        },
      ],
    });
  });

  it('shows everything else unchanged', () => {
    const config = parse(
      'server: {port: 1}\npipelines: [{name: p, retriever: {kind: http, url: "http://rag/"}, golden: [{set: s}]}]',
    );
    expect(redactConfig(config)).toEqual(config);
  });
});
