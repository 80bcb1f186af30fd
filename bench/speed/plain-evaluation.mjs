// One evaluation of TREC files in a process of its own, by the reader of recalld or by a plain one:
//     node plain-evaluation.mjs DIST bytes|plain QRELS RUN METRICS
// The plain reader makes a string of each line and column, and a map of each query; it refuses nothing but wrong
// columns and numbers. Ordering, measures and intervals are those of recalld in both.
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';

const [dist, reader, qrelsPath, runPath, metrics] = process.argv.slice(2);
const load = (name) => import(pathToFileURL(path.join(dist, name)).href);
const { parseMetricKey } = await load('math/ir/metric-key.js');
const keys = metrics.split(',').map(parseMetricKey);

function linesOf(file, columns) {
  return readFileSync(file, 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => {
      const cells = line.split(/[ \t]+/);
      if (cells.length !== columns) throw new Error(`${file}: ${line}`);
      return cells;
    });
}

function numberIn(cell) {
  const value = Number(cell);
  if (!Number.isFinite(value)) throw new Error(cell);
  return value;
}

async function plainMeans() {
  const { createEvaluator } = await load('math/ir/evaluate.js');
  const { applyDuplicatePolicy, orderLikeTrecEval } = await load('math/ir/ranking.js');
  const { summarize } = await load('math/stats/descriptive.js');
  const judged = new Map();
  for (const [query, , document, grade] of linesOf(qrelsPath, 4)) {
    if (!judged.has(query)) judged.set(query, new Map());
    judged.get(query).set(document, numberIn(grade));
  }
  const results = new Map();
  for (const [query, , document, rank, score] of linesOf(runPath, 6)) {
    numberIn(rank);
    if (!results.has(query)) results.set(query, { ids: [], scores: [] });
    const { ids, scores } = results.get(query);
    ids.push(document);
    scores.push(numberIn(score));
  }
  const evaluate = createEvaluator(keys, 1);
  const columns = keys.map(() => new Float64Array(judged.size));
  let place = 0;
  for (const [query, judgments] of judged) {
    const found = results.get(query);
    if (found !== undefined) {
      const ranking = applyDuplicatePolicy(orderLikeTrecEval(found).ids, 'collapse', query).ranking;
      for (const [i, value] of evaluate(ranking, judgments).entries()) columns[i][place] = value;
    }
    place++;
  }
  return columns.map((column, i) => summarize(column, keys[i].measure).mean);
}

async function meansByBytes() {
  const { evaluateTrecFiles } = await load('golden/trec/score-runs.js');
  const request = { qrelsPath, runPath, keys, relevanceLevel: 1, duplicates: 'collapse' };
  const { metrics: scored } = await evaluateTrecFiles(request);
  return scored.map(({ summary }) => summary.mean);
}

const means = reader === 'plain' ? await plainMeans() : await meansByBytes();
const { user, system } = process.cpuUsage();
process.stdout.write(`${JSON.stringify({ means, ms: (user + system) / 1000 })}\n`);
