import { bySize, type FaultKind, some } from '../fault.ts';

export const kind: FaultKind = {
  name: 'lost-topic',
  title: 'the documents of one topic vanish',
  causes: ['index_lost_documents', 'one_segment'],
  begin({ size, random, material }) {
    const topics = [...new Set(material.rows.map(({ topic }) => topic))];
    const topic = topics[random.below(topics.length)];
    const share = bySize(size, 0.35, 0.65, 1);
    const lost = new Set(
      some(
        material.rows.filter((row) => row.topic === topic),
        share,
        random,
      ),
    );
    return { rows: (rows) => rows.filter((row) => !lost.has(row)) };
  },
};
