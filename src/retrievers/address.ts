/** The address of a retriever: checked when the config is read, filled in for each query. */
import { RecalldError } from '../errors.ts';
import type { ExchangeTarget } from '../outbound/exchange.ts';
import type { RetrieverRequest } from './retriever.ts';
import { parseTemplate, renderText } from './template.ts';

export interface RetrieverAddress extends ExchangeTarget {
  /** The URL for one query, or null when a tag such as `..` would lead to another path than the configured one. */
  render(request: RetrieverRequest): string | null;
}

/**
 * Compiles `retriever.url`. What is filled in is percent-encoded, so it stays within its path segment or parameter.
 *
 * @throws RecalldError `config_invalid` for anything but an absolute http or https URL without user name, password
 * and fragment, and for a placeholder in the host: a query must not choose which machine is called.
 */
export function compileAddress(url: string, configField = 'retriever'): RetrieverAddress {
  const parts = parseTemplate(url, `${configField}.url`);
  const sample = checkedUrl(
    parts.map((part) => (typeof part === 'string' ? part : 'x')).join(''),
    configField,
  );
  const [head] = parts;
  const hasPlaceholder = parts.some((part) => typeof part === 'function');
  if (hasPlaceholder && !(typeof head === 'string' && /^\s*https?:\/\/[^/?\\]+[/?]/i.test(head))) {
    throw invalid(
      configField,
      'has a placeholder in the host; a placeholder can stand in the path and behind the "?" only',
    );
  }
  const label = (url.split('?')[0] ?? '').trim();
  const depth = pathDepth(sample);

  return {
    label,
    isSecure: sample.protocol === 'https:',
    configField,
    suspects: {
      400: 'body',
      401: 'headers',
      403: 'headers',
      404: 'url',
      405: 'method',
      415: 'headers',
      422: 'body',
    },
    render(request) {
      const rendered = new URL(renderText(parts, request, encodeComponent));
      return pathDepth(rendered) === depth ? rendered.href : null;
    },
    // The target is named in full only if its path is the configured one; any other path could repeat the query.
    describeRedirect(location) {
      if (!URL.canParse(location, sample.href)) return 'the final address';
      const target = new URL(location, sample.href);
      if (!label.includes('{{') && trimmedPath(target) === trimmedPath(sample)) {
        return `${target.origin}${target.pathname}`;
      }
      return `the final address (it leads to another path on ${target.origin})`;
    },
  };
}

function checkedUrl(text: string, configField: string): URL {
  let url: URL;
  try {
    url = new URL(text);
  } catch {
    throw invalid(configField, 'is not an absolute URL; write it like http://rag.internal/search');
  }
  if (url.protocol !== 'http:' && url.protocol !== 'https:') {
    throw invalid(configField, `has the scheme ${url.protocol}; only http: and https: can be called`);
  }
  if (url.username !== '' || url.password !== '') {
    throw invalid(
      configField,
      `holds a user name or a password; put them in ${configField}.headers.authorization`,
    );
  }
  if (url.href.includes('#')) {
    throw invalid(
      configField,
      'has a "#", and what follows it is never sent; write %23 for the character itself',
    );
  }
  return url;
}

function invalid(configField: string, problem: string): RecalldError {
  return new RecalldError('config_invalid', `${configField}.url: the URL ${problem}.`);
}

/** An encoded value holds no slash, so the number of segments changes only when `.` or `..` was resolved. */
function pathDepth(url: URL): number {
  return url.pathname.split('/').length;
}

function trimmedPath(url: URL): string {
  return url.pathname.replace(/\/+$/, '');
}

/** Percent-encoding of UTF-8. A lone surrogate, on which encodeURIComponent throws, becomes U+FFFD. */
function encodeComponent(value: string): string {
  return encodeURIComponent(Buffer.from(value, 'utf8').toString('utf8'));
}
