/** What tests ask of a fleet that runs golden sets: its database, its runs and whether it is ready. */
import { Client } from 'pg';
import type { FaultServer } from './fault-server.ts';
import type { Member } from './fleet.ts';
import type { OwnPostgres } from './own-postgres.ts';
import { waitFor } from './wait-for.ts';

/** Works with a connection of its own, past the gates of the fleet. */
export async function withDatabase<T>(
  { connection }: Pick<OwnPostgres, 'connection'>,
  ask: (client: Client) => Promise<T>,
): Promise<T> {
  const client = new Client(connection);
  client.on('error', () => undefined);
  await client.connect();
  try {
    return await ask(client);
  } finally {
    await client.end();
  }
}

/** A golden run that started after now has come to its end. */
export async function finishesARun(
  postgres: Pick<OwnPostgres, 'connection'>,
  patience: { readonly timeoutMs: number },
  status = 'completed',
): Promise<void> {
  const since = new Date();
  const sql = 'select from golden_runs where started_at > $1 and status = $2 limit 1';
  await waitFor(
    () =>
      withDatabase(postgres, async (client) => (await client.query(sql, [since, status])).rows.length > 0),
    patience,
  );
}

/** The retriever is being asked. */
export async function isMidRun(
  retriever: FaultServer,
  patience: { readonly timeoutMs: number },
): Promise<void> {
  const asked = retriever.requests.length;
  await waitFor(() => retriever.requests.length > asked + 5, patience);
}

/** Status and body of `/readyz`. */
export async function readiness({ daemon }: Member): Promise<string> {
  const response = await fetch(`${daemon.url}/readyz`);
  return `${response.status} ${await response.text()}`;
}
