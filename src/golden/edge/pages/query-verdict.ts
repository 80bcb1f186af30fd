import { formatValue, plural } from '../../../core/format.ts';
import type { Judgment } from '../../../core/model.ts';
import { causeTexts } from '../../../incidents/diagnosis/rules/cause.ts';
import type { Incident } from '../../../incidents/diagnosis/rules/incident.ts';
import { verdictWords } from '../../../incidents/explain/answers.ts';
import { incidentPath } from '../../../report/console/links.ts';
import type { Content } from '../../../report/model/content.ts';
import { documentId, link, paragraph, strong, styledParagraph } from '../../../report/model/show.ts';
import type { DocumentFate } from '../../rules/labels.ts';
import type { QueryPageData } from './golden-reads.ts';
import type { RankedDocument, sideBySide } from './query-sides.ts';

/** Maximum number of documents that a sentence names. */
const MAX_NAMED = 3;

export function queryVerdict(
  data: QueryPageData,
  sides: ReturnType<typeof sideBySide>,
  incident: Incident | null,
): Content {
  return [
    styledParagraph('cause', strong(outcomeOf(data))),
    movesOf(data, sides).map((sentence) => paragraph(sentence)),
    reasonsOf(data, sides, incident).map((sentence) => paragraph(sentence)),
  ];
}

function shown(score: number): string {
  return formatValue(score, 'score');
}

function outcomeOf({ query, after, before }: QueryPageData): string {
  const { answer, scores, run } = after;
  if (answer === null) return 'This run has no results for the query.';
  if (answer.outcome === 'error' || answer.outcome === 'timeout')
    return `The retriever failed (${(answer.errorCode ?? answer.outcome).replaceAll('_', ' ')}).`;
  const returned = answer.documents.length;
  if (query.noAnswer === true)
    return returned === 0
      ? 'The retriever returned nothing, which is correct: no document answers the query.'
      : `The retriever returned ${plural(returned, 'document')} although no document answers the query.`;
  const k = Math.max(...run.settings.cutoffs);
  const now = scores[`ndcg@${k}`] ?? 0;
  const old = before?.scores[`ndcg@${k}`];
  const tail = returned === 0 ? ': the retriever returned nothing' : '';
  if (before === null || before.answer === null || old === undefined) return `nDCG@${k} is ${shown(now)}${tail}.`;
  if (shown(old) === shown(now)) return `nDCG@${k} is unchanged: ${shown(now)}${tail}.`;
  return `nDCG@${k} ${now < old ? 'dropped' : 'rose'} from ${shown(old)} to ${shown(now)}${tail}.`;
}

function movesOf({ before }: QueryPageData, sides: ReturnType<typeof sideBySide>): Content[] {
  if (before === null || before.answer === null) return [];
  const relevant = sides.before.filter(({ grade }) => grade !== null && grade > 0);
  const gone = relevant.filter(({ otherRank }) => otherRank === null);
  const down = relevant.filter(({ rank, otherRank }) => otherRank !== null && otherRank > rank);
  const up = relevant.filter(({ rank, otherRank }) => otherRank !== null && otherRank < rank);
  const found = sides.after.filter(({ grade, otherRank }) => grade !== null && grade > 0 && otherRank === null);
  return [
    ...sentence('No longer returned: ', gone, ({ rank }) => ` (previously rank ${rank})`),
    ...sentence('Moved down: ', down, ({ rank, otherRank }) => ` (rank ${rank} to ${otherRank})`),
    ...sentence('Moved up: ', up, ({ rank, otherRank }) => ` (rank ${rank} to ${otherRank})`),
    ...sentence('Newly returned: ', found, ({ rank }) => ` (rank ${rank})`),
  ];
}

function sentence(
  start: string,
  documents: readonly RankedDocument[],
  rankOf: (document: RankedDocument) => string,
): Content[] {
  if (documents.length === 0) return [];
  const more = documents.length - MAX_NAMED;
  return [
    [
      start,
      documents.slice(0, MAX_NAMED).map((one, index) => [index > 0 && ', ', documentId(one.id), rankOf(one)]),
      more > 0 && ` and ${more} more`,
      '.',
    ],
  ];
}

const fateWords: Readonly<Record<DocumentFate, string>> = {
  lost: 'missing from the store',
  superseded: 'in the store under another id',
  deleted: 'deleted in the manifest',
};

function goneSentences(gone: readonly Judgment[], fates: QueryPageData['fates']): Content[] {
  return Object.entries(fateWords).flatMap(([fate, words]): Content[] => {
    const ids = gone.flatMap(({ documentId: id }) => (fates.get(id) === fate ? id : [])).slice(0, MAX_NAMED);
    return ids.length === 0
      ? []
      : [[`Why: ${words}: `, ids.map((id, index) => [index > 0 && ', ', documentId(id)]), '.']];
  });
}

function reasonsOf(
  { fates, explained }: QueryPageData,
  { missed }: ReturnType<typeof sideBySide>,
  incident: Incident | null,
): Content[] {
  const ids = new Set(missed.map(({ documentId: id }) => id));
  const why = (explained ?? []).filter(({ document }) => ids.has(document)).slice(0, MAX_NAMED);
  const gone = missed.filter(({ documentId: id }) => fates.has(id));
  return [
    ...why.map((one): Content => ['Why: ', documentId(one.document), ' ', verdictWords(one), '. ', one.action]),
    ...(why.length > 0 ? [] : goneSentences(gone, fates)),
    ...(incident === null
      ? []
      : [
          [
            incident.cause === 'unknown' ? 'The run was part of an incident with an unknown cause' : 'Likely cause: ',
            incident.cause !== 'unknown' && strong(causeTexts[incident.cause].title),
            ' (',
            link(`incident ${incident.id}`, incidentPath(incident.id)),
            ').',
          ],
        ]),
  ];
}
