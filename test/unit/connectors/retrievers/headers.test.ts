import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { compileHeaders } from '../../../../src/connectors/retrievers/http.ts';
import { RecalldError } from '../../../../src/core/errors.ts';
import { anyText } from './any-text.ts';

const request = { text: 'q', k: 5, tags: { tenant: 'Acme Corp' } };

describe('the headers of a request', () => {
  it('request JSON by default, and have a content type only with a body', () => {
    expect(compileHeaders({}, true)(request)).toStrictEqual({
      accept: 'application/json',
      'content-type': 'application/json',
      'user-agent': 'recalld',
    });
    expect(compileHeaders({}, false)(request)['content-type']).toBeUndefined();
  });

  it('can be replaced whatever their case', () => {
    const headers = compileHeaders({ 'Content-Type': 'application/vnd.rag+json', ACCEPT: '*/*' }, true)(request);
    expect(headers['content-type']).toBe('application/vnd.rag+json');
    expect(headers['accept']).toBe('*/*');
  });

  it('are filled in, and omitted if they consist of a tag that the query lacks', () => {
    const render = compileHeaders({ 'x-tenant': '{{tags.tenant}}', 'x-page': 'k={{k}};l={{tags.lang}}' }, true);
    expect(render(request)['x-tenant']).toBe('Acme Corp');
    expect(render({ ...request, tags: {} })).not.toHaveProperty('x-tenant');
    expect(render(request)['x-page']).toBe('k=5;l=');
  });

  it('carry any text as one field that decodes to the same text', () => {
    const render = compileHeaders({ 'x-query': '{{text}}' }, true);
    fc.assert(
      fc.property(anyText, (text) => {
        expect(decodeURIComponent(render({ ...request, text })['x-query'] ?? '')).toBe(text);
      }),
    );
    expect(render({ ...request, text: 'a\r\nx-admin: 1' })['x-query']).toBe('a%0D%0Ax-admin: 1');
  });

  it('trim space around a value, such as a token that was read from a file', () => {
    expect(compileHeaders({ authorization: 'Bearer abc\n' }, true)(request)['authorization']).toBe('Bearer abc');
  });

  it.each([
    ['a name with a space', 'bad name', 'v'],
    ['an empty name', '', 'v'],
    ['a Connection header', 'Connection', 'close'],
    ['a Content-Length header', 'content-length', '5'],
    ['a line break in a value', 'authorization', 'Bearer s3cret\nx: 1'],
    ['a character that no header can hold', 'authorization', 'Bearer s3cret\u20ac'],
    ['an unknown placeholder', 'x-q', '{{query}}'],
  ])('with %s are refused without showing the value', (_name, name, value) => {
    expect(() => compileHeaders({ [name]: value }, true)).toThrowError(RecalldError);
    expect(() => compileHeaders({ [name]: value }, true)).toThrowError(`retriever.headers.${name}: `);
    expect(() => compileHeaders({ [name]: value }, true)).not.toThrowError('s3cret');
  });
});
