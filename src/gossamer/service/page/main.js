// The dashboard: figures by server-sent events, changes by the routes of the service. Draws at most twice a second.
import { attempt, handleToken } from "./api.js";
import { handleDead, heardDead, reloadDead } from "./dead.js";
import { $, put, say } from "./dom.js";
import { draw, history } from "./figures.js";
import { handleForms, loadLimits } from "./forms.js";
import { forgetHealth } from "./health.js";
import { handleHost } from "./host.js";
import { handleHosts, reloadHosts } from "./hosts.js";
import { drawVisits, handlePages, heardVisits } from "./pages.js";
import { handleStory } from "./story.js";
import { Stream } from "./stream.js";
import { clock } from "./text.js";

const LEAST_GAP = 500; // milliseconds between two drawings
let status = null, moment = null, drawnAt = -LEAST_GAP, waiting = false;

// Nobody sees a hidden page: it is drawn when it comes back, from what came last.
function drawSoon() {
  if (waiting || document.hidden || status === null) return;
  waiting = true;
  setTimeout(() => requestAnimationFrame(() => {
    waiting = false;
    drawnAt = performance.now();
    draw(status, moment);
    drawVisits();
    heardDead(status);
    put($("as-of"), `As of ${clock(Date.parse(status.at) / 1000)}.`);
  }), Math.max(0, drawnAt + LEAST_GAP - performance.now()));
}

function connection(lost) {
  const banner = $("banner");
  document.body.classList.toggle("lost", lost);
  banner.hidden = !lost;
  const known = status ? `The figures are those of ${clock(Date.parse(status.at) / 1000)}` : "There are no figures yet";
  put(banner, lost ? `The connection to the service is lost. ${known}; trying again …` : "");
  if (lost) { put($("state"), "not connected"); $("state").className = "pill bad"; $("crawl").disabled = true; forgetHealth(); return; }
  say("Connected again.");
  reloadHosts();
  reloadDead();
  loadLimits();
}

function handleCrawl() {
  $("crawl").addEventListener("click", async () => {
    const action = $("crawl").textContent.startsWith("Pause") ? "pause" : "resume"; // as the button says, not as it may have become since
    await attempt("/crawl", { action }, () => (action === "pause" ? "The crawl is paused." : "The crawl goes on."));
  });
}

function handleTheme() {
  const themes = ["auto", "light", "dark"], shown = $("theme");
  const tell = () => put(shown.lastElementChild, `Theme: ${document.documentElement.dataset.theme ?? "auto"}`);
  shown.addEventListener("click", () => {
    const next = themes[(themes.indexOf(document.documentElement.dataset.theme ?? "auto") + 1) % themes.length];
    if (next === "auto") { delete document.documentElement.dataset.theme; localStorage.removeItem("theme"); }
    else { document.documentElement.dataset.theme = next; localStorage.setItem("theme", next); }
    tell();
  });
  tell();
}

handleToken();
handleCrawl();
handleTheme();
handleHosts();
handleHost();
handlePages();
handleDead();
handleStory();
handleForms();
reloadHosts();
loadLimits();
document.addEventListener("visibilitychange", drawSoon);
new Stream("/events", {
  history,
  status: (told) => { status = told; },
  moment: (told) => { moment = told; drawSoon(); },
  visits: heardVisits,
  end: () => {},
}, connection);
