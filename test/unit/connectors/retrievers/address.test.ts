import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { compileAddress } from '../../../../src/connectors/retrievers/http.ts';
import { RecalldError } from '../../../../src/core/errors.ts';
import { anyText } from './any-text.ts';

const request = { text: 'a&b=c #1?', k: 5, tags: { course: 'x/y', up: '..' } };

describe('the address of a retriever', () => {
  it('contains the query, k and tags percent-encoded', () => {
    const address = compileAddress('http://rag.internal/{{tags.course}}/search?q={{text}}&k={{k}}&t={{tags.none}}');
    expect(address.render(request)).toBe('http://rag.internal/x%2Fy/search?q=a%26b%3Dc%20%231%3F&k=5&t=');
  });

  it('is shown without its query string, and with its placeholders unfilled', () => {
    const address = compileAddress('https://rag.internal:8443/{{tags.course}}/search?key=secret&q={{text}}');
    expect(address.label).toBe('https://rag.internal:8443/{{tags.course}}/search');
  });

  it.each(['..', '.'])('is not rendered if the tag %j would change its path', (up) => {
    const address = compileAddress('http://rag.internal/courses/{{tags.up}}/search');
    expect(address.render({ ...request, tags: { up } })).toBeNull();
    expect(address.render({ ...request, tags: { up: 'a..b' } })).toBe('http://rag.internal/courses/a..b/search');
  });

  it('describes the target of a redirect, with the path only if the path is the configured one', () => {
    const address = compileAddress('http://rag.internal/search?q={{text}}');
    expect(address.describeRedirect('https://rag.internal/search/?q=refund')).toBe('https://rag.internal/search/');
    expect(address.describeRedirect('/search/')).toBe('http://rag.internal/search/');
    expect(address.describeRedirect('/refund')).toBe(
      'the final address (it leads to another path on http://rag.internal)',
    );
    expect(address.describeRedirect('http://[')).toBe('the final address');
    // The path contains the query text, which must not be shown.
    const inPath = compileAddress('http://rag.internal/{{text}}');
    expect(inPath.describeRedirect('https://rag.internal/x')).not.toContain('/x');
  });

  it('carries any query text in its parameter', () => {
    const address = compileAddress('http://rag.internal/search?a=1&q={{text}}&z=2');
    fc.assert(
      fc.property(anyText, (text) => {
        const { searchParams } = new URL(address.render({ ...request, text }) ?? '');
        expect([...searchParams]).toStrictEqual([
          ['a', '1'],
          ['q', text],
          ['z', '2'],
        ]);
      }),
    );
  });

  it.each([
    ['text that is not a URL', 'rag.internal/search', 'is not an absolute URL'],
    ['nothing', '', 'is not an absolute URL'],
    ['another scheme', 'ftp://rag.internal/search', 'has the scheme ftp:'],
    ['a password', 'http://me:hunter2@rag.internal/search', 'contains a user name or a password'],
    ['a user name', 'http://me@rag.internal/search', 'contains a user name or a password'],
    ['a fragment', 'http://rag.internal/#/search?q={{text}}', 'has a "#"'],
    ['an empty fragment', 'http://rag.internal/search#', 'has a "#"'],
    ['a placeholder as the host', 'http://{{tags.host}}/search', 'has a placeholder in the host'],
    ['a placeholder in the host', 'http://rag.{{tags.host}}/search', 'has a placeholder in the host'],
    ['a placeholder as the port', 'http://rag.internal:{{k}}/search', 'is not an absolute URL'],
    ['a placeholder behind a backslash', 'http://rag.internal\\{{text}}', 'has a placeholder in the host'],
    ['a placeholder as the scheme', '{{text}}://rag.internal/', 'has the scheme x:'],
    ['an unknown placeholder', 'http://rag.internal/?q={{query}}', '{{query}} is not a placeholder'],
  ])('with %s is refused', (_name, url, message) => {
    expect(() => compileAddress(url)).toThrowError(RecalldError);
    expect(() => compileAddress(url)).toThrowError(/^retriever\.url: /);
    expect(() => compileAddress(url)).toThrowError(message);
    expect(() => compileAddress(url)).not.toThrowError('hunter2');
  });
});
