// The workers that share a crawl. Hidden if its store is not one that workers share.
import { $, element, put, Rows } from "./dom.js";
import { instant, plural, rate, seconds, short } from "./text.js";

const MOST = 200;
const TONES = { active: "good", draining: "warn", silent: "bad" };

const rows = new Rows($("workers"), {
  key: (worker) => worker.epoch,
  most: MOST,
  make: (worker) => element("tr", { "data-worker": worker.name },
    element("th", { scope: "row" }, element("span"), element("span", { class: "hint" })), element("td", {}, element("span", { class: "badge" })),
    element("td", { class: "n" }), element("td", { class: "n wide-only" }), element("td", { class: "n" }),
    ...Array.from({ length: 3 }, () => element("td", { class: "n wide-only" })), element("td", { class: "wide-only" }), element("td", { class: "said" })),
  update,
});

function update(row, worker) {
  const [name, machine] = row.cells[0].children, badge = row.cells[1].firstElementChild;
  put(name, worker.name);
  put(machine, worker.machine ? ` ${worker.machine}` : "");
  row.cells[0].title = [worker.directory, worker.pid && `process ${worker.pid}`, `version ${worker.version}`, `weight ${worker.weight}`].filter(Boolean).join(", ");
  put(badge, worker.state);
  badge.className = `badge ${TONES[worker.state] ?? ""}`;
  const values = [short(worker.partitions), short(worker.pages), rate(worker.rate), short(worker.in_flight), seconds(worker.lease), seconds(worker.commit_seconds), worker.cache?.replaceAll("_", " ") ?? "–"];
  values.forEach((value, at) => put(row.cells[2 + at], value));
  row.cells[8].className = worker.cache && worker.cache !== "in use" ? "wide-only warn" : "wide-only";
  put(row.cells[9], worker.error ? `${worker.error} (${instant(worker.error_at)})` : "–");
}

export function drawWorkers(status) {
  const workers = status.workers, part = $("workers-part");
  part.hidden = $("workers-link").hidden = !workers;
  if (!workers) return;
  rows.show(workers, { empty: "No worker is running. Start one with gossamer worker --store URL." });
  const owned = workers.reduce((n, worker) => n + worker.partitions, 0);
  put($("workers-total"), workers.length ? `${plural(workers.length, "worker", "workers")}, ${plural(owned, "partition", "partitions")} owned` : "");
}
