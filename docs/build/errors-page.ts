/** docs/reference/errors.md: every error that a user or an operator can see. */
import { exitCodeOfKind } from '../../src/cli/exit.ts';
import { type ErrorCode, errorTable, RecalldError, rejectionTable } from '../../src/core/errors.ts';
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
      'If a command fails, it prints one sentence that names the field, file or service and the fix, and exits with the exit code of the error. The HTTP API returns a problem document (RFC 9457) whose `detail` is the same sentence and whose `code` is the code of the error. recalld retries a failed job only if a retry may help.',
      'Exit code 0 is success, 1 means that a check failed, and 70 is a bug in recalld.',
      table(['Code', 'Meaning', 'HTTP status', 'Exit code', 'Retried'], rows),
      '## Rejected items',
      'If one query, feedback item or span is invalid, recalld still accepts the others. The response lists the rejected items with a code and a sentence that names the field and the fix. `recalld_ingest_rejected_total` counts rejected items by code.',
      table(
        ['Code', 'Meaning'],
        Object.entries(rejectionTable).map(([name, meaning]) => [code(name), meaning]),
      ),
    ],
  );
}
