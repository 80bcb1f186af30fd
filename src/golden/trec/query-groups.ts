import type { Block } from './blocks.ts';

/**
 * Collects lines by their query id. The lines of a query mostly stand together, so the group of the last line is
 * tried first, by comparing bytes, before a string is made.
 */
export class QueryGroups<Group> {
  readonly byId = new Map<string, Group>();
  private readonly newGroup: () => Group;
  private last: { readonly id: Uint8Array; readonly group: Group } | undefined;

  constructor(newGroup: () => Group) {
    this.newGroup = newGroup;
  }

  /** The group of the query id in `[start, end)` of the block, a new one if it has none. */
  of(block: Block, start: number, end: number): Group {
    if (this.last !== undefined && holds(block.bytes, start, end, this.last.id)) return this.last.group;
    const id = block.slice(start, end);
    let group = this.byId.get(id);
    if (group === undefined) {
      group = this.newGroup();
      this.byId.set(id, group);
    }
    this.last = { id: Uint8Array.from(block.bytes.subarray(start, end)), group };
    return group;
  }
}

function holds(bytes: Uint8Array, start: number, end: number, value: Uint8Array): boolean {
  if (end - start !== value.length) return false;
  for (let i = 0; i < value.length; i++) {
    if (bytes[start + i] !== value[i]) return false;
  }
  return true;
}
