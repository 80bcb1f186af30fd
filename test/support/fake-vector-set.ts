/** A stand-in for Redis vector sets; it compares vectors by brute force. */

import { type Resp, type RespServer, startRespServer, unknownCommand } from './fake-redis.ts';
import { type FakeIndex, type FakeRow, fakeIndex, ranked } from './fake-vector-index.ts';

/** @param version `8.0` lacks the commands that were added in 8.4 */
export function startFakeVectorSets(version: '8.0' | '8.4' = '8.4'): Promise<RespServer> {
  const sets = new Map<string, FakeIndex>();
  return startRespServer((name, args) => {
    const [key = '', ...rest] = args.map(String);
    const set = sets.get(key);
    switch (name) {
      case 'VADD': {
        const vector = float32(args[2]);
        const grown = set ?? fakeIndex('cosine', vector.length);
        sets.set(key, grown);
        grown.rows.set(rest[2] ?? '', { key: rest[2] ?? '', vector, fields: JSON.parse(rest[4] ?? '{}') });
        return 1;
      }
      case 'DEL':
        return Number(sets.delete(key));
      case 'VINFO':
        if (set === undefined) return null;
        return ['quant-type', 'f32', 'hnsw-m', 16, 'vector-dim', set.dimensions, 'size', set.rows.size];
      case 'VSIM':
        return set === undefined ? [] : similar(set, args, rest);
      case 'VRANGE':
        return version === '8.4' ? names(set, rest) : unknownCommand(name);
      case 'VCARD':
        return set?.rows.size ?? 0;
      case 'VRANDMEMBER':
        // If fewer vectors are requested than the set has, Redis walks the graph, so the sample is not uniform.
        return Number(rest[0]) < (set?.rows.size ?? 0) ? new Error('ERR not uniform') : [...(set?.rows.keys() ?? [])];
      case 'VEMB': {
        const vector = set?.rows.get(rest[0] ?? '')?.vector;
        return vector === undefined ? null : [...vector].map(String);
      }
      case 'VISMEMBER':
        return Number(set?.rows.has(rest[0] ?? '') === true);
      case 'VGETATTR': {
        const row = set?.rows.get(rest[0] ?? '');
        return row === undefined ? null : JSON.stringify(row.fields);
      }
      default:
        return unknownCommand(name);
    }
  });
}

function similar(set: FakeIndex, args: readonly Buffer[], rest: readonly string[]): Resp {
  const vector = float32(args[2]);
  if (vector.length !== set.dimensions) {
    return new Error(`ERR Vector dimension mismatch - got ${vector.length} but set has ${set.dimensions}`);
  }
  const count = Number(rest[rest.indexOf('COUNT') + 1]);
  const filter = rest.includes('FILTER') ? rest[rest.indexOf('FILTER') + 1] : undefined;
  const hits = ranked(set, [...vector], filter === undefined ? undefined : passes(filter)).slice(0, count);
  return hits.flatMap(({ row, cosine }) => [row.key, String((1 + cosine) / 2)]);
}

/**
 * Returns a predicate for a filter of the form `.name == "value" and ...`. A string ends at the next quotation mark of
 * the same kind as its first character.
 */
function passes(filter: string) {
  const conditions = [...filter.matchAll(/\.(\w+) == (?:"([^"]*)"|'([^']*)')/g)];
  const plain = conditions.map(([text]) => text).join(' and ');
  if (plain !== filter) throw new Error('the filter cannot be read');
  return ({ fields }: FakeRow) =>
    conditions.every(([, name = '', double, single]) => fields[name] === (double ?? single));
}

function names(set: FakeIndex | undefined, [start = '-', , count = '-1']: readonly string[]): Resp {
  const sorted = [...(set?.rows.keys() ?? [])].toSorted((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
  const after =
    start === '-'
      ? sorted
      : sorted.filter((name) => Buffer.compare(Buffer.from(name), Buffer.from(start.slice(1))) > 0);
  return after.slice(0, Number(count));
}

function float32(bytes: Buffer = Buffer.alloc(0)): Float32Array {
  return Float32Array.from({ length: bytes.length / 4 }, (_, place) => bytes.readFloatLE(place * 4));
}
