/** Parts of a page: a titled section, a note in place of what is not there, a list of facts. */
import type { ComponentChildren } from 'preact';
import { Sentence } from './values.tsx';

interface SectionProps {
  readonly id: string;
  readonly title: string;
  /** One line below the title: what this is and how to read it. */
  readonly lead?: ComponentChildren;
  /** Beside the title. */
  readonly aside?: ComponentChildren;
  readonly children: ComponentChildren;
}

export function Section({ id, title, lead, aside, children }: SectionProps) {
  return (
    <section class="panel" aria-labelledby={id}>
      <div class="panel-head">
        <h2 id={id}>{title}</h2>
        {aside === undefined ? null : <div class="panel-aside">{aside}</div>}
      </div>
      {lead === undefined ? null : <p class="lead">{lead}</p>}
      {children}
    </section>
  );
}

/** Why there is nothing to see, and what to do about it. */
export function Empty({ why, todo }: { readonly why: string; readonly todo?: ComponentChildren }) {
  return (
    <div class="empty">
      <p class="empty-why">
        <Sentence>{why}</Sentence>
      </p>
      {todo === undefined ? null : <p>{typeof todo === 'string' ? <Sentence>{todo}</Sentence> : todo}</p>}
    </div>
  );
}

export interface Fact {
  readonly name: string;
  readonly value: ComponentChildren;
  readonly detail?: ComponentChildren;
}

export function Facts({ facts }: { readonly facts: readonly Fact[] }) {
  return (
    <dl class="facts">
      {facts.map(({ name, value, detail }) => (
        <div key={name} class="fact">
          <dt>{name}</dt>
          <dd>{value}</dd>
          {detail === undefined ? null : (
            <dd class="fact-detail">{typeof detail === 'string' ? <Sentence>{detail}</Sentence> : detail}</dd>
          )}
        </div>
      ))}
    </dl>
  );
}
