// The dashboard: figures by server-sent events, changes by the routes of the service. Text is only ever set as text.
const $ = (id) => document.getElementById(id);
const token = $("token");
token.value = sessionStorage.getItem("token") ?? "";
token.addEventListener("change", () => sessionStorage.setItem("token", token.value));

function say(text) { $("message").textContent = text; }

async function call(path, body) {
  const headers = { "Content-Type": "application/json" };
  if (token.value) headers.Authorization = `Bearer ${token.value}`;
  const answer = await fetch(path, body === undefined ? { headers } : { method: "POST", headers, body: JSON.stringify(body) });
  const told = await answer.json();
  if (!answer.ok) throw new Error(told.field ? `${told.field}: ${told.error}` : told.error);
  return told;
}

async function change(path, body, told) {
  try { say(told(await call(path, body))); } catch (error) { say(String(error.message)); }
  refresh();
}

function cell(text) { const td = document.createElement("td"); td.textContent = text ?? ""; return td; }
function row(...cells) { const tr = document.createElement("tr"); tr.append(...cells.map((c) => (c instanceof Node ? c : cell(c)))); return tr; }
function button(text, label, act) {
  const made = document.createElement("button");
  made.textContent = text; made.setAttribute("aria-label", label); made.addEventListener("click", act);
  return made;
}
function buttons(...made) { const td = document.createElement("td"); td.append(...made); return td; }

const SHOWN = ["pages", "fetched", "queued", "discovered", "duplicates", "dead", "hosts", "in_flight", "hosts_ready", "hosts_waiting", "store_saturation", "loop_lag", "max_rss_bytes"];
const rates = [];
let last = null;

function figures(now) {
  $("state").textContent = now.waiting_for ? `${now.state}: waits for ${now.waiting_for}` : now.state;
  $("state").classList.remove("lost");
  $("figures").replaceChildren(...SHOWN.flatMap((name) => {
    const dt = document.createElement("dt"), dd = document.createElement("dd");
    dt.textContent = name.replaceAll("_", " "); dd.textContent = now[name].toLocaleString();
    return [dt, dd];
  }));
  $("fronts").replaceChildren(...now.urls_by_front.map((n, front) => row(front, n.toLocaleString(), `${now.selector_shares[front] ?? 0} %`)));
  if (last && now.seconds > last.seconds) {
    rates.push(Math.max(0, (now.pages - last.pages) / (now.seconds - last.seconds)));
    if (rates.length > 120) rates.shift();
    const top = Math.max(1, ...rates);
    $("rate").firstElementChild.setAttribute("points", rates.map((r, i) => `${i},${29 - (28 * r) / top}`).join(" "));
    $("rate-now").textContent = `${rates.at(-1).toFixed(1)} pages a second`;
  }
  last = now;
}

function visits(told) {
  const body = $("visits");
  body.prepend(...told.reverse().slice(0, 30).map((v) => row(v.state, v.status ?? v.reason, v.url)));
  while (body.rows.length > 30) body.lastElementChild.remove();
}

async function refresh() {
  try {
    const [hosts, dead] = await Promise.all([call("/hosts?limit=20"), call("/dead?limit=20")]);
    $("hosts").replaceChildren(...hosts.hosts.map((h) => {
      const held = h.paused || h.dropped, action = held ? "resume" : "pause";
      const act = () => change(`/hosts/${encodeURIComponent(h.host)}`, { action }, () => `${h.host}: ${action}d`);
      return row(h.host, h.dropped ? "dropped" : h.paused ? "paused" : h.state, h.queued, h.stored, buttons(button(action, `${action} ${h.host}`, act)));
    }));
    $("dead").replaceChildren(...dead.dead.map((d) => {
      const act = (action) => () => change("/dead", { action, urls: [d.url] }, (t) => `${action}: ${t.done}`);
      return row(d.url, d.reason, buttons(button("requeue", `requeue ${d.url}`, act("requeue")), button("drop", `drop ${d.url}`, act("drop"))));
    }));
  } catch (error) { say(String(error.message)); }
}

async function limits() {
  try {
    const now = await call("/url/limit"), form = $("limits").elements;
    form.depthLimit.value = now.depthLimit; form.urlLengthLimit.value = now.urlLengthLimit;
    form.excludedDomains.value = now.excludedDomains.join("\n");
  } catch (error) { say(String(error.message)); }
}

const words = (text) => text.split(/\s+/).filter(Boolean);
function onsubmit(id, act) { $(id).addEventListener("submit", (event) => { event.preventDefault(); act(event.target.elements); }); }
onsubmit("seeds", (form) => change("/seed/urls", { urls: words(form.urls.value) }, (t) => `${t.accepted} accepted, ${t.known} known, ${t.refused} refused`));
onsubmit("limits", (form) => change("/url/limit", { depthLimit: Number(form.depthLimit.value), urlLengthLimit: Number(form.urlLengthLimit.value), excludedDomains: words(form.excludedDomains.value) }, (t) => `limits are set; ${t.returned} URLs came back`));
onsubmit("explain", async (form) => {
  try { $("story").textContent = JSON.stringify(await call(`/explain?url=${encodeURIComponent(form.url.value)}`), null, 1); } catch (error) { say(String(error.message)); }
});
for (const each of document.querySelectorAll("[data-crawl]")) each.addEventListener("click", () => change("/crawl", { action: each.dataset.crawl }, (t) => t.state));

const events = new EventSource("/events");
events.addEventListener("status", (event) => figures(JSON.parse(event.data)));
events.addEventListener("visits", (event) => visits(JSON.parse(event.data)));
events.addEventListener("error", () => { $("state").textContent = "connection lost; trying again"; $("state").classList.add("lost"); });
refresh(); limits(); setInterval(refresh, 5000);
