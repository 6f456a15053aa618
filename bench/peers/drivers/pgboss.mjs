// pg-boss: a handler gets a batch of jobs, which ends as one. Jobs are rows that stay for a while.
import { PgBoss } from 'pg-boss';
import { DATABASE, PAYLOAD, copies, instants, main, note, option, portions } from './driver.mjs';

const WORKERS = 4;

async function started(options = { supervise: false, schedule: false }) {
  const boss = new PgBoss({ connectionString: DATABASE, max: 10, ...options });
  boss.on('error', (problem) => console.error(String(problem)));
  await boss.start();
  return boss;
}

await main({
  prepare: async () => {
    const boss = await started();
    await boss.createQueue('nothing');
    await boss.createQueue('due');
  },

  enqueue: async (count) => {
    const boss = await started();
    for (const many of portions(count)) await boss.insert('nothing', copies(many, { data: PAYLOAD }));
  },

  delay: async (count, first, seconds) => {
    const boss = await started();
    for (const due of instants(count, first, seconds))
      await boss.send('due', { ...PAYLOAD, due }, { startAfter: new Date(due * 1000) });
  },

  work: async () => {
    const boss = await started({});
    const options = {
      batchSize: option('BATCH', 500),
      pollingIntervalSeconds: option('POLL', 0.5),
      burstWhenBatchFull: true,
    };
    for (let number = 0; number < WORKERS; number++) {
      await boss.work('nothing', options, async (jobs) => jobs.forEach(() => note()));
      await boss.work('due', options, async (jobs) => jobs.forEach((job) => note(job.data.due)));
    }
  },
});
