import { within } from '../links.ts';
import type { Frame } from '../page.tsx';

interface PipelineChoiceProps {
  readonly frame: Frame;
  readonly path: string;
  readonly pipelines: readonly string[];
  readonly chosen: string | null;
}

/** Nothing to choose among fewer than two. */
export function PipelineChoice({ frame, path, pipelines, chosen }: PipelineChoiceProps) {
  if (pipelines.length < 2) return null;
  const item = (text: string, pipeline: string | null) => (
    <li key={text}>
      <a
        href={within(frame.range, path, { pipeline })}
        aria-current={pipeline === chosen ? 'true' : undefined}
      >
        {text}
      </a>
    </li>
  );
  return (
    <nav class="choices" aria-label="Pipelines">
      <ul>
        {item('All', null)}
        {pipelines.map((name) => item(name, name))}
      </ul>
    </nav>
  );
}
