// The dashboard: figures by server-sent events, changes by the routes of the service. Draws at most twice a second.
import { change, handleToken } from "./api.js";
import { $, put, say } from "./dom.js";
import { draw, history } from "./figures.js";
import { handleForms, loadLimits } from "./forms.js";
import { deadNumber, drawVisits, handleLists, heardVisits, reloadLists } from "./lists.js";
import { Stream } from "./stream.js";

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
    deadNumber(status.dead);
    put($("as-of"), `As of ${new Date(status.at).toLocaleTimeString("en-GB")}.`);
  }), Math.max(0, drawnAt + LEAST_GAP - performance.now()));
}

function connection(lost) {
  const banner = $("banner");
  document.body.classList.toggle("lost", lost);
  banner.hidden = !lost;
  put(banner, lost ? "The connection to the service is lost. The figures are the last ones known; trying again …" : "");
  if (lost) { put($("state"), "not connected"); $("state").className = "pill bad"; $("crawl").disabled = true; return; }
  say("Connected again.");
  reloadLists();
  loadLimits();
}

function handleCrawl() {
  $("crawl").addEventListener("click", async () => {
    const action = status.state === "paused" ? "resume" : "pause";
    try { await change("/crawl", { action }); say(action === "pause" ? "The crawl is paused." : "The crawl goes on."); } catch (error) { say(error.message, true); }
  });
}

function handleTheme() {
  const themes = ["auto", "light", "dark"], shown = $("theme");
  const tell = () => put(shown, `Theme: ${document.documentElement.dataset.theme ?? "auto"}`);
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
handleLists();
handleForms();
reloadLists();
loadLimits();
document.addEventListener("visibilitychange", drawSoon);
new Stream("/events", {
  history,
  status: (told) => { status = told; },
  moment: (told) => { moment = told; drawSoon(); },
  visits: heardVisits,
  end: () => {},
}, connection);
