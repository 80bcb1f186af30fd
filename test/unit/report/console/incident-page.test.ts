import { describe, expect, it } from 'vitest';
import { incidentPage } from '../../../../src/incidents/diagnosis/edge/pages/incident-page.ts';
import { type IncidentPageData, relevantRanks } from '../../../../src/incidents/diagnosis/edge/pages/incident-reads.ts';
import { type Incident, updateTimelines } from '../../../../src/incidents/diagnosis/rules/incident.ts';
import { sign } from '../../../../src/incidents/diagnosis/rules/signs.ts';
import { terminalText } from '../../../../src/report/terminal.ts';
import { aDeployment, anAlert, anIncident, NOON } from '../../../support/builders.ts';

const HOUR_MS = 3_600_000;

const low = anAlert({ rule: 'RecalldCheckCritical', headline: 'nDCG@10 on faq 0.55, below 0.7' });
const lost = anIncident({
  cause: 'index_lost_documents',
  timeline: updateTimelines([], [low], NOON),
  ranked: [
    {
      cause: 'index_lost_documents',
      probability: 0.97,
      supporting: [
        sign('store_size', 'fell', 'The store holds 144 vectors.', { before: 219, now: 144, unit: 'count' }),
        sign('gone_documents', 'lost', 'Nothing replaced 28 documents.'),
      ],
      opposing: [sign('latency', 'rose', 'Slower.', { before: 80, now: 900, unit: 'ms' })],
    },
  ],
});

function dataOf(incident: Incident, parts: Partial<IncidentPageData> = {}): IncidentPageData {
  return {
    incident,
    lastGoodAt: null,
    deployments: [],
    chart: null,
    golden: null,
    live: null,
    messages: [],
    notes: [],
    reliability: [],
    silences: [],
    now: NOON,
    ...parts,
  };
}

const textOf = (data: IncidentPageData) =>
  terminalText(incidentPage(data).content, NOON)
    .split('\n')
    .map((line) => line.replaceAll(/\s+/g, ' ').trim());

describe('the page of an incident', () => {
  it('is titled by its likely cause and its symptom', () => {
    expect(incidentPage(dataOf(lost)).title).toBe('Documents missing from the index: nDCG@10 on faq 0.55, below 0.7');
    expect(incidentPage(dataOf(anIncident({ cause: 'retriever_outage' }))).title).toBe('Retriever down (HTTP 503)');
    expect(incidentPage(dataOf({ ...lost, cause: 'unknown' })).title).toBe(
      'NDCG@10 on faq 0.55, below 0.7 (cause unknown)',
    );
  });

  it('shows each piece of evidence with its values before and now, and marks evidence against the cause', () => {
    const lines = textOf(dataOf(lost));
    expect(lines).toContain('Vectors in the store 219 144');
    expect(lines.find((line) => line.startsWith('Golden latency, p95'))).toMatch(/against this cause 80 ms 900 ms$/);
  });

  it('states when the last good run was and what was deployed after that run', () => {
    const lastGoodAt = new Date(NOON.getTime() - 2 * HOUR_MS);
    const deployment = aDeployment({ version: 'v8', occurredAt: new Date(NOON.getTime() - HOUR_MS), note: 'ef 40' });
    const text = textOf(dataOf(lost, { lastGoodAt, deployments: [deployment] })).join(' ');
    expect(text).toMatch(/Last good run \S+ \S*10:00/);
    expect(text).toMatch(/What changed \(\S+ 11:00Z\): Retriever v8 was deployed: ef 40\./);
    expect(textOf(dataOf(lost, { lastGoodAt })).join(' ')).toContain(
      'recalld knows of no deployment since the last good run.',
    );
  });

  it('lists the notified receivers with times, and marks messages that were not delivered', () => {
    const receiver = { kind: 'slack' } as NonNullable<IncidentPageData['messages'][number]['receiver']>;
    const sentAt = new Date(NOON.getTime() + 20_000);
    const message = { receiver, dueAt: NOON, attempts: 1, sentAt, givenUpAt: null } as const;
    const lines = textOf(
      dataOf(lost, {
        messages: [
          { ...message, event: 'opened' },
          { ...message, event: 'closed', sentAt: null, givenUpAt: new Date(NOON.getTime() + HOUR_MS) },
        ],
      }),
    );
    expect(lines.find((line) => line.includes('first message'))).toMatch(/slack first message sent$/);
    expect(lines.find((line) => line.includes('resolution'))).toMatch(/slack resolution not delivered$/);
  });

  it('shows how a user marked the cause, and how often causes of this confidence were right', () => {
    const mark = {
      cause: 'index_lost_documents',
      confidence: 'high',
      isRight: false,
      actualCause: 'filter',
      markedAt: NOON,
      markedBy: 'ann',
    } as const;
    const reliability = [{ confidence: 'high', marked: 12, right: 11, share: 11 / 12, ciLow: 0.6, ciHigh: 1 }] as const;
    const text = textOf(dataOf({ ...lost, mark }, { reliability })).join(' ');
    expect(text).toContain('marked as wrong by ann');
    expect(text).toContain('Actual cause: a filter drops documents');
    expect(text).toContain('Users marked 12 high-confidence causes, 11 of them as right.');
  });
});

it('shows ranks of relevant documents before and now, the best earlier rank first', () => {
  const judgments = ['a', 'b', 'c', 'd'].map((documentId) => ({ documentId, grade: documentId === 'd' ? 0 : 1 }));
  const ranked = (...ids: string[]) => ids.map((id) => ({ id, score: null }));
  expect(relevantRanks(judgments, ranked('b', 'x', 'a'), ranked('d', 'a', 'c'))).toEqual([
    { documentId: 'b', before: 1, now: null },
    { documentId: 'a', before: 3, now: 2 },
    { documentId: 'c', before: null, now: 3 },
  ]);
});
