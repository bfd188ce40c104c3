import { Failure, live as stream, hasToken, setToken, get, type Sample } from './api';

const KEPT = 300;

export interface Series { time: number[]; rx: number[]; tx: number[]; rxBytes: number[]; txBytes: number[]; drops: number[] }

class Live {
  sample = $state.raw<Sample | null>(null);
  /** `out`: no token; `wrong`: refused; `waiting`, `on`, `lost`. */
  status = $state<'out' | 'wrong' | 'waiting' | 'on' | 'lost'>(hasToken() ? 'waiting' : 'out');
  why = $state('');
  version = $state('');
  readOnly = $state(false);
  /** The nodes of a path to show in the graph. */
  path = $state.raw<string[]>([]);
  /** By name of the interface; the empty name is all of them. */
  series: Record<string, Series> = {};
  tick = $state(0);
  private ending: AbortController | null = null;

  async start() {
    this.ending?.abort();
    const ending = (this.ending = new AbortController());
    while (!ending.signal.aborted) {
      try {
        this.status = this.sample ? 'lost' : 'waiting';
        const about = await get('version');
        this.version = String(about.version).split(' ').slice(0, 2).join(' ');
        this.readOnly = about.read_only;
        await stream(ending.signal, (s) => this.take(s));
      } catch (e) {
        if (ending.signal.aborted) return;
        const failed = e as Failure;
        this.why = failed.message;
        if (failed.status === 401) { setToken(''); this.status = 'wrong'; return; }
      }
      this.status = this.sample ? 'lost' : 'waiting';
      await new Promise((done) => setTimeout(done, 1500));
    }
  }

  leave() {
    this.ending?.abort();
    setToken('');
    this.sample = null;
    this.series = {};
    this.status = 'out';
  }

  private take(s: Sample) {
    this.sample = s;
    this.status = 'on';
    if (s.interval > 0) {
      const sum = { rx: 0, tx: 0, rxBytes: 0, txBytes: 0, drops: 0 };
      for (const i of s.interfaces) {
        const now = { rx: i.rx_rate, tx: i.tx_rate, rxBytes: i.rx_byte_rate, txBytes: i.tx_byte_rate, drops: i.drop_rate };
        this.add(i.name, now);
        for (const k of Object.keys(sum) as (keyof typeof sum)[]) sum[k] += now[k];
      }
      this.add('', sum);
    }
    this.tick++;
  }

  private add(name: string, now: { rx: number; tx: number; rxBytes: number; txBytes: number; drops: number }) {
    const s = (this.series[name] ??= { time: [], rx: [], tx: [], rxBytes: [], txBytes: [], drops: [] });
    s.time.push(Date.now() / 1000);
    for (const k of ['rx', 'tx', 'rxBytes', 'txBytes', 'drops'] as const) s[k].push(now[k]);
    if (s.time.length > KEPT) for (const k of Object.keys(s) as (keyof Series)[]) s[k].shift();
  }
}

export const live = new Live();
if (hasToken()) live.start();
