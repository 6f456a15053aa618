// The same as driver.py, for libraries of Node.js.
import fs from 'node:fs';
import path from 'node:path';

const env = process.env;
export const DATABASE = env.PEER_DATABASE;
export const REDIS = env.PEER_REDIS;
export const PAYLOAD = {
  template: 'welcome',
  to: 'someone@example.org',
  items: [1, 2, 3, 4, 5, 6, 7, 8],
  locale: 'en-GB',
};
const AT_ONCE = 1000;
let file;

export const option = (name, fallback) => Number(env[`PEER_${name}`] ?? fallback);

export const now = () => (performance.timeOrigin + performance.now()) / 1000;

// Without `due` only the first call is noted.
export function note(due) {
  if (file !== undefined && due === undefined) return;
  const record = Buffer.allocUnsafe(16);
  record.writeDoubleLE(now(), 0);
  record.writeDoubleLE(due ?? 0, 8);
  file ??= fs.openSync(path.join(env.PEER_NOTES, String(process.pid)), 'a');
  fs.writeSync(file, record);
}

export function* instants(count, first, seconds) {
  for (let number = 0; number < count; number++) yield first + (number * seconds) / count;
}

export function* portions(count) {
  for (let begun = 0; begun < count; begun += AT_ONCE) yield Math.min(AT_ONCE, count - begun);
}

export const copies = (count, of) => Array.from({ length: count }, () => of);

export async function main(verbs) {
  const [verb, ...numbers] = process.argv.slice(2);
  const began = performance.now();
  await verbs[verb](...numbers.map(Number));
  if (verb === 'work') return;
  console.log(JSON.stringify({ seconds: (performance.now() - began) / 1000 }));
  process.exit(0);
}
