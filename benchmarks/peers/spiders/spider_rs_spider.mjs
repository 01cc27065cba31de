// spider (Rust, through its package for Node): a crawl per website, as its guide has it.

import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';

// From where it was installed, which is not where this file lies.
const require = createRequire(`${process.argv[3]}/`);
const { Website } = require('@spider-rs/spider-rs');

const wishes = JSON.parse(readFileSync(process.argv[2], 'utf8'));
const pages = `${wishes.place}/pages`;
mkdirSync(pages, { recursive: true });

function keep(error, page) {
    if (error || page.statusCode !== 200) return;
    writeFileSync(`${pages}/${createHash('sha1').update(page.url.split('#')[0]).digest('hex')}`, page.rawContent ?? page.content);
}

async function crawl(seed) {
    await new Website(seed, true)
        .withUserAgent(wishes.user_agent)
        .withRespectRobotsTxt(true)
        .withDelay(Math.round(wishes.delay * 1000))
        .withRequestTimeout(Math.round(wishes.timeout * 1000))
        .build()
        .crawl(keep);
}

// As many sites at a time as requests are wanted: a site's own requests are the library's affair.
const waiting = [...wishes.seeds];
async function worker() {
    for (let seed = waiting.shift(); seed !== undefined; seed = waiting.shift()) await crawl(seed);
}
await Promise.all(Array.from({ length: wishes.concurrency }, worker));
