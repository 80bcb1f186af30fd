/** A segment of the manifest as the tags of a query. */
export function segmentTags(segment: string | null): Readonly<Record<string, string>> {
  const [, key, value] = /^([^=]+)=(.*)$/s.exec(segment ?? '') ?? [];
  return key === undefined || value === undefined ? {} : { [key]: value };
}
