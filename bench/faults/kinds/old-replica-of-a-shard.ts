import { hashText } from '../../../src/demo/rag/hashed-tfidf.ts';
import { around, bySize, type FaultKind } from '../fault.ts';
import { oldRows } from '../old-index.ts';
import { createSearch } from '../search.ts';

export const kind: FaultKind = {
  name: 'old-replica-of-a-shard',
  title: 'a part of the calls reads an old replica of some shards',
  causes: ['split_index', 'old_index'],
  begin({ size, random, material }) {
    const seed = random.below(1e9);
    const isOnShard = (id: string): boolean => hashText(id, seed) / 2 ** 32 < bySize(size, 0.3, 0.5, 0.75);
    const shard = material.rows.filter(({ id }) => isOnShard(id));
    const old = oldRows({ ...material, rows: shard }, 0.9, random);
    const rows = [...material.rows.filter(({ id }) => !isOnShard(id)), ...old];
    const searchReplica = createSearch(material.shape, rows, material.embed);
    const share = around(random, bySize(size, 0.35, 0.5, 0.5));
    return { search: (search) => (asked) => (random.uniform() < share ? searchReplica(asked) : search(asked)) };
  },
};
