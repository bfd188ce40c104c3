// The router's API. The token stays in this tab.

export interface Thread { thread: number; name: string; cpu: number | null; packets: number; rate: number; vector: number }
export interface GraphNode { index: number; name: string; input: boolean; calls: number; packets: number; clocks: number; rate: number; clocks_per_packet: number; vector: number }
export interface Edge { from: string; to: string; packets: number; rate: number }
export interface Interface {
  index: number; name: string; up: boolean; link: boolean; rx_packets: number; rx_bytes: number; tx_packets: number;
  tx_bytes: number; drops: number; punt: number; rx_rate: number; rx_byte_rate: number; tx_rate: number; tx_byte_rate: number; drop_rate: number;
}
/** Numbers of the router's state: those of the family `name` in /metrics. */
export type State = Record<string, { labels: Record<string, string>; value: number }[]>;
/** What the router's checks find, as of the last seconds. */
export interface Health { healthy: boolean; findings: Finding[] }
export async function overview(): Promise<{ numbers: State; health: Health | null }> {
  const { health, ...numbers } = await get('overview');
  return { numbers, health };
}
/** Rates of the last hour, every `step` seconds; the last one is of `time`. */
export type History = { step: number; time: number } & Record<string, number[]>;
export interface Route { prefix: string; sources: string[]; buckets: string[]; packets?: number; bytes?: number; table_id?: number }
export interface Finding { severity: string; check: string; subject: string; text: string }
export interface Counter { node: string; reason: string; severity: string; count: number; rate: number }
export interface Sample { time: number; interval: number; threads: Thread[]; nodes: GraphNode[]; edges: Edge[]; interfaces: Interface[]; counters: Counter[] }

export class Failure extends Error {
  constructor(public status: number, message: string) { super(message); }
}

const KEY = 'ferrovia-token';
let token = sessionStorage.getItem(KEY) ?? '';
const fragment = new URLSearchParams(location.hash.slice(1));
if (fragment.has('token')) {
  token = fragment.get('token')!;
  sessionStorage.setItem(KEY, token);
  history.replaceState(null, '', location.pathname);
}

export const hasToken = () => token !== '';
export function setToken(now: string) {
  token = now.trim();
  if (token) sessionStorage.setItem(KEY, token); else sessionStorage.removeItem(KEY);
}

async function send(method: string, path: string, body?: unknown, signal?: AbortSignal): Promise<Response> {
  const headers: Record<string, string> = { Authorization: `Bearer ${token}` };
  if (body !== undefined) headers['Content-Type'] = 'application/json';
  let answer: Response;
  try {
    answer = await fetch(path, { method, headers, signal, body: body === undefined ? undefined : JSON.stringify(body) });
  } catch (e) {
    throw new Failure(0, (e as Error).name === 'AbortError' ? 'ended' : 'the router does not answer');
  }
  if (answer.ok) return answer;
  let why = answer.statusText;
  try { why = (await answer.json()).error ?? why; } catch { /* no words */ }
  throw new Failure(answer.status, why);
}

/* eslint-disable @typescript-eslint/no-explicit-any */
export const get = async (path: string, query: Record<string, string | number | undefined> = {}, signal?: AbortSignal): Promise<any> => {
  const given = Object.entries(query).filter(([, v]) => v !== undefined && v !== '').map(([k, v]) => [k, String(v)]);
  const text = new URLSearchParams(given).toString();
  return (await send('GET', `/api/v1/${path}${text ? `?${text}` : ''}`, undefined, signal)).json();
};
export const post = async (path: string, body: unknown = {}): Promise<any> => (await send('POST', `/api/v1/${path}`, body)).json();
export const remove = async (path: string): Promise<any> => (await send('DELETE', `/api/v1/${path}`)).json();
export const file = async (path: string): Promise<Blob> => (await send('GET', `/api/v1/${path}`)).blob();
export const cli = (command: string, format: 'text' | 'json' = 'text') => post('cli', { command, format });

// Samples as they come, until the signal.
export async function live(signal: AbortSignal, take: (s: Sample) => void): Promise<void> {
  const answer = await send('GET', '/api/v1/statistics/live', undefined, signal);
  const reader = answer.body!.pipeThrough(new TextDecoderStream()).getReader();
  let text = '';
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    text += value;
    let end: number;
    while ((end = text.indexOf('\n\n')) >= 0) {
      const event = text.slice(0, end);
      text = text.slice(end + 2);
      const data = event.split('\n').find((line) => line.startsWith('data: '));
      if (data) take(JSON.parse(data.slice(6)));
    }
  }
}
