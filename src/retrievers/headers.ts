/** The header fields of a retriever's request. */
import { RecalldError } from '../errors.ts';
import type { RetrieverRequest } from './retriever.ts';
import { parseTemplate, renderText } from './template.ts';

/** Fields that follow from the request and its connection; a wrong one would break both. */
const reservedNames = new Set([
  'connection',
  'content-length',
  'expect',
  'keep-alive',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

/**
 * Compiles `retriever.headers`. What is filled in is percent-encoded where it is not printable ASCII (`%` itself and
 * spaces at an end too), so every text fits and none can add a field. A value that is one placeholder for a tag that
 * the query does not have leaves its field out. Unless configured, `accept` and, with a body, `content-type` are
 * `application/json`. The names of the fields come out in lower case.
 *
 * @throws RecalldError `config_invalid` for a name or value that HTTP does not allow. The sentence never holds the value.
 */
export function compileHeaders(
  headers: Readonly<Record<string, string>>,
  hasBody: boolean,
  configField = 'retriever',
): (request: RetrieverRequest) => Readonly<Record<string, string>> {
  const fields = Object.entries(headers).map(([name, value]) => {
    const field = `${configField}.headers.${name}`;
    checkName(name, field);
    const parts = parseTemplate(value.trim(), field);
    for (const part of parts) if (typeof part === 'string') checkLiteral(part, field);
    return { name: name.toLowerCase(), parts };
  });

  return (request) => {
    const rendered: Record<string, string> = { accept: 'application/json', 'user-agent': 'recalld' };
    if (hasBody) rendered['content-type'] = 'application/json';
    for (const { name, parts } of fields) {
      const [only] = parts;
      if (parts.length === 1 && typeof only === 'function' && only(request) === null) continue;
      rendered[name] = renderText(parts, request, encodeFieldText);
    }
    return rendered;
  };
}

function checkName(name: string, field: string): void {
  if (!/^[\w!#$%&'*+.^`|~-]+$/.test(name)) {
    throw new RecalldError('config_invalid', `${field}: this is not the name of an HTTP header field.`);
  }
  if (reservedNames.has(name.toLowerCase())) {
    throw new RecalldError('config_invalid', `${field}: this field follows from the request; remove it.`);
  }
}

function checkLiteral(value: string, field: string): void {
  // What HTTP lets through: tab, printable ASCII and the rest of Latin-1.
  if (!/^[\t\x20-\x7e\x80-\xff]*$/.test(value)) {
    throw new RecalldError(
      'config_invalid',
      `${field}: the value holds a line break, a control character or one outside Latin-1; remove it.`,
    );
  }
}

function encodeFieldText(value: string): string {
  return value.replace(/[^\x20-\x7e]+|%|^ +| +$/gu, (run) =>
    [...Buffer.from(run, 'utf8')]
      .map((byte) => `%${byte.toString(16).toUpperCase().padStart(2, '0')}`)
      .join(''),
  );
}
