/** IP addresses. */
import { type Detector, findByRules, type Rule } from './detector.ts';

const octet = '(?:25[0-5]|2[0-4]\\d|1\\d\\d|[1-9]?\\d)';
/** Words before four numbers with dots that are no address. */
const numbered = '(?:versions?|ver|v|release|build|firmware|section|chapter|clause|paragraph|§)\\.?';

const rules: readonly Rule[] = [
  {
    // Four octets that are not part of a longer sequence (1.3.6.1.4.1), a version (v1.2.3.4, 1.2.3.4-rc1) or a name.
    pattern: new RegExp(
      `(?<![\\p{L}\\p{N}_.-])(?<!(?<!\\p{L})${numbered}[ :=]{1,2})(?:${octet}\\.){3}${octet}(?![\\p{L}\\p{N}_]|\\.\\d|-\\p{L})`,
      'giu',
    ),
    needs: '.',
  },
  {
    needs: ':',
    pattern:
      /(?<![\p{L}\p{N}_:.])(?<value>[0-9a-f:]{2,45}(?<![^:]:)(?:\.\d{1,3}){0,3})(?:%[0-9a-z]{1,16})?(?![\p{L}\p{N}_])/dgiu,
    accepts: isIpv6,
  },
];

/**
 * IPv4 addresses in dotted form and IPv6 addresses in every form of RFC 4291, the shortest ones that could as well be
 * code (`::1`, `a::b`, `[1::2]`) left alone.
 */
export const ip: Detector = { kind: 'ip', find: (text) => findByRules(text, rules) };

/** Eight groups of up to four hex digits, or fewer with one `::`; the last two may be an IPv4 address. */
function isIpv6(value: string): boolean {
  const dotted = /^(.*:)(\d{1,3}(?:\.\d{1,3}){3})$/.exec(value);
  if (dotted !== null && !new RegExp(`^(?:${octet}\\.){3}${octet}$`).test(dotted[2] ?? '')) return false;
  const groupsOnly = dotted === null ? value : `${dotted[1] ?? ''}ffff:ffff`;
  const halves = groupsOnly.split('::');
  if (halves.length > 2) return false;
  const groups = halves.flatMap((half) => (half === '' ? [] : half.split(':')));
  if (groups.some((group) => !/^[0-9a-f]{1,4}$/i.test(group))) return false;
  if (halves.length === 1) return groups.length === 8;
  const isPlain = groups.length >= 4 || groups.some((group) => group.length >= 3);
  return groups.length <= 7 && isPlain && /\d/.test(value);
}
