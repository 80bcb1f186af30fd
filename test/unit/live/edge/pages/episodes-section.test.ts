import { expect, it } from 'vitest';
import { episodesSection } from '../../../../../src/live/edge/pages/episodes-section.ts';
import { episodeSteps, tallyEpisode } from '../../../../../src/live/rules/episodes.ts';
import { terminalText } from '../../../../../src/report/terminal.ts';
import { NOON } from '../../../../support/builders.ts';

function anEpisode(lists: readonly (readonly string[])[], cited: readonly string[] = []) {
  const steps = episodeSteps(
    lists.map((documentIds, place) => ({
      id: `q${place}`,
      episode: 'turn-9',
      text: `query ${place}`,
      originalText: 'where is my parcel',
      documentIds,
      outcome: documentIds.length === 0 ? ('empty' as const) : ('ok' as const),
      occurredAt: new Date(NOON.getTime() + place),
      receivedAt: NOON,
      step: null,
      segments: {},
      cluster: 0,
      rateProbability: 1,
      level: 0,
      upstreamProbability: 1,
    })),
  );
  const originalText = 'where is my parcel';
  return {
    id: 'turn-9',
    startedAt: NOON,
    originalText,
    steps,
    tally: tallyEpisode(steps),
    wasted: 2,
    cited: new Set(cited),
  };
}

it('shows for each step of an episode its new documents, the step that it repeats, or that it found nothing', () => {
  const shown = episodesSection([], [anEpisode([['a', 'b'], ['a', 'b'], ['c'], []])]);
  const text = terminalText(shown, NOON).replaceAll(/\s+/g, ' ');
  expect(text).toContain('where is my parcel (2 of 4 retrievals returned nothing new, 1 repeated, 1 empty)');
  expect(text).toMatch(
    /1 query 0 q0 2 a b no 2 query 1 q1 2 none step 1 3 query 2 q2 1 c no 4 query 3 q3 0 nothing found/,
  );
});

it('shows which documents of each step were cited if the episode has citations', () => {
  const shown = episodesSection([], [anEpisode([['a', 'b'], ['c', 'd', 'a'], ['d'], []], ['a', 'c', 'z'])]);
  const text = terminalText(shown, NOON).replaceAll(/\s+/g, ' ');
  expect(text).toMatch(
    /1 query 0 q0 2 a b no a 2 query 1 q1 3 c d no c a 3 query 2 q2 1 none nothing new none 4 query 3 q3 0 nothing found no none/,
  );
});

it('shows no section for a pipeline without episodes', () => {
  expect(episodesSection([], [])).toBeNull();
});
