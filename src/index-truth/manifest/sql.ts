/** A manifest that a query to PostgreSQL gives. */
import { Client } from 'pg';
import { RecalldError } from '../../errors.ts';
import type { ManifestConfig } from '../config.ts';
import type { ManifestPart } from './source.ts';

type SqlConfig = Extract<ManifestConfig, { readonly kind: 'sql' }>;

const ROWS = 5000;

/** Through a cursor of a transaction that cannot write. The text of an error is not shown: it may hold what is in a row. */
export async function* readQuery(
  { url, query, timeout_ms: timeoutMs }: SqlConfig,
  configField: string,
  signal: AbortSignal,
): AsyncGenerator<ManifestPart> {
  const client = new Client({
    connectionString: url,
    connectionTimeoutMillis: 10_000,
    statement_timeout: timeoutMs,
    application_name: 'recalld manifest',
  });
  // A connection that breaks fails the statement; an error that nobody hears would end the process.
  client.on('error', () => undefined);
  const stop = (): void => void client.end().catch(() => undefined);
  signal.addEventListener('abort', stop, { once: true });
  const asked = async <T>(work: Promise<T>): Promise<T> => {
    try {
      return await work;
    } catch (error) {
      signal.throwIfAborted();
      const code = error instanceof Error && 'code' in error ? ` (${String(error.code)})` : '';
      throw new RecalldError('manifest_unreadable', `The query of ${configField} failed${code}; run it by hand.`);
    }
  };
  try {
    await asked(client.connect());
    await asked(client.query('begin read only'));
    const text = query.trim().replace(/;$/, '');
    await asked(
      client.query(`declare manifest no scroll cursor for select to_jsonb(d)::text as line from (${text}) as d`),
    );
    for (let line = 1; ; ) {
      const { rows } = await asked(client.query<{ line: string }>(`fetch ${ROWS} from manifest`));
      if (rows.length === 0) return;
      const first = line;
      const file = `the manifest of ${configField}`;
      yield { lines: rows.map((row, place) => ({ file, line: first + place, text: row.line })), next: null };
      line += rows.length;
    }
  } finally {
    signal.removeEventListener('abort', stop);
    await client.end().catch(() => undefined);
  }
}
