const UNITS = ['', 'k', 'M', 'G', 'T', 'P'];
function scaled(n: number): [string, string] {
  let unit = 0;
  while (n >= 999.5 && unit < UNITS.length - 1) { n /= 1000; unit++; }
  const digits = unit === 0 ? (n > 0 && n < 10 && !Number.isInteger(n) ? 1 : 0) : n < 9.995 ? 2 : n < 99.95 ? 1 : 0;
  return [n.toFixed(digits), UNITS[unit]];
}
export const short = (n: number) => scaled(n).join('');
const of = (n: number, unit: string) => scaled(n).join(' ') + unit;
export const whole = (n: number) => Math.round(n).toString().replace(/\B(?=(\d{3})+$)/g, ' ');
export const bits = (bytes: number) => of(bytes * 8, 'b/s');
export const pps = (n: number) => of(n, 'pps');
export const isDrop = (name: string) => /(^|-)drop$/.test(name) || name === 'punt' || name.endsWith('-punt');
export function since(unix: number): string {
  return new Date(unix * 1000).toLocaleString(undefined, { dateStyle: 'medium', timeStyle: 'medium' });
}
/** How long ago a time was, or how long something lasts. */
export function lasting(seconds: number): string {
  const units: [number, string][] = [[86400, 'd'], [3600, 'h'], [60, 'min']];
  const found = units.find(([n]) => seconds >= n);
  if (!found) return `${Math.max(0, Math.round(seconds))} s`;
  const [n, unit] = found;
  const count = Math.floor(seconds / n);
  const rest = Math.floor((seconds - count * n) / (n === 86400 ? 3600 : 60));
  return rest && n > 60 ? `${count} ${unit} ${rest} ${n === 86400 ? 'h' : 'min'}` : `${count} ${unit}`;
}
/** The first number in a text, behind what is before it: `tap2` comes before `tap10`. */
export const byName = (a: string, b: string) => a.localeCompare(b, undefined, { numeric: true });

/** Where a route leads, in the words of the field, from a bucket of `show ip fib`. */
export function leadsTo(bucket: string): string {
  const text = bucket.replace(/^\[@\d+\]: /, '').replace(/\s+/g, ' ').trim();
  const via = /(?:^|\b)(?:arp-)?ipv[46]:? via ([0-9a-f.:]+) ([^\s:]+)/i.exec(text);
  if (via) return `${via[1]} via ${via[2]}${text.startsWith('arp-') ? ' (neighbour not known yet)' : ''}`;
  const glean = /ipv[46]-glean: \[src:[^\]]*\] ([^\s:]+)/.exec(text);
  if (glean) return `directly connected, ${glean[1]}`;
  const local = /dpo-receive: ([0-9a-f.:]+) on ([^\s:]+)/.exec(text);
  if (local) return `this router, on ${local[2]}`;
  if (/dpo-receive/.test(text)) return 'this router';
  if (/dpo-drop/.test(text)) return 'dropped';
  if (/dpo-punt/.test(text)) return 'punted';
  const lookup = /lookup in .*?(?:table|fib)[^\d]*(\d+)/i.exec(text);
  return lookup ? `looked up in table ${lookup[1]}` : text;
}
/** The ways of a route with their shares: `a` of several counts as often as it stands there. */
export function waysOf(buckets: string[]): string[] {
  const counts = new Map<string, number>();
  for (const bucket of buckets) { const way = leadsTo(bucket); counts.set(way, (counts.get(way) ?? 0) + 1); }
  const all = [...counts];
  return all.length < 2 ? all.map(([way]) => way) : all.map(([way, n]) => `${way} · ${Math.round((100 * n) / buckets.length)} %`);
}
