import { expect, it } from 'vitest';
import { topicIdsIn, withTopicNames } from '../../../../../src/incidents/diagnosis/rules/incident.ts';
import type { Sign } from '../../../../../src/incidents/diagnosis/rules/signs.ts';
import { aDiagnosis } from '../../../../support/builders.ts';

const topics: Sign = {
  name: 'topics',
  state: 'new_demand',
  sentence: 'Nobody asked about t-0f44e5208c (8 % of traffic), t-aaaaaaaaaa (2 % of traffic) before.',
  from: null,
  n: null,
};
const diagnosis = aDiagnosis({
  summary: 'People ask about t-0f44e5208c.',
  signs: [topics],
  ranked: [{ cause: 'uncovered_topic', probability: 0.9, supporting: [topics], opposing: [topics] }],
});

it('finds the topics in a diagnosis', () => {
  expect(topicIdsIn(diagnosis)).toEqual(['t-0f44e5208c', 't-0f44e5208c', 't-aaaaaaaaaa']);
});

it('shows topics by name in every text, and by id if they have no name', () => {
  const read = withTopicNames(diagnosis, new Map([['t-0f44e5208c', 'parental leave']]));
  const sentence = 'Nobody asked about "parental leave" (8 % of traffic), t-aaaaaaaaaa (2 % of traffic) before.';
  expect(read).toMatchObject({
    summary: 'People ask about "parental leave".',
    signs: [{ sentence }],
    ranked: [{ supporting: [{ sentence }], opposing: [{ sentence }] }],
  });
});
