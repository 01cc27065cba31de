// The dashboard: metrics come as server-sent events, changes go to the API. Draws at most twice a second.
import { attempt, checkSession, handleToken } from "./api.js";
import { handleDead, onStatus, reloadDead } from "./dead.js";
import { $, put, notify } from "./dom.js";
import { handleExplain } from "./explain.js";
import { handleForms, loadLimits } from "./forms.js";
import { forgetHealth } from "./health.js";
import { handleHost } from "./host.js";
import { handleHosts, reloadHosts } from "./hosts.js";
import { addHistory, draw } from "./metrics.js";
import { drawVisits, handlePages, onVisits } from "./pages.js";
import { Stream } from "./stream.js";
import { clock } from "./text.js";

const LEAST_GAP = 500; // milliseconds between two drawings
let status = null, details = null, drawnAt = -LEAST_GAP, waiting = false;

// A hidden page is not drawn; it is drawn from the last snapshot when it becomes visible.
function drawSoon() {
  if (waiting || document.hidden || status === null) return;
  waiting = true;
  setTimeout(() => requestAnimationFrame(() => {
    waiting = false;
    drawnAt = performance.now();
    draw(status, details);
    drawVisits();
    onStatus(status);
    put($("as-of"), `As of ${clock(Date.parse(status.at) / 1000)}.`);
  }), Math.max(0, drawnAt + LEAST_GAP - performance.now()));
}

function connection(lost) {
  const banner = $("banner");
  document.body.classList.toggle("lost", lost);
  banner.hidden = !lost;
  const known = status ? `The data shown is from ${clock(Date.parse(status.at) / 1000)}` : "There is no data yet";
  put(banner, lost ? `Connection to the service lost. ${known}. Reconnecting …` : "");
  if (lost) { put($("state"), "not connected"); $("state").className = "pill bad"; $("crawl").disabled = true; forgetHealth(); checkSession(); return; }
  notify("Reconnected.");
  reloadHosts();
  reloadDead();
  loadLimits();
}

function handleCrawl() {
  $("crawl").addEventListener("click", async () => {
    const action = $("crawl").textContent.startsWith("Pause") ? "pause" : "resume"; // what the button says; the state may have changed since
    await attempt("/crawl", { action }, () => (action === "pause" ? "Crawl paused." : "Crawl resumed."));
  });
}

function handleTheme() {
  const themes = ["auto", "light", "dark"], shown = $("theme");
  const show = () => put(shown.lastElementChild, `Theme: ${document.documentElement.dataset.theme ?? "auto"}`);
  shown.addEventListener("click", () => {
    const next = themes[(themes.indexOf(document.documentElement.dataset.theme ?? "auto") + 1) % themes.length];
    if (next === "auto") { delete document.documentElement.dataset.theme; localStorage.removeItem("theme"); }
    else { document.documentElement.dataset.theme = next; localStorage.setItem("theme", next); }
    show();
  });
  show();
}

// A link to a collapsed part opens it.
function handleLinks() {
  document.addEventListener("click", (event) => {
    const hash = event.target.closest("a[href^='#']")?.hash;
    if (hash && $(hash.slice(1))) for (const each of [$(hash.slice(1)), $(hash.slice(1)).closest("details")]) if (each?.tagName === "DETAILS") each.open = true;
  });
}

handleToken();
handleLinks();
handleCrawl();
handleTheme();
handleHosts();
handleHost();
handlePages();
handleDead();
handleExplain();
handleForms();
reloadHosts();
loadLimits();
document.addEventListener("visibilitychange", drawSoon);
new Stream("/events", {
  history: addHistory,
  status: (data) => { status = data; },
  moment: (data) => { details = data; drawSoon(); },
  visits: onVisits,
  end: () => {},
}, connection);
