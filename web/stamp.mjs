// Writes the fingerprint of the sources beside what was built from them: a test of the crate
// `http-api` compares it, so that what is embedded belongs to the sources.
import { readFileSync, readdirSync, writeFileSync } from 'node:fs';

const files = [];
const walk = (folder) => {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = folder === '.' ? entry.name : `${folder}/${entry.name}`;
    if (entry.isDirectory()) walk(path);
    else files.push(path);
  }
};
['src', 'public'].forEach(walk);
files.push('index.html', 'package-lock.json', 'package.json', 'svelte.config.js', 'vite.config.ts');
files.sort();
let hash = 0xcbf29ce484222325n;
const add = (bytes) => {
  for (const byte of bytes) hash = ((hash ^ BigInt(byte)) * 0x100000001b3n) & 0xffffffffffffffffn;
};
for (const file of files) {
  add(Buffer.from(`${file}\n`));
  add(readFileSync(file));
}
writeFileSync('dist/sources', `${hash.toString(16).padStart(16, '0')}\n`);
