/** Sends recordings to a daemon, and compares what it stores with what the programs retrieved. */
import { contentId } from '../../../src/core/text/content-id.ts';
import type { Installation, InstalledDaemon } from '../../support/installation.ts';
import type { Recording, Retrieval } from './recording.ts';

/** The fields of a stored live query whose values the traced program also knows. */
export interface Stored {
  readonly query: string | null;
  readonly results: readonly (readonly [id: string | null, score: number | null])[];
  readonly error: string | null;
  readonly hasLatency: boolean;
  readonly hasSession: boolean;
}

/** A config with one pipeline for each recording, named after the service of the recording. */
export function configOf(recordings: readonly Pick<Recording, 'name' | 'tools'>[]): string {
  const pipelines = recordings.map(
    ({ name, tools = [] }) =>
      `  - {name: ${name}, retrieval_tools: [${tools.map((tool) => `{name: ${tool}}`).join(', ')}], retriever: {kind: http, url: "http://127.0.0.1:9/search"}, sampling: {rate: 1, max_per_minute: 1000000}, privacy: {text: keep, retention_days: 3650}}`,
  );
  return `server: {port: 0, max_requests_per_minute: 1000000}\npipelines:\n${pipelines.join('\n')}\n`;
}

/** Sends every request of a recording. Returns the messages of partial successes. */
export async function send(
  { requests }: Pick<Recording, 'requests'>,
  daemon: InstalledDaemon,
): Promise<readonly string[]> {
  const messages: string[] = [];
  for (const { path, contentType, contentEncoding, body } of requests) {
    const response = await daemon.fetch(path, {
      method: 'POST',
      headers: { 'content-type': contentType, 'content-encoding': contentEncoding },
      body: Uint8Array.from(Buffer.from(body, 'base64')),
    });
    if (response.status !== 200) throw new Error(`${path}: ${response.status} ${await response.text()}`);
    messages.push(await response.text());
  }
  return messages;
}

/** Returns the stored live queries of a recording, ordered by text, then by start. */
export async function stored({ name }: Pick<Recording, 'name'>, { query }: Installation): Promise<readonly Stored[]> {
  const rows = await query<{
    text: string | null;
    results: readonly [string, number | null][];
    error: string | null;
    latency_ms: number | null;
    is_of_session: boolean;
  }>(
    // A session contains several traces. Without a session id, each trace counts as its own session.
    `select text, results, error, latency_ms::float8,
            (select count(distinct trace_id) from live_queries as other
              where other.pipeline = $1 and other.session_hash = own.session_hash) > 1 as is_of_session
       from live_queries as own where pipeline = $1 order by occurred_at, id`,
    name,
  );
  const found = rows.map(
    (row): Stored => ({
      query: row.text,
      results: row.results.map(([id, score]) => [id, score]),
      // Spans name the error class with or without its module.
      error: row.error?.split('.').at(-1) ?? null,
      hasLatency: row.latency_ms !== null && row.latency_ms > 0,
      hasSession: row.is_of_session,
    }),
  );
  return found.toSorted(byQuery);
}

/** Returns the live queries that a recording must produce. */
export function expected({
  retrievals,
  missing,
  reason,
}: Pick<Recording, 'retrievals' | 'missing' | 'reason'>): readonly Stored[] {
  if (reason !== undefined) return [];
  const exported = retrievals.filter(({ error }) => error === null || !missing.includes('failure'));
  const retrieved = exported.map(
    ({ query, results, error, session }): Stored => ({
      query,
      results: results.map((result) => [
        idOf(result, missing.includes('id')),
        missing.includes('score') ? null : result.score,
      ]),
      error: error !== null && missing.includes('error') ? 'error' : error,
      hasLatency: true,
      hasSession: session !== null && !missing.includes('session'),
    }),
  );
  return retrieved.toSorted(byQuery);
}

function idOf({ id, text }: Retrieval['results'][number], isMissing: boolean): string | null {
  return id === null || isMissing ? contentId(text) : id;
}

/**
 * Orders retrievals by query, because the order of retrievals within one millisecond is not stored. Retrievals of the
 * same query keep their order.
 */
function byQuery(a: Stored, b: Stored): number {
  return (a.query ?? '').localeCompare(b.query ?? '');
}
