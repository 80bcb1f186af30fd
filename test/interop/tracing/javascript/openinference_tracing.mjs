/** Starts OpenInference's instrumentation of LangChain.js. */
import { setSession } from '@arizeai/openinference-core';
import { LangChainInstrumentation } from '@arizeai/openinference-instrumentation-langchain';
import * as callbackManager from '@langchain/core/callbacks/manager';
import { awaitAllCallbacks } from '@langchain/core/callbacks/promises';
import { context } from '@opentelemetry/api';
import { exportingProvider } from './provider.mjs';
import { SESSION } from './recorder.mjs';

export async function start() {
  const provider = exportingProvider();
  new LangChainInstrumentation({ tracerProvider: provider }).manuallyInstrument(callbackManager);
  return {
    withSession: (run) => context.with(setSession(context.active(), { sessionId: SESSION }), run),
    // LangChain ends its spans in the background.
    stop: () => awaitAllCallbacks().then(() => provider.shutdown()),
  };
}
