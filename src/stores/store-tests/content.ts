/** What a store is made of and what it holds: description, ids, texts. */
import { MAX_CHUNKS, type StoreDescription } from '../vector-store.ts';
import { must, NotTried, type StoreSubject, type StoreTest, valueOf } from './subject.ts';

/** Ids that nobody gives a document; some would end a string of a filter language. */
const impossible = ['', `' or ''='`, '*', 'recalld-store-test-no-such-id', 'a "quoted" \\ id'];
const MAX_PAGES = 20;

async function described({ store, known, isWhole, description, signal }: StoreSubject): Promise<string> {
  const again: StoreDescription = valueOf(await store.describe(signal));
  must(JSON.stringify(again.traits) === JSON.stringify(description.traits), 'Its traits change while nothing happens.');
  must(description.traits['size_class'] !== undefined, 'Its traits have no size_class.');
  const { count, isExactCount, dimensions, metric } = again;
  const length = known[0]?.vector.length ?? dimensions;
  must(dimensions === length || dimensions === null, `It says ${dimensions} numbers and holds vectors of ${length}.`);
  const off = Math.abs(count - known.length) / Math.max(1, known.length);
  must(!isWhole || off <= (isExactCount ? 0 : 0.1), `It says that it holds ${count}, and holds ${known.length}.`);
  const about = isExactCount ? '' : 'about ';
  return `${about}${count} vectors of ${dimensions ?? 'unknown'} numbers under ${metric}, ${Object.keys(again.traits).length} traits.`;
}

async function existing({ store, known, isWhole, signal }: StoreSubject): Promise<string> {
  must(valueOf(await store.existing([], signal)).size === 0, 'Of no ids it knows some.');
  const there = new Set(known.map(({ id }) => id));
  const [first] = there;
  if (first === undefined) throw new NotTried('The store holds nothing to look up.');
  const near = [`${first} `, first.slice(0, -1), first.toUpperCase(), first.toLowerCase()];
  const absent = [...impossible, ...(isWhole ? near.filter((id) => !there.has(id)) : [])];
  const few = valueOf(await store.existing([first, ...absent], signal));
  must(few.size === 1 && few.has(first), 'It knows an id that is not there, or does not know one that is.');
  const many = Array.from({ length: 2500 }, (_, number) => `recalld-store-test-${number}`);
  const found = valueOf(await store.existing([...there, ...many], signal));
  must(found.size === there.size, `Of ${there.size} ids that are there it knows ${found.size}.`);
  must(
    [...found].every((id) => there.has(id)),
    'It knows an id that is not there.',
  );
  return `${there.size} ids known among ${there.size + many.length}.`;
}

async function listed({ store, known, isWhole, signal }: StoreSubject): Promise<string> {
  const ids: string[] = [];
  let from: string | null = null;
  let pages = 0;
  do {
    const page: { readonly ids: readonly string[]; readonly next: string | null } = valueOf(
      await store.list(from, signal),
    );
    ids.push(...page.ids);
    from = page.next;
    pages += 1;
  } while (from !== null && pages < MAX_PAGES);
  if (from !== null) return `The first ${ids.length} ids came in ${pages} pages.`;
  const all = new Set(ids);
  const lost = known.filter(({ id }) => !all.has(id)).length;
  must(lost === 0, `${lost} documents of the store are not listed.`);
  const strange = new Set(known.map(({ id }) => id));
  must(!isWhole || ids.every((id) => strange.has(id)), 'It lists an id that is not there.');
  must(!isWhole || ids.length <= known.length, 'It lists a document more often than it has chunks.');
  return `${all.size} ids in ${pages} ${pages === 1 ? 'page' : 'pages'}.`;
}

function textsOf(some: readonly { readonly content: string | null }[]): string {
  return JSON.stringify(some.map(({ content }) => content ?? '').toSorted());
}

async function chunks({ store, byId, isWhole, signal }: StoreSubject): Promise<string> {
  must(valueOf(await store.chunks([], signal)).length === 0, 'Of no documents it gives chunks.');
  const ids = [...byId.keys()].slice(0, 20);
  if (ids.length === 0) throw new NotTried('The store holds nothing to look up.');
  const found = valueOf(await store.chunks([...ids, ...impossible], signal));
  must(found.length <= MAX_CHUNKS, `It gives more than ${MAX_CHUNKS} chunks at a time.`);
  const asked = new Set(ids);
  must(
    found.every(({ id }) => asked.has(id)),
    'It gives chunks of documents that were not asked for.',
  );
  const given = new Set(found.map(({ id }) => id));
  must(given.size === ids.length || found.length === MAX_CHUNKS, `It gives chunks of ${given.size} of ${ids.length}.`);
  for (const id of isWhole ? ids : []) {
    const own = found.filter((chunk) => chunk.id === id);
    must(textsOf(own) === textsOf(byId.get(id) ?? []), 'A chunk comes with another text than its own.');
  }
  return `${found.length} chunks of ${ids.length} documents.`;
}

export const contentTests: readonly StoreTest[] = [
  { name: 'describe', does: 'says what it is made of, the same as long as nothing changes', run: described },
  { name: 'ids.existing', does: 'knows which ids are there, of none, of some and of thousands', run: existing },
  { name: 'ids.list', does: 'lists the ids of all documents, page by page', run: listed },
  { name: 'chunks', does: 'gives the chunks of some documents, and nothing of those that are not there', run: chunks },
];
