// The page for people. It asks for one overview a second and shows it; it never writes.
// Everything from outside becomes text by textContent, never markup.

const POLL_MS = 1000;
const PATIENCE_MS = 5000;
const PANEL_RUNS = 20;
const OFFSET_MS = 500; // a machine whose clock is off by more deserves a look

const $ = (id) => document.getElementById(id);
const MARKS = { succeeded: "good", running: "good", failed: "bad", lost: "bad", missed: "fair" };

let ahead = 0; // how far the server's clock is ahead of this browser's, in ms
let open = null; // the job in the panel
let timer = 0;

// Text for people

const two = (n) => String(n).padStart(2, "0");

function clock(text) {
  const at = new Date(text);
  const time = `${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}`;
  const today = new Date(Date.now() + ahead).toDateString() === at.toDateString();
  return today ? time : `${at.toLocaleDateString(undefined, { day: "numeric", month: "short", year: "numeric" })} ${time}`;
}

function span(ms) {
  const size = Math.abs(ms);
  if (size < 10) return `${ms.toFixed(1)} ms`;
  if (size < 1000) return `${Math.round(ms)} ms`;
  if (size < 10_000) return `${(ms / 1000).toFixed(1)} s`;
  const s = Math.round(size / 1000);
  if (s < 60) return `${s} s`;
  const pair = (size, name, next, less) => {
    const rest = Math.floor((s % size) / next);
    return `${Math.floor(s / size)} ${name}${rest ? ` ${rest} ${less}` : ""}`;
  };
  if (s < 3600) return pair(60, "min", 1, "s");
  if (s < 86_400) return pair(3600, "h", 60, "min");
  return pair(86_400, "d", 3600, "h");
}

function until(text) {
  const ms = Date.parse(text) - Date.now() - ahead;
  return ms < 500 ? "now" : `in ${span(Math.ceil(ms / 1000) * 1000).replace(".0", "")}`;
}

const since = (text) => span(Math.max(0, Date.now() + ahead - Date.parse(text)));
const late = (ms) => (ms == null ? "–" : span(ms));
const tone = (ms) => (ms <= 100 ? "good" : ms <= 1000 ? "fair" : "bad");

function took(run) {
  if (!run.startedAt || !run.finishedAt) return "";
  return `took ${span(Date.parse(run.finishedAt) - Date.parse(run.startedAt))}`;
}

function many(run) {
  if (!run.until) return "";
  return `${run.count ?? "very many"} occurrence${run.count === 1 ? "" : "s"} up to ${clock(run.until)}`;
}

// Drawing. Rows are kept by key, so that focus and selection survive the next second.

function fill(body, items, key, draw) {
  const rows = new Map([...body.children].map((row) => [row.dataset.key, row]));
  const wanted = items.map((item) => {
    const row = rows.get(key(item)) ?? $("row").content.firstElementChild.cloneNode(true);
    row.dataset.key = key(item);
    draw(row, item);
    return row;
  });
  const there = [...body.children];
  if (wanted.length !== there.length || wanted.some((row, i) => row !== there[i])) body.replaceChildren(...wanted);
}

function put(row, part, text, title = "") {
  const cell = row.querySelector(part);
  if (cell.textContent !== text) cell.textContent = text;
  if (cell.title !== title) cell.title = title;
  return cell;
}

function named(row, item) {
  put(row, ".name", item.jobName).dataset.job = item.jobId;
}

function note(row, text, bad = false) {
  const cell = put(row, ".note", text);
  cell.hidden = !text;
  cell.classList.toggle("bad", bad);
}

function mark(row, text, kind, title = "") {
  let badge = row.querySelector(".mark");
  if (!badge) row.querySelector(".what").append((badge = document.createElement("span")));
  badge.className = `mark ${kind ?? ""}`;
  badge.textContent = text;
  badge.title = title;
}

const parts = (...texts) => texts.filter(Boolean).join(" · ");
const attempt = (run) => (run.attempt > 1 ? `attempt ${run.attempt}` : "");

function drawLive(row, run) {
  named(row, run);
  mark(row, run.status, MARKS[run.status]);
  note(row, parts(attempt(run), run.error), Boolean(run.error));
  const waits = run.status === "scheduled";
  put(row, ".when", waits ? until(run.at) : since(run.startedAt ?? run.scheduledFor), run.startedAt ?? run.scheduledFor);
}

function drawNext(row, item) {
  named(row, item);
  note(row, "");
  put(row, ".what", clock(item.due), item.due);
  put(row, ".when", until(item.due), item.due);
}

function drawFailed(row, run) {
  named(row, run);
  note(row, parts(run.error, run.reason, attempt(run)), true);
  put(row, ".what", "");
  const at = run.finishedAt ?? run.scheduledFor;
  put(row, ".when", `${since(at)} ago`, at);
}

function drawRun(row, run) {
  mark(row, run.status, MARKS[run.status], run.runId);
  note(row, parts(many(run), run.error, run.reason, attempt(run), took(run)), Boolean(run.error));
  const lateness = run.latenessMs;
  put(row, ".when", lateness == null ? "" : `${span(lateness)} late`, `${run.scheduledFor} → ${run.startedAt ?? "not started"}`);
}

function drawRecent(row, run) {
  named(row, run);
  drawRun(row, run);
}

function drawNode(row, node) {
  put(row, ".name", node.host, `process ${node.pid}, version ${node.version}`).disabled = true;
  const offset = node.clockOffsetMs == null ? "" : `clock ${Math.abs(node.clockOffsetMs) < 1 ? "exact" : `off by ${span(node.clockOffsetMs)}`}`;
  note(row, parts(`node ${node.nodeId}`, node.roles.join(", "), offset), Math.abs(node.clockOffsetMs ?? 0) >= OFFSET_MS);
  const works = node.alive && node.roles.includes("worker");
  const held = works && node.load.held ? `, ${node.load.held} waiting` : "";
  put(row, ".what", works ? `${node.load.running} of ${node.slots} slots in use${held}` : node.alive ? "" : "gone");
  put(row, ".when", `${since(node.beatAt)} ago`, `last heartbeat ${node.beatAt}`);
  row.classList.toggle("gone", !node.alive);
}

function drawStrip(runs) {
  const timed = runs.filter((run) => run.latenessMs != null).reverse();
  $("strip").replaceChildren(
    ...timed.map((run) => {
      const bar = document.createElement("i");
      bar.className = tone(run.latenessMs);
      // Logarithmic: 1 ms is a dot, 10 s fills the height.
      const height = Math.min(1, Math.max(0, Math.log10(Math.max(1, run.latenessMs)) / 4));
      bar.style.height = `${Math.round(height * 100)}%`;
      return bar;
    }),
  );
}

function draw(view) {
  ahead = Date.parse(view.now) - Date.now();
  $("main").hidden = false;
  document.body.classList.remove("stale");
  health(view.health.status, view.health.problems.join(" ") || (view.setAside ? `${view.setAside} broken entries are set aside.` : "All is well."));
  $("version").textContent = view.health.version;
  const running = view.live.filter((run) => run.status === "running").length;
  const numbers = { jobs: view.jobs, running, queued: view.queued };
  for (const [id, value] of Object.entries(numbers)) $(id).textContent = value.toLocaleString();
  $("p50").textContent = late(view.lateness.p50Ms);
  $("p95").textContent = late(view.lateness.p95Ms);
  $("max").textContent = late(view.lateness.maxMs);
  $("seen").textContent = view.lateness.count ? `lateness of the last ${view.lateness.count}` : "";
  $("empty").hidden = view.jobs > 0 || view.recent.length > 0;
  fill($("live"), view.live, (run) => run.runId, drawLive);
  fill($("upcoming"), view.upcoming.slice(0, 12), (item) => item.jobId + item.due, drawNext);
  fill($("failed"), view.failed.slice(0, 12), (run) => run.runId, drawFailed);
  fill($("recent"), view.recent.slice(0, 20), (run) => `${run.runId}.${run.attempt}`, drawRecent);
  fill($("nodes"), view.nodes, (node) => node.nodeId, drawNode);
  drawStrip(view.recent);
}

function health(status, text) {
  $("dot").className = `dot ${status}`;
  $("health").className = status;
  // Said again every second it would be read aloud every second.
  if ($("health").textContent !== text) $("health").textContent = text;
  document.title = status === "ok" ? "onthedot" : "⚠ onthedot";
}

// The panel of one job

function facts(job) {
  const zone = job.timezone === "UTC" ? "" : ` (${job.timezone})`;
  const text = job.cronExpr || job.schedule;
  const when = text ? text + zone : job.every ? `every ${span(job.every * 1000)}` : job.fixedDelay ? `${span(job.fixedDelay * 1000)} after the last run` : job.runAt ? `once, ${clock(job.runAt)}` : "when triggered";
  return {
    Schedule: job.paused ? `${when}, paused` : when,
    Next: job.nextRunAt ? `${clock(job.nextRunAt)}, ${until(job.nextRunAt)}` : "–",
    Handler: job.handlerUrl,
    Policy: `timeout ${span(job.timeout * 1000)}, ${job.retries} retries, priority ${job.priority}, queue ${job.queue}`,
    Owner: job.owner,
    Key: job.key,
    Tags: job.tags.join(", "),
    Id: `${job.jobId}, version ${job.version}`,
  };
}

function drawJob(job) {
  $("panel-name").textContent = job.name;
  const lines = Object.entries(facts(job)).filter(([, value]) => value);
  $("panel-facts").replaceChildren(
    ...lines.flatMap(([name, value]) => {
      const [term, text] = [document.createElement("dt"), document.createElement("dd")];
      term.textContent = name;
      text.textContent = value;
      return [term, text];
    }),
  );
  const payload = JSON.stringify(job.payload, null, 2);
  if ($("panel-payload").textContent !== payload) $("panel-payload").textContent = payload;
}

function drawPanelRun(row, run) {
  put(row, ".who .name", clock(run.scheduledFor), run.runId).disabled = true;
  const first = run.attempt === 1 && run.startedAt;
  drawRun(row, { ...run, latenessMs: first ? Date.parse(run.startedAt) - Date.parse(run.scheduledFor) : null });
}

async function refreshPanel() {
  if (!open) return;
  const job = open;
  const [about, runs] = await Promise.all([ask(`v1/jobs/${job}`), ask(`v1/jobs/${job}/runs?limit=${PANEL_RUNS}`)]);
  if (job !== open) return;
  drawJob(about);
  fill($("panel-runs"), runs.runs, (run) => run.runId, drawPanelRun);
}

function show(job) {
  open = job;
  $("panel-name").textContent = job;
  $("panel-facts").replaceChildren();
  $("panel-runs").replaceChildren();
  $("panel-payload").textContent = "";
  $("panel-gone").hidden = true;
  $("panel-job").href = `v1/jobs/${job}`;
  $("panel-history").href = `v1/jobs/${job}/runs?limit=${PANEL_RUNS}`;
  if (!$("panel").open) $("panel").showModal();
  panelOrReason();
}

async function panelOrReason() {
  try {
    await refreshPanel();
    $("panel-gone").hidden = true;
  } catch (error) {
    $("panel-gone").textContent = error.message;
    $("panel-gone").hidden = false;
  }
}

// Talking to the server

async function ask(path) {
  const answer = await fetch(path, { signal: AbortSignal.timeout(PATIENCE_MS), headers: { Accept: "application/json" } });
  const said = await answer.json();
  if (!answer.ok) throw new Error(said.detail ?? `HTTP ${answer.status}`);
  return said;
}

async function poll() {
  clearTimeout(timer);
  try {
    draw(await ask("v1/overview"));
    await panelOrReason();
  } catch (error) {
    document.body.classList.add("stale");
    health("failing", error instanceof TypeError || error.name === "TimeoutError" ? "The server does not answer." : error.message);
  }
  // Nobody looks at a hidden page: it asks again when it is seen.
  if (!document.hidden) timer = setTimeout(poll, POLL_MS);
}

// Starting

function follow() {
  const job = location.hash.slice(1);
  if (/^job-[0-9a-f]+$/.test(job)) show(job);
}

document.addEventListener("click", (event) => {
  const job = event.target.closest?.("[data-job]")?.dataset.job;
  if (job) location.hash = job;
});
document.addEventListener("visibilitychange", () => !document.hidden && poll());
addEventListener("hashchange", follow);
$("close").addEventListener("click", () => $("panel").close());
$("panel").addEventListener("click", (event) => event.target === $("panel") && $("panel").close());
$("panel").addEventListener("close", () => {
  open = null;
  history.replaceState(null, "", location.pathname + location.search);
});
$("curl").textContent = `curl ${location.origin}/v1/jobs -H 'Content-Type: application/json' \\\n  -d '{"name": "hello", "every": 5, "handlerUrl": "http://127.0.0.1:9000/"}'`;
$("copy").addEventListener("click", async () => {
  await navigator.clipboard.writeText($("curl").textContent);
  $("copy").textContent = "Copied";
});
$("copy").hidden = !navigator.clipboard;
follow();
poll();
