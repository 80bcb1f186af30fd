import { bySize, type FaultKind, some } from '../fault.ts';

export const kind: FaultKind = {
  name: 'topic-mix',
  title: 'users ask about some topics more than before',
  causes: [],
  begin({ size, random, material }) {
    const topics = some([...new Set(material.rows.map(({ topic }) => topic))], 0.4, random);
    const share = bySize(size, 0.2, 0.35, 0.5);
    return {
      traffic: (draw) => () => {
        const draws = random.uniform() < share ? 50 : 1;
        let ask = draw();
        for (let at = 1; at < draws && !topics.includes(ask.query.topic); at++) ask = draw();
        return ask;
      },
    };
  },
};
