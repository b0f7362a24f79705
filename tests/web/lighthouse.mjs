// SPDX-License-Identifier: MIT
// Measures the page with Lighthouse. Started by tests/check-lighthouse.
import { createRequire } from "node:module";
import { writeFileSync } from "node:fs";
import { cpus, loadavg } from "node:os";
import { SimHost, is_broken } from "./hosts.mjs";
import { ok, plan, until } from "./tap.mjs";

const { CHROME_PATH, FOLDER, NPM, REPORTS, RUNS } = process.env;
const require = createRequire(`${NPM}/`);
const { default: lighthouse, desktopConfig } = await import(require.resolve("lighthouse"));
const { launch } = await import(createRequire(require.resolve("lighthouse")).resolve("chrome-launcher"));
const FLAGS = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--disable-background-networking"];
const CATEGORIES = ["performance", "accessibility", "best-practices"];
const AUDITS = ["first-contentful-paint", "largest-contentful-paint", "total-blocking-time", "cumulative-layout-shift", "speed-index"];
const PERFORMANCE_MIN = 95;
/* The event stream never ends and each period causes work, so that Lighthouse would wait for 45 s for the end of the load. */
const WAIT_MS = 15000;
const DEVICES = { mobile: undefined, desktop: desktopConfig };

const chrome = await launch({ chromePath: CHROME_PATH, chromeFlags: FLAGS });

/** Returns the run whose performance is the median of all runs. */
async function measure(url, device) {
	const runs = [];
	for (let i = 0; i < Number(RUNS); i++)
		runs.push(await lighthouse(url, { port: chrome.port, onlyCategories: CATEGORIES, output: "html", logLevel: "error", maxWaitForLoad: WAIT_MS }, DEVICES[device]));
	runs.sort((a, b) => a.lhr.categories.performance.score - b.lhr.categories.performance.score);
	return runs[Math.floor(runs.length / 2)];
}

const percent = (lhr, category) => Math.round(100 * lhr.categories[category].score);

/** Audits of a category that cost points, one per line. */
function losses(lhr, category) {
	return lhr.categories[category].auditRefs.filter(({ id, weight }) => weight > 0 && lhr.audits[id].score !== null && lhr.audits[id].score < 0.9)
		.map(({ id }) => `${id}: ${lhr.audits[id].title} ${lhr.audits[id].displayValue ?? ""}`).join("\n");
}

console.log(`# ${cpus().length} CPUs, ${cpus()[0].model}, load ${loadavg()[0].toFixed(1)}: other programs increase the blocking time`);
for (const size of [20, 64]) {
	const host = new SimHost(FOLDER, size);
	await host.start();
	await until(async () => (await host.vgpus()).some(is_broken), 60);
	for (const device of Object.keys(DEVICES)) {
		const { lhr, report } = await measure(host.url, device);
		const name = `${size} vGPUs, ${device}`;
		writeFileSync(`${REPORTS}/${size}-${device}.html`, report);
		console.log(`# ${name}: ${CATEGORIES.map((c) => `${c} ${percent(lhr, c)}`).join(", ")}`);
		console.log(`# ${name}: ${AUDITS.map((id) => `${lhr.audits[id].title} ${lhr.audits[id].displayValue}`).join(", ")}`);
		const [{ observedFirstContentfulPaint: fcp, observedLargestContentfulPaint: lcp }] = lhr.audits.metrics.details.items;
		console.log(`# ${name}: on this machine without the simulated network: first paint ${fcp} ms, largest paint ${lcp} ms`);
		await ok(`${name}: performance of at least ${PERFORMANCE_MIN}`, async () => {
			if (percent(lhr, "performance") < PERFORMANCE_MIN)
				throw new Error(losses(lhr, "performance"));
		});
		for (const category of ["accessibility", "best-practices"])
			await ok(`${name}: ${category} of 100`, async () => {
				if (percent(lhr, category) < 100)
					throw new Error(losses(lhr, category));
			});
	}
}
chrome.kill();
plan();
process.exit(0);
