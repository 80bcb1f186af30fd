/** Entry point of the demo's RAG service in a container (docker-compose.yml). */
import process from 'node:process';
import { startRagService } from './rag-service.ts';

const PORT = 8080;

function log(line: string): void {
  process.stderr.write(`${line}\n`);
}

const service = await startRagService(log, { host: '0.0.0.0', port: PORT });
for (const signal of ['SIGTERM', 'SIGINT'] as const) {
  process.once(signal, () => {
    void service.stop().then(() => process.exit(0));
  });
}
