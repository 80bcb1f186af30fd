/** docs/reference/errors.md: every error that a user or an operator can meet. */
import { exitCodeOfKind } from '../../src/cli/exit.ts';
import { type ErrorCode, errorTable, RecalldError } from '../../src/core/errors.ts';
import { problemOf } from '../../src/platform/http/wire.ts';
import { code, generatedPage, type Page, table } from './page.ts';

export function errorsPage(): Page {
  const codes = Object.keys(errorTable).filter((name): name is ErrorCode => name in errorTable);
  const rows = codes.map((name) => {
    const { kind, meaning } = errorTable[name];
    const isRetried = new RecalldError(name, meaning).retryable;
    return [
      code(name),
      meaning,
      `${problemOf(name, meaning).status}`,
      `${exitCodeOfKind[kind]}`,
      isRetried ? 'yes' : 'no',
    ];
  });
  return generatedPage(
    'docs/reference/errors.md',
    ['src/core/errors.ts'],
    [
      '# Errors',
      'Commands print one sentence that names the field, file or service and the way out, and end with the exit code. The HTTP API answers with a problem document (RFC 9457) that holds the same sentence as `detail` and the code as `code`. A job that fails is tried again only where a retry may help.',
      'Two more exit codes are no errors: 0 is success, and 1 means that a check failed. 70 is a bug of recalld.',
      table(['Code', 'Meaning', 'HTTP status', 'Exit code', 'Retried'], rows),
    ],
  );
}
