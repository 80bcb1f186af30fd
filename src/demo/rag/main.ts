/**
 * Entry point of the RAG service's process. The process never outlives its parent: when the parent ends, the IPC
 * channel closes, and this process exits.
 */
import process from 'node:process';
import { type RagService, startRagService } from './rag-service.ts';
import type { ReadyMessage } from './spawn.ts';

/** Time after which the process exits even if it has not stopped. All data is in memory and may be lost. */
const STOP_DEADLINE_MS = 2_000;

let service: RagService | undefined;
let isStopping = false;

function log(line: string): void {
  process.stderr.write(`${line}\n`);
}

async function stop(): Promise<void> {
  if (isStopping) return;
  isStopping = true;
  setTimeout(() => process.exit(0), STOP_DEADLINE_MS);
  await service?.stop().catch(() => undefined);
  process.exit(0);
}

// If the parent was killed, writing to its pipe fails. Such a failure is not an error of this process.
process.stderr.on('error', () => undefined);
for (const event of ['SIGTERM', 'SIGINT', 'disconnect'] as const) process.on(event, () => void stop());
// The parent may have ended while the modules were loading, before the listeners were added.
if (!process.connected) void stop();

try {
  service = await startRagService(log);
  // Functions such as `stop` are not sent, because messages are serialized as JSON.
  process.send?.(service satisfies ReadyMessage);
} catch (error) {
  log(error instanceof Error ? error.message : String(error));
  process.exit(1);
}
