import * as fc from 'fast-check';

/**
 * Properties use the same inputs in every run, so that a result changes only if the code changes.
 * `PROPERTY_SEED=$RANDOM npm test` explores other inputs; if it finds a failure, add the input as an example test.
 */
fc.configureGlobal({ seed: Number(process.env['PROPERTY_SEED'] ?? 20_260_701) });
