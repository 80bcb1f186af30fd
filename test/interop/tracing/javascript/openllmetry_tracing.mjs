/** Starts OpenLLMetry's instrumentation of LlamaIndex.TS. */
import { LlamaIndexInstrumentation } from '@traceloop/instrumentation-llamaindex';
import * as llamaindex from 'llamaindex';
import { exportingProvider } from './provider.mjs';

export async function start() {
  const provider = exportingProvider();
  const instrumentation = new LlamaIndexInstrumentation();
  instrumentation.setTracerProvider(provider);
  instrumentation.manuallyInstrument(llamaindex);
  return { withSession: (run) => run(), stop: () => provider.shutdown() };
}
