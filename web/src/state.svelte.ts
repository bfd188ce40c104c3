import { Failure, live as stream, hasToken, setToken, get, type History, type Sample } from './api';

/** Seconds that charts show: as long as the router's history. */
const KEPT = 3600;
/** Seconds without a sample after which what is shown is old. */
const SILENCE = 4;
/** Seconds after which a connection without samples is given up. */
const DEAD = 15;

const KEYS = ['rx', 'tx', 'rxBytes', 'txBytes', 'drops'] as const;
export type Series = Record<'time' | (typeof KEYS)[number], number[]>;

/** Recent entries of lines, by their kind: in memory, as some have keys, and until signing out. */
export const recent: Record<string, string[]> = {};

class Live {
  sample = $state.raw<Sample | null>(null);
  /** `out`: no token; `wrong`: refused; `waiting`, `on`, `lost`. */
  status = $state<'out' | 'wrong' | 'waiting' | 'on' | 'lost'>(hasToken() ? 'waiting' : 'out');
  why = $state('');
  version = $state('');
  readOnly = $state(false);
  /** The nodes of a path to show in the graph. */
  path = $state.raw<string[]>([]);
  tick = $state(0);
  /** Seconds since the last sample. */
  age = $state(0);
  /** By name of the interface; the empty name is all of them. Only those that are charted. */
  private series: Record<string, Series> = {};
  private heard = 0;
  private ending: AbortController | null = null;

  constructor() {
    setInterval(() => this.watch(), 1000);
  }

  async start() {
    this.ending?.abort();
    const ending = (this.ending = new AbortController());
    while (!ending.signal.aborted) {
      const trial = new AbortController();
      ending.signal.addEventListener('abort', () => trial.abort());
      this.heard = Date.now();
      const guard = setInterval(() => { if (Date.now() - this.heard > DEAD * 1000) trial.abort(); }, 1000);
      try {
        this.status = this.sample ? 'lost' : 'waiting';
        const about = await get('version', {}, trial.signal);
        this.version = String(about.version).split(' ').slice(0, 2).join(' ');
        this.readOnly = about.read_only;
        this.series = {};
        await stream(trial.signal, (s) => this.take(s));
        this.why = 'the router ended the connection';
      } catch (e) {
        if (ending.signal.aborted) return;
        const failed = e as Failure;
        this.why = trial.signal.aborted ? 'the router does not answer' : failed.message;
        if (failed.status === 401) { setToken(''); this.status = 'wrong'; return; }
      } finally {
        clearInterval(guard);
      }
      this.status = this.sample ? 'lost' : 'waiting';
      await new Promise((done) => setTimeout(done, 1500));
    }
  }

  leave() {
    this.ending?.abort();
    setToken('');
    for (const kind of Object.keys(recent)) delete recent[kind];
    this.sample = null;
    this.series = {};
    this.status = 'out';
  }

  /** Rates of the last hour; they go on as long as the page is open. */
  async chart(name: string): Promise<Series> {
    if (this.series[name]) return this.series[name];
    const none = (): Series => ({ time: [], rx: [], tx: [], rxBytes: [], txBytes: [], drops: [] });
    const series = (this.series[name] = none());
    try {
      const past: History = await get('history', { interface: name || undefined });
      const count = past.rx?.length ?? 0;
      const first = past.time - (count - 1) * past.step;
      const begun = series.time[0] ?? Infinity;
      const old = none();
      for (let at = 0; at < count; at++) {
        const time = first + at * past.step;
        if (time >= begun) break;
        old.time.push(time);
        KEYS.forEach((k) => old[k].push(past[k === 'rxBytes' ? 'rx_bytes' : k === 'txBytes' ? 'tx_bytes' : k][at]));
      }
      for (const k of Object.keys(series) as (keyof Series)[]) series[k].unshift(...old[k]);
      this.tick++;
    } catch { /* It begins now. */ }
    return series;
  }

  private watch() {
    if (!this.sample || this.status === 'out') return;
    this.age = Math.round((Date.now() - this.heard) / 1000);
    if (this.status === 'on' && this.age >= SILENCE) { this.status = 'lost'; this.why = 'the router does not answer'; }
  }

  private take(s: Sample) {
    this.sample = s;
    this.status = 'on';
    this.heard = Date.now();
    this.age = 0;
    if (s.interval > 0) {
      const sum = { rx: 0, tx: 0, rxBytes: 0, txBytes: 0, drops: 0 };
      for (const i of s.interfaces) {
        const now = { rx: i.rx_rate, tx: i.tx_rate, rxBytes: i.rx_byte_rate, txBytes: i.tx_byte_rate, drops: i.drop_rate };
        this.add(i.name, now);
        KEYS.forEach((k) => (sum[k] += now[k]));
      }
      this.add('', sum);
    }
    this.tick++;
  }

  private add(name: string, now: Record<(typeof KEYS)[number], number>) {
    const s = this.series[name];
    if (!s) return;
    const time = Date.now() / 1000;
    s.time.push(time);
    KEYS.forEach((k) => s[k].push(now[k]));
    while (s.time[0] < time - KEPT) for (const k of Object.keys(s) as (keyof Series)[]) s[k].shift();
  }
}

export const live = new Live();
if (hasToken()) live.start();
