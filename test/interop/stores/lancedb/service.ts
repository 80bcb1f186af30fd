/** Tables that LanceDB for Python writes and recalld reads. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import type { StoreService } from '../../../contract/vector-store-bench.ts';
import { openStore } from '../../../support/connectors.ts';

export function lanceDbService(folder: string, python: string): StoreService {
  let made = 0;
  return {
    url: folder,
    stop: async () => undefined,
    startOutage: () => Promise.reject(new Error('there is no connection that could fail')),
    async createIndex({ metric, dimensions }) {
      made += 1;
      const table = `recalld_test_${made}`;
      const write = async (action: string, rows: readonly unknown[] = []): Promise<void> => {
        const script = path.join(import.meta.dirname, 'write.py');
        const args = [script, folder, table, metric, String(dimensions), action];
        const writer = spawn(python, args, { stdio: ['pipe', 'inherit', 'inherit'] });
        writer.stdin.end(JSON.stringify(rows));
        const [code] = (await once(writer, 'exit')) as [number | null];
        if (code !== 0) throw new Error(`${action} of ${table} failed with ${code}`);
      };
      await write('create');
      return {
        async add(documents) {
          const rows = documents.map(({ id, vector, content, fields: { topic, language } }) => {
            return { id, vector: [...vector], text: content, topic, language };
          });
          if (rows.length > 0) await write('add', rows);
        },
        remove: (ids) => write('remove', ids),
        rebuild: () => write('index'),
        open: ({ url: uri, timeoutMs }) =>
          openStore({
            kind: 'lancedb',
            uri,
            table,
            id: 'id',
            embedding: 'vector',
            content: 'text',
            version: 'language',
            metric,
            timeout_ms: timeoutMs,
          }),
        drop: () => write('drop'),
      };
    },
  };
}
