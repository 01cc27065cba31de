// Names the crawl, shows how far it is and, where possible, when it may end.
import { read } from "./api.js";
import { $, put } from "./dom.js";
import { count, instant, percent, rate, seconds } from "./text.js";

const SPAN = 300, LEAST_SPAN = 20; // seconds of the run that trends are taken from
const REFRESH = 30_000; // milliseconds between two looks at the longest queue of a host

let trail = []; // [seconds of the run, queued, pages]
let seed = "", askedAt = -REFRESH, longest = null;

// The first known URL is the first seed.
async function look() {
  askedAt = performance.now();
  try {
    if (!seed) { seed = (await read("/pages?limit=1")).pages[0]?.url ?? ""; put($("crawl-seed"), seed); }
    [longest = null] = (await read("/hosts?sort=queued&limit=1")).hosts;
  } catch { /* the page says that it is not connected */ }
}

function trend(s) {
  if (trail.length && trail.at(-1)[0] > s.seconds) trail = []; // the service was restarted
  trail = [...trail.filter(([at]) => s.seconds - at <= SPAN), [s.seconds, s.queued, s.pages]];
  const [at, queued, pages] = trail[0], span = s.seconds - at;
  return span < LEAST_SPAN ? null : { queued: (s.queued - queued) / span, pages: (s.pages - pages) / span };
}

const inAbout = (left) => `in about ${seconds(left)}${left < 600 ? "" : ` (${instant(Date.now() + 1000 * left)})`}`;

// Text about the end, given the changes per second and the host with the longest queue (null: not known yet). Politeness sets a
// lower bound: that queue, with the delay of the host after each response.
export function describeEnd(s, change, longest) {
  if (s.state !== "running" || !s.queued) return "";
  const least = longest ? longest.queued * (longest.delay + longest.last_took) : 0;
  const bound = least > 60 ? `The queue of ${longest.host} alone takes ${seconds(least)}.` : "";
  if (!change) return bound;
  const byLimit = s.max_pages && change.pages > 0 ? (s.max_pages - s.pages) / change.pages : Infinity;
  const byQueue = change.queued < 0 ? Math.max(least, s.queued / -change.queued) : Infinity;
  if (byLimit <= byQueue && byLimit < Infinity) return `The page limit may be reached ${inAbout(byLimit)}.`;
  if (byQueue < Infinity) return `May end ${inAbout(byQueue)}.`;
  return `${change.queued > 0 ? `The queue is growing by ${rate(change.queued)} URLs/s. ` : ""}${bound}`;
}

export function drawProgress(s) {
  put($("crawl-directory"), s.directory);
  if (s.discovered && performance.now() - askedAt > REFRESH) look();
  const [done, all] = s.max_pages ? [s.pages, s.max_pages] : [s.discovered - s.queued, s.discovered];
  $("progress").hidden = !all;
  const share = all ? Math.min(100, (100 * Math.max(0, done)) / all) : 0;
  $("progress-bar").style.width = `${share}%`;
  put($("progress-text"), s.max_pages ? `${count(done)} of at most ${count(all)} pages (${percent(share)})` : `${count(done)} of ${count(all)} known URLs done (${percent(share)})`);
  put($("progress-end"), describeEnd(s, trend(s), longest));
}
