/** Starts the AI SDK's own telemetry. */
import { exportingProvider } from './provider.mjs';

export async function start() {
  const provider = exportingProvider();
  return { withSession: (run) => run(), stop: () => provider.shutdown() };
}
