/** A line of two texts side by side: of one, of the other, or of both. */
export interface Pair { left?: { at: number; text: string }; right?: { at: number; text: string }; same: boolean }

/** Lines of which no more are compared one by one. */
const MOST = 4000;

/** Lines that two texts have in common, by the longest run of them, and the others beside. */
export function sideBySide(before: string[], after: string[]): Pair[] {
  let head = 0;
  while (head < before.length && head < after.length && before[head] === after[head]) head++;
  let tail = 0;
  while (tail < before.length - head && tail < after.length - head && before[before.length - 1 - tail] === after[after.length - 1 - tail]) tail++;
  const a = before.slice(head, before.length - tail), b = after.slice(head, after.length - tail);
  const same = (i: number, j: number): Pair => ({ left: { at: i + 1, text: before[i] }, right: { at: j + 1, text: after[j] }, same: true });
  const rows: Pair[] = before.slice(0, head).map((_, i) => same(i, i));
  const common = a.length * b.length > MOST * MOST ? [] : matches(a, b);
  let [i, j] = [0, 0];
  for (const [x, y] of [...common, [a.length, b.length]]) {
    while (i < x || j < y) {
      rows.push({ left: i < x ? { at: head + i + 1, text: a[i] } : undefined, right: j < y ? { at: head + j + 1, text: b[j] } : undefined, same: false });
      if (i < x) i++;
      if (j < y) j++;
    }
    if (x < a.length) { rows.push(same(head + x, head + y)); i = x + 1; j = y + 1; }
  }
  for (let k = tail; k > 0; k--) rows.push(same(before.length - k, after.length - k));
  return rows;
}

function matches(a: string[], b: string[]): [number, number][] {
  const width = b.length + 1;
  const table = new Uint16Array((a.length + 1) * width);
  for (let i = a.length - 1; i >= 0; i--) for (let j = b.length - 1; j >= 0; j--) table[i * width + j] = a[i] === b[j] ? table[(i + 1) * width + j + 1] + 1 : Math.max(table[(i + 1) * width + j], table[i * width + j + 1]);
  const found: [number, number][] = [];
  for (let i = 0, j = 0; i < a.length && j < b.length;) {
    if (a[i] === b[j]) found.push([i++, j++]);
    else if (table[(i + 1) * width + j] >= table[i * width + j + 1]) i++;
    else j++;
  }
  return found;
}

/** The rows near a difference; `null` stands for those that are left out. */
export function folded(rows: Pair[], context = 3): (Pair | null)[] {
  const near = rows.map((_, i) => rows.slice(Math.max(0, i - context), i + context + 1).some((r) => !r.same));
  const out: (Pair | null)[] = [];
  rows.forEach((row, i) => { if (near[i]) out.push(row); else if (out.at(-1) !== null) out.push(null); });
  return out.length === 1 && out[0] === null ? [] : out;
}
