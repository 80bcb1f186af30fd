import * as fc from 'fast-check';

/**
 * Properties draw the same inputs in every run, so that a change is judged by what it changed. `PROPERTY_SEED=$RANDOM
 * npm test` explores others; what it finds becomes an example of its own.
 */
fc.configureGlobal({ seed: Number(process.env['PROPERTY_SEED'] ?? 20_260_701) });
