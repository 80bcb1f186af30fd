import { describe, expect, it } from 'vitest';
import type { Content } from '../../../src/report/model/content.ts';
import {
  age,
  ask,
  badge,
  empty,
  fact,
  facts,
  link,
  missing,
  note,
  paragraph,
  section,
  strong,
  table,
  time,
  tonedList,
  value,
  why,
} from '../../../src/report/model/show.ts';
import { terminalText } from '../../../src/report/terminal.ts';
import { NOON } from '../../support/builders.ts';

const text = (content: Content) => terminalText(content, NOON);

describe('content on a terminal', () => {
  it('has what explains a row of a table below the row, and numbers on the right', () => {
    const rows = [
      { name: 'ndcg@10', mean: 0.5512, reason: 'It is below 0.7.' },
      { name: 'mrr', mean: null, reason: null },
    ];
    const shown = table('Checks', rows, [
      ['Check', ({ name, reason }) => [name, reason !== null && why(reason)]],
      ['Value', ({ mean }) => (mean === null ? missing('none') : value(mean, 'score', 0.46, 0.64)), 'number'],
    ]);
    expect(text(shown).split('\n')).toEqual([
      'Check                   Value',
      'ndcg@10  0.551 (0.46 to 0.64)',
      '  It is below 0.7.',
      'mrr                      none',
    ]);
  });

  it('is the words of links alone, and nothing of what acts on a page', () => {
    const run = paragraph('See ', link('the run', '/runs/1'), ', ', strong('now'), '.');
    expect(text([run, ask('misses', 'Ask why now', 'It asks again.')])).toBe('See the run, now.');
  });

  it('heads a section by its title and its state, and names facts beside their values', () => {
    const shown = section(
      'state',
      'Watch',
      { lead: 'How it fares.', aside: badge('open', 'warning') },
      facts(
        fact('Since', time(NOON), age(new Date(NOON.getTime() - 7_200_000))),
        fact('Queries', 1234),
        fact('Came to', ['critical', note('once')]),
      ),
    );
    expect(text(shown).split('\n')).toEqual([
      'Watch  open',
      'How it fares.',
      'Since    2026-11-20 12:00Z (2 h ago)',
      'Queries  1\u202f234',
      'Came to  critical (once)',
    ]);
  });

  it('tells evidence for a cause from evidence against it, and says what to do where there is nothing', () => {
    const evidence = tonedList(
      'evidence',
      ['for', 'against'] as const,
      (side) => side,
      (side) => `${side} it`,
    );
    expect(text(evidence)).toBe('  + for it\n  - against it');
    expect(text(empty('Nothing was measured yet.', 'Send live queries.'))).toBe(
      'Nothing was measured yet. Send live queries.',
    );
  });
});
