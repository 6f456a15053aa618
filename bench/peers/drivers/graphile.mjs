// graphile-worker: jobs are rows that go when they are done.
import { Logger, makeWorkerUtils, run, runMigrations } from 'graphile-worker';
import { DATABASE, PAYLOAD, copies, instants, main, note, option, portions } from './driver.mjs';

const logger = new Logger(() => () => {});
const concurrency = 24;
const shared = { connectionString: DATABASE, logger };

async function using(work) {
  const utils = await makeWorkerUtils(shared);
  await work(utils);
  await utils.release();
}

await main({
  prepare: () => runMigrations(shared),

  enqueue: (count) =>
    using(async (utils) => {
      for (const many of portions(count))
        await utils.addJobs(copies(many, { identifier: 'nothing', payload: PAYLOAD }));
    }),

  delay: (count, first, seconds) =>
    using(async (utils) => {
      for (const due of instants(count, first, seconds))
        await utils.addJob('due', { ...PAYLOAD, due }, { runAt: new Date(due * 1000) });
    }),

  work: async () => {
    const size = option('LOCAL_QUEUE', 0);
    const batched = { localQueue: { size }, completeJobBatchDelay: 0, failJobBatchDelay: 0 };
    await run({
      ...shared,
      noHandleSignals: true,
      taskList: { nothing: () => note(), due: (payload) => note(payload.due) },
      preset: {
        worker: {
          concurrentJobs: concurrency,
          maxPoolSize: 10,
          pollInterval: option('POLL', 2) * 1000,
          ...(size ? batched : {}),
        },
      },
    });
  },
});
