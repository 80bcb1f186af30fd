/** `retriever.filter`: fields of a document that must have the values of the query's tags. */
import type { RetrieverRequest } from './retriever.ts';
import { parseTemplate, renderText } from './template.ts';

/**
 * Compiles the templates of a filter. A value that comes out empty, as that of a tag that the query does not have, is
 * left out, so that such a query is not filtered by this field.
 *
 * @param field path in the config that an error names
 * @throws RecalldError `config_invalid` for an unknown placeholder
 */
export function compileFilter(
  filter: Readonly<Record<string, string>>,
  field: string,
): (request: RetrieverRequest) => Readonly<Record<string, string>> {
  const entries = Object.entries(filter).map(
    ([name, template]) => [name, parseTemplate(template, `${field}.${name}`)] as const,
  );
  return (request) =>
    Object.fromEntries(
      entries
        .map(([name, parts]) => [name, renderText(parts, request, (text) => text)] as const)
        .filter(([, value]) => value !== ''),
    );
}
