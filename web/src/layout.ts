import dagre from '@dagrejs/dagre';
import type { Sample } from './api';

export interface Place { name: string; x: number; y: number; input: boolean }
export interface Line { from: string; to: string; d: string; x: number; y: number }
export interface Layout { width: number; height: number; places: Place[]; lines: Line[] }

export const BOX = { width: 178, height: 60 };

/** Nodes and edges that packets took; `shown` chooses the nodes. */
export function drawn(s: Sample, shown: (name: string) => boolean): { nodes: { name: string; input: boolean }[]; edges: { from: string; to: string }[] } {
  const nodes = s.nodes.filter((n) => n.packets > 0 && shown(n.name)).map((n) => ({ name: n.name, input: n.input }));
  const names = new Set(nodes.map((n) => n.name));
  const edges = s.edges.filter((e) => names.has(e.from) && names.has(e.to));
  return { nodes, edges };
}

export const keyOf = (s: Sample, down: boolean, shown: (name: string) => boolean) => {
  const { nodes, edges } = drawn(s, shown);
  return `${down} ${nodes.map((n) => n.name).sort().join()} ${edges.map((e) => `${e.from}>${e.to}`).sort().join()}`;
};

export function layout(s: Sample, down: boolean, shown: (name: string) => boolean): Layout {
  const g = new dagre.graphlib.Graph();
  g.setGraph({ rankdir: down ? 'TB' : 'LR', nodesep: down ? 18 : 20, ranksep: down ? 44 : 58, marginx: 14, marginy: 14 });
  g.setDefaultEdgeLabel(() => ({}));
  const { nodes, edges } = drawn(s, shown);
  for (const n of nodes) g.setNode(n.name, { ...BOX });
  for (const e of edges) g.setEdge(e.from, e.to);
  dagre.layout(g);
  const places = nodes.map((n) => ({ ...n, x: g.node(n.name).x, y: g.node(n.name).y }));
  const lines = edges.map((e) => {
    const points = g.edge(e.from, e.to).points as { x: number; y: number }[];
    const middle = points[Math.floor(points.length / 2)];
    return { ...e, d: curve(points), x: middle.x, y: middle.y };
  });
  const size = g.graph();
  return { width: size.width ?? 0, height: size.height ?? 0, places, lines };
}

/** A line through points, round at each. */
function curve(p: { x: number; y: number }[]): string {
  let d = `M${p[0].x.toFixed(1)},${p[0].y.toFixed(1)}`;
  for (let i = 1; i < p.length - 1; i++) {
    const x = i === p.length - 2 ? p[i + 1].x : (p[i].x + p[i + 1].x) / 2;
    const y = i === p.length - 2 ? p[i + 1].y : (p[i].y + p[i + 1].y) / 2;
    d += ` Q${p[i].x.toFixed(1)},${p[i].y.toFixed(1)} ${x.toFixed(1)},${y.toFixed(1)}`;
  }
  if (p.length === 2) d += ` L${p[1].x.toFixed(1)},${p[1].y.toFixed(1)}`;
  return d;
}
