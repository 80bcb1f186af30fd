/** The recalld.yaml of the demo. */

export const PIPELINE = 'demo';
export const GOLDEN_SET = 'xquad-en';
export const HEADLINE = 'ndcg@10';
export const RERUN_SECONDS = 15;

/** The floor is well below what the healthy service scores and well above what it scores with a third of its index gone. */
const FLOOR = 0.8;

/**
 * @param ragUrl where the demo's RAG service answers
 * @param port of the daemon; 0 takes a free one
 * @param folder holds the data folder
 */
export function demoConfig(ragUrl: string, port: number, folder: string) {
  return {
    server: { port },
    storage: { url: 'embedded', data_dir: `${folder}/data` },
    log: { level: 'warn' },
    pipelines: [
      {
        name: PIPELINE,
        retriever: {
          kind: 'http',
          url: `${ragUrl}/search`,
          body: { query: '{{text}}', k: '{{k}}' },
          results: { list: 'results', id: 'id', score: 'score' },
          timeout_ms: 2000,
        },
        golden: [
          { set: GOLDEN_SET, cron: `*/${RERUN_SECONDS} * * * * *`, concurrency: 4, max_per_second: 2000 },
        ],
        checks: [{ measure: HEADLINE, below: FLOOR, severity: 'critical' }],
      },
    ],
  };
}
