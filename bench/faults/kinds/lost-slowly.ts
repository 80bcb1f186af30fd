import { around, bySize, type FaultKind, some } from '../fault.ts';

export const kind: FaultKind = {
  name: 'lost-slowly',
  title: 'documents vanish one after the other, up to 1 % a minute',
  causes: ['index_lost_documents'],
  begin({ size, random, material }) {
    const order = some(material.rows, 1, random);
    const aMinute = around(random, bySize(size, 0.0015, 0.004, 0.01));
    return {
      goesOn: true,
      rows(rows, { minutes }) {
        const lost = new Set(order.slice(0, Math.round(Math.min(0.8, aMinute * minutes) * order.length)));
        return rows.filter((row) => !lost.has(row));
      },
    };
  },
};
