/** Records what the program itself retrieved, one entry per retrieval, for comparison with its spans. */
import { readFile } from 'node:fs/promises';

export const SESSION = 'session-7';

const retrievals = [];

/** Results are `{id, text, score}`, best first. */
export function retrieved(name, query, results, error = null) {
  const listed = results.map(({ id, text, score = null }) => ({ id, text, score }));
  retrievals.push({ case: name, query, results: listed, error, session: SESSION });
}

export async function write(packages) {
  const versions = {};
  for (const name of packages) {
    const file = new URL(`../node_modules/${name}/package.json`, import.meta.url);
    versions[name] = JSON.parse(await readFile(file, 'utf8')).version;
  }
  process.stdout.write(JSON.stringify({ runtime: `Node.js ${process.versions.node}`, versions, retrievals }));
}
