/** The telemetry of the AI SDK itself. */
import { exportingProvider } from './provider.mjs';

export async function start() {
  const provider = exportingProvider();
  return { withSession: (run) => run(), stop: () => provider.shutdown() };
}
