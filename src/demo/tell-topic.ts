/** The uncovered topic of the story, as the daemon found it. */
import type { TimeLapse } from '../app/time-lapse.ts';
import { topicName, type UncoveredTopic } from '../density/rules/uncovered-topic.ts';
import { MISSING_TITLE } from './chapters.ts';
import { PIPELINE } from './demo-config.ts';
import { readDemoAnswers } from './rag/corpus.ts';
import { isOfMissingArticle } from './rag/fault.ts';
import { type Stage, tellPart } from './stage.ts';
import { questionOf } from './traffic.ts';

const EXAMPLES = 2;

/** @returns what is not as it should: most examples of the largest topic must be of the article that is missing */
export async function tellTopic({ topics }: TimeLapse, stage: Stage): Promise<readonly string[]> {
  const [topic] = await topics.list({ pipeline: PIPELINE, states: ['open'], limit: 5 });
  if (topic === undefined) {
    tellPart(stage, 'topic', 'none', 'red');
    return ['no uncovered topic was found.'];
  }
  const texts = await topics.texts(PIPELINE, topic.examples);
  const asked = topic.examples.slice(0, EXAMPLES).flatMap((id) => texts.get(id) ?? []);
  tellPart(stage, 'topic', `"${topicName(topic)}", ${shareText(topic)}: ${asked.join(' ')}`);
  const answers = await readDemoAnswers();
  const hits = topic.examples.filter((id) => isOfMissingArticle(answers.get(questionOf(id)) ?? ''));
  return 2 * hits.length > topic.examples.length
    ? []
    : [`only ${hits.length} of ${topic.examples.length} examples of the topic are about ${MISSING_TITLE}.`];
}

function shareText({ trafficShare, shareLow, shareHigh }: UncoveredTopic): string {
  return `${percent(trafficShare)} of the traffic (95 % ${percent(shareLow)} to ${percent(shareHigh)})`;
}

function percent(share: number): string {
  return `${(100 * share).toFixed(1)} %`;
}
