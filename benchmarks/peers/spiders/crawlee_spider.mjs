// Crawlee for JavaScript: its Cheerio crawler, with the options that its reference names for politeness.

import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';

// From where it was installed, which is not where this file lies.
const require = createRequire(`${process.argv[3]}/`);
const { CheerioCrawler, Configuration, KeyValueStore, log } = require('@crawlee/cheerio');

const wishes = JSON.parse(readFileSync(process.argv[2], 'utf8'));
log.setLevel(log.LEVELS.OFF);

Configuration.getGlobalConfig().set('purgeOnStart', !wishes.resume);
const pages = await KeyValueStore.open();

const crawler = new CheerioCrawler({
    respectRobotsTxtFile: { userAgent: 'gossamer' },
    sameDomainDelaySecs: wishes.delay,
    // No fewer either: it would take the load of others on this machine for its own.
    minConcurrency: wishes.concurrency,
    maxConcurrency: wishes.concurrency,
    maxRequestRetries: wishes.retries,
    navigationTimeoutSecs: wishes.timeout,
    useSessionPool: false,
    preNavigationHooks: [
        (_, got) => {
            got.useHeaderGenerator = false;
            got.headers = { ...got.headers, 'user-agent': wishes.user_agent };
        },
    ],
    async requestHandler({ request, body, enqueueLinks }) {
        const key = createHash('sha1').update(request.loadedUrl.split('#')[0]).digest('hex');
        await pages.setValue(key, body, { contentType: 'text/html' });
        await enqueueLinks({ strategy: 'all' });
    },
});
await crawler.run(wishes.seeds);
