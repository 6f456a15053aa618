// bullmq on Redis.
import { Queue, Worker } from 'bullmq';
import { PAYLOAD, REDIS, copies, instants, main, note, option, portions } from './driver.mjs';

const { hostname: host, port } = new URL(REDIS);
const connection = { host, port: Number(port) };
const kept = { removeOnComplete: true };
const handlers = {
  nothing: () => note(),
  due: (job) => note(job.data.due),
  tick: (job) => note(Number(job.id.split(':').pop()) / 1000),
};

async function queue() {
  const found = new Queue('q', { connection, defaultJobOptions: kept });
  await found.waitUntilReady();
  return found;
}

await main({
  prepare: async () => {
    await (await queue()).obliterate({ force: true });
  },

  enqueue: async (count) => {
    const there = await queue();
    for (const many of portions(count))
      await there.addBulk(copies(many, { name: 'nothing', data: PAYLOAD }));
  },

  delay: async (count, first, seconds) => {
    const there = await queue();
    for (const due of instants(count, first, seconds))
      await there.add('due', { ...PAYLOAD, due }, { delay: Math.round(due * 1000 - Date.now()) });
  },

  recur: async (count, seconds) => {
    const there = await queue();
    const every = { every: seconds * 1000 };
    const template = { name: 'tick', data: PAYLOAD, opts: kept };
    let number = 0;
    for (const many of portions(count))
      await Promise.all(
        copies(many).map(() => there.upsertJobScheduler(`tick-${number++}`, every, template)),
      );
  },

  work: async () => {
    new Worker('q', async (job) => handlers[job.name](job), {
      connection,
      concurrency: option('CONCURRENCY', 100),
    });
  },
});
