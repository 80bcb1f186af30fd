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

describe('terminalText', () => {
  it('prints the explanation of a row below it, and aligns numbers to the right', () => {
    const rows = [
      { name: 'ndcg@10', mean: 0.5512, reason: 'It is below 0.7.' },
      { name: 'mrr', mean: null, reason: null },
    ];
    const shown = table('Checks', rows, [
      ['Check', ({ name, reason }) => [name, reason !== null && why(reason)]],
      ['Value', ({ mean }) => (mean === null ? missing('none') : value(mean, 'score', 0.46, 0.64)), 'number'],
    ]);
    expect(text(shown).split('\n')).toEqual([
      'Check                Value',
      'ndcg@10  0.551 (0.46-0.64)',
      '  It is below 0.7.',
      'mrr                   none',
    ]);
  });

  it('prints links as their text, and omits forms', () => {
    const run = paragraph('See ', link('the run', '/runs/1'), ', ', strong('now'), '.');
    expect(text([run, ask('misses', 'Explain', 'Sends the queries again.')])).toBe('See the run, now.');
  });

  it('prints the title and status of a section, then facts as aligned lines', () => {
    const shown = section(
      'state',
      'Watch',
      { lead: 'The latest evaluation.', aside: badge('open', 'warning') },
      facts(
        fact('Since', time(NOON), age(new Date(NOON.getTime() - 7_200_000))),
        fact('Queries', 1234),
        fact('Verdict', ['critical', note('once')]),
      ),
    );
    expect(text(shown).split('\n')).toEqual([
      'Watch  open',
      'The latest evaluation.',
      'Since    2026-11-20 12:00Z (2 h ago)',
      'Queries  1\u202f234',
      'Verdict  critical (once)',
    ]);
  });

  it('marks evidence for and against a cause, and states what to do if there is no data', () => {
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
