// Formats numbers, durations and dates.
const whole = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 });
const compact = new Intl.NumberFormat("en-US", { notation: "compact", maximumFractionDigits: 1 });

export const count = (n) => whole.format(n ?? 0);
export const short = (n) => (n < 10_000 ? whole.format(n) : compact.format(n));
export const rate = (n) => (n > 0 && n < 0.05 ? "< 0.1" : n < 9.95 ? n.toFixed(1) : short(Math.round(n)));
export const percent = (n) => `${n < 9.95 && n > 0 ? n.toFixed(1) : Math.round(n)} %`;

export function bytes(n) {
  const units = ["B", "kB", "MB", "GB", "TB"];
  let at = 0;
  while (n >= 999.5 && at < units.length - 1) { n /= 1000; at += 1; }
  return `${n < 9.95 && at > 0 ? n.toFixed(1) : Math.round(n)} ${units[at]}`;
}

export function seconds(s) {
  if (s === null || s === undefined) return "–";
  if (s === 0) return "0";
  if (s < 0.00005) return "< 0.1 ms";
  if (s < 0.0095) return `${(s * 1000).toFixed(1)} ms`;
  if (s < 0.9995) return `${Math.round(s * 1000)} ms`;
  if (s < 9.95) return `${s.toFixed(1)} s`;
  if (s < 99.5) return `${Math.round(s)} s`;
  if (s < 5940) return `${Math.round(s / 60)} min`;
  if (s < 172_800) return `${Math.round(s / 3600)} h`;
  return `${Math.round(s / 86_400)} days`;
}

// Dates from the service, in the order year, month, day, as the commands print them (the locale is chosen for that): `dateTime` gives date and
// time, `instant` the time if it is today and the date otherwise.
const [day, time, both] = [{ dateStyle: "short" }, { timeStyle: "medium" }, { dateStyle: "short", timeStyle: "medium" }].map((style) => new Intl.DateTimeFormat("sv-SE", style));
export const dateTime = (text) => both.format(new Date(text));
export function instant(text) {
  const at = new Date(text);
  return day.format(at) === day.format() ? time.format(at) : day.format(at);
}

export const reasons = (text) => text.replaceAll("_", " ");
export const clock = (at) => time.format(at * 1000);
export const plural = (n, one, many) => `${count(n)} ${n === 1 ? one : many}`;
