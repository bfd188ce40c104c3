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
