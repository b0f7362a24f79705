// SPDX-License-Identifier: MIT
// The page as a person has it: rendered, followed, used by keyboard alone, dark and light. Started by tests/check-web.
import { createRequire } from "node:module";
import { mkdirSync, readFileSync } from "node:fs";
import { get, load, rest, sell, start, stop, url } from "./daemon.mjs";
import { equal, ok, plan, until } from "./tap.mjs";

const { CHROMIUM, NPM, PROFILE, SHOTS } = process.env;
const require = createRequire(`${NPM}/`);
const { chromium } = require("playwright-core");
const axe = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");
const ALONE = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
	"--disable-background-networking", "--disable-component-update", "--disable-sync"];

const said = []; /* by the console, and by scripts that failed */
const asked = new Set(); /* origins */
let away = false; /* the daemon is, and the browser may say so */

function listen(page) {
	page.on("console", (m) => {
		const expected = away && /Failed to load resource|net::ERR/.test(m.text());
		if (["error", "warning"].includes(m.type()) && !expected)
			said.push(m.text());
	});
	page.on("pageerror", (e) => said.push(String(e.stack)));
	page.on("request", (r) => asked.add(new URL(r.url()).origin));
}

await start();
await sell({ id: "a", vm: "<img src=x onerror=alert(1)>", initial_cap_pct: 80, labels: { workload: "load:pct=10" } });
await sell({ id: "b", vm: "vm-b", initial_cap_pct: 50, target_fps: 30, labels: { workload: "frame:gpu_ms=2,cpu_ms=4,fps_max=31" } });

const context = await chromium.launchPersistentContext(PROFILE, {
	executablePath: CHROMIUM, args: ALONE, colorScheme: "dark", viewport: { width: 1440, height: 900 }, reducedMotion: "reduce",
});
const page = context.pages()[0] ?? (await context.newPage());
listen(page);
mkdirSync(SHOTS, { recursive: true });
const shot = (name) => page.screenshot({ path: `${SHOTS}/${name}.png` });
const text = (selector) => page.locator(selector).first().innerText();
const row = (id) => `#vgpu-rows tr:has([data-vgpu="${id}"])`;
const cap_shown = async (id) => parseInt(await page.locator(`${row(id)} td.figure`).nth(2).locator(".big").innerText(), 10);
const focused = () => page.evaluate(() => document.activeElement.id || document.activeElement.textContent.trim());
const press = (key) => page.keyboard.press(key);

/** Tab until @wanted(element) in the page is true; throws after a whole round. */
async function tab_to(wanted) {
	for (let i = 0; i < 80; i++) {
		await press("Tab");
		if (await page.evaluate(wanted))
			return;
	}
	throw new Error(`not reached by Tab: ${wanted}`);
}

async function violations() {
	await page.evaluate(axe);
	const { violations: found } = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ["violations"] }));
	return found.map((v) => `${v.id}: ${v.nodes.map((n) => n.target.join(" ")).slice(0, 3).join(", ")}`).join("\n");
}

/* --- it renders a live run --- */
await page.goto(url);
await ok("the page becomes live", () => until(async () => (await text("#state-text")) === "live"));
await ok("the first Tab offers to skip to the vGPUs", async () => {
	await press("Tab");
	equal(await focused(), "Skip to the vGPUs");
	await press("Enter");
	equal(await focused(), "vgpus");
});
await ok("a row for each vGPU", () => until(async () => (await page.locator("#vgpu-rows tr").count()) === 2));
await ok("with the frames that the daemon tells", () => until(async () => {
	const shown = parseFloat(await page.locator(`${row("b")} td.figure .big`).first().innerText());
	return Math.abs(shown - (await get("/v1/vgpus/b")).fps) < 2;
}));
await ok("its name is text, whatever it looks like", async () => {
	equal(await page.locator("#content img").count(), 0);
	equal(await text(`${row("a")} th .sub`), "<img src=x onerror=alert(1)>");
});
const inked = (id) => page.evaluate((vgpu) => {
	const canvas = document.querySelector(`[data-vgpu="${vgpu}"] canvas`);
	const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
	return data.filter((x, i) => i % 4 === 3 && x > 0).length;
}, id);
await ok("a chart with lines for each", () => until(async () => (await inked("a")) > 500 && (await inked("b")) > 500));
await ok("that also says in words what it shows", async () =>
	/^b, last 2 min: frames a second .*target 30; cap .*used/.test(await page.locator('[data-vgpu="b"]').getAttribute("aria-label")));
await ok("it goes on by itself", async () => {
	const before = await text("#host-tiles");
	await until(async () => (await text("#host-tiles")) !== before, 30);
});
await ok("the host line tells what is sold and earned", async () =>
	/1\.30 ×/.test(await text("#gpus")) && /Profit/.test(await text("#host-tiles")) && (await text("#economics-rows")).includes("Penalties"));
await ok("another stretch of time is a button away", async () => {
	await page.getByRole("button", { name: "10 min" }).press("Enter");
	await until(async () => /last 10 min/.test(await page.locator('[data-vgpu="a"]').getAttribute("aria-label")));
	await page.getByRole("button", { name: "2 min" }).press("Enter");
});

/* --- it claims an offer, by keyboard alone --- */
await ok("an offer appears when there is one", () => until(async () => (await page.locator("#offer-list .offer").count()) === 1, 60));
/* A daemon that knows no tokens is given the manners of one that does. */
const made = await rest("POST", "/v1/tokens", { name: "page", scope: "operate" });
const token = made.status === 201 ? made.body.token : "gvr_test";
const changes = (request) => request.method() === "POST";
if (made.status !== 201) {
	await page.route("**/v1/**", (route) => (!changes(route.request()) || route.request().headers().authorization === `Bearer ${token}` ? route.continue() :
		route.fulfill({ status: 401, contentType: "application/problem+json", body: JSON.stringify({ status: 401, detail: "a token is needed" }) })));
}
let denied = 0;
page.on("response", (response) => (denied += [401, 403].includes(response.status())));
await ok("Tab reaches its Claim button, and the focus is seen", async () => {
	await tab_to(() => document.activeElement.matches(".offer button"));
	equal(await page.evaluate(() => getComputedStyle(document.activeElement).outlineStyle), "solid");
});
await ok("Enter asks for the newcomer's name", async () => {
	await press("Enter");
	await until(async () => (await page.locator("#claim[open]").count()) === 1);
	await until(async () => (await focused()) === "claim-id", 5);
});
await ok("axe has nothing against the dialog", async () => equal(await violations(), ""));
await ok("where a token is needed it is asked for, and why", async () => {
	away = true; /* the console tells of the 401 that is meant */
	await page.keyboard.type("new");
	await press("Enter");
	await until(async () => (await focused()) === "claim-token");
	await until(async () => denied === 1);
	return /token|scope/.test(await text("#claim-error"));
});
await ok("with it the offer is claimed", async () => {
	await page.keyboard.type(token);
	await press("Enter");
	await until(async () => (await page.locator("#claim[open]").count()) === 0);
	equal((await get("/v1/vgpus/new")).state, "probation");
});
away = false;
await ok("the newcomer has a row that says so", () => until(async () => /probation/.test(await text(row("new")))));
await ok("the offer is no longer there to claim", () => until(async () => (await page.locator(".offer button:visible").count()) === 0));
await ok("the focus is where it went on", () => until(async () => (await focused()) === "offers-title"));
await ok("and it is said aloud", async () => /vGPU new begins with/.test(await page.locator("#spoken").textContent()));
await ok("the token is kept for this tab alone", async () =>
	equal(await page.evaluate(() => `${sessionStorage.getItem("gover-token")} ${JSON.stringify(localStorage)}`), `${token} {}`));
await ok("and is forgotten on request", async () => {
	await page.getByRole("button", { name: "Forget token" }).press("Enter");
	await page.getByRole("button", { name: "Give token" }).waitFor();
	equal(await page.evaluate(() => sessionStorage.getItem("gover-token")), null);
});
await rest("DELETE", "/v1/vgpus/new");
await ok("a vGPU that is removed leaves the page", () => until(async () => (await page.locator(row("new")).count()) === 0));

/* --- it follows a steal --- */
await page.evaluate(() => (window.still_the_same = true));
const before = await cap_shown("b");
await load("b", "busy");
await ok("a steal is told as it happens", () => until(async () => (await page.locator('.decision[data-kind="steal"]').count()) > 0, 60));
await ok("for whom, from whom, how much and why", async () => {
	const told = await text('.decision[data-kind="steal"]');
	const [steal] = (await get("/v1/decisions?limit=1000")).decisions.filter((d) => d.kind === "steal");
	return told.includes("from a") && told.includes("b") && told.includes("→") && (await text("#decision-list")).includes(steal.why);
});
await ok("and its numbers on request", async () => {
	const id = await page.locator('.decision[data-kind="steal"]').first().getAttribute("data-id"); /* a newer one may come */
	const details = page.locator(`.decision[data-id="${id}"] details`);
	await details.locator("summary").press("Enter");
	return /unused|util|donor/.test(await details.locator("dl").innerText());
});
await ok("the caps follow", () => until(async () => (await cap_shown("b")) > before && (await cap_shown("b")) === (await get("/v1/vgpus/b")).cap_pct));
await ok("who is in need stands first when that is asked for", async () => {
	const first = () => page.locator("#vgpu-rows tr .chart").first().getAttribute("data-vgpu");
	equal(await first(), "a");
	await page.selectOption("#order", "need");
	await until(async () => (await first()) === "b");
	await page.selectOption("#order", "name");
	equal(await first(), "a");
});
await ok("why? shows the decisions about one alone", async () => {
	await page.getByRole("button", { name: "Why: decisions about b" }).press("Enter");
	equal(await focused(), "decisions-title");
	equal(await page.locator("#decision-vgpu").inputValue(), "b");
});

/* --- alerts --- */
await ok("an alert appears in the part that is read aloud", () => until(async () =>
	(await page.locator('#alert-list[aria-live="polite"] [data-name="contract_limit"]').count()) === 1, 60));
await ok("its gravity stands in a word, not in a colour alone", async () => /(info|warning|critical): contract limit/.test(await text('[data-name="contract_limit"]')));
await ok("it is acknowledged by keyboard, once the token that was forgotten is given again", async () => {
	const button = page.locator('[data-name="contract_limit"] button');
	await tab_to(() => document.activeElement.closest('[data-name="contract_limit"]'));
	away = true;
	await press("Enter");
	await until(async () => (await focused()) === "sign-token");
	away = false;
	await page.keyboard.type(token);
	await press("Enter");
	await until(async () => !(await button.isVisible()));
	const [alert] = (await get("/v1/alerts")).alerts.filter((a) => a.name === "contract_limit");
	return alert.acked_at !== null;
});

/* --- dark and light --- */
await page.selectOption("#decision-vgpu", "");
await ok("dark as the system is", async () => equal(await page.evaluate(() => document.documentElement.dataset.theme), "dark"));
await ok("axe has nothing against it", async () => equal(await violations(), ""));
await shot("dark");
await ok("light by the switch, by keyboard", async () => {
	await page.locator("#theme").focus();
	await page.keyboard.type("light");
	await until(async () => (await page.evaluate(() => document.documentElement.dataset.theme)) === "light");
});
await ok("axe has nothing against that either", async () => equal(await violations(), ""));
await shot("light");
await ok("back to the system, which changes to light and dark", async () => {
	await page.selectOption("#theme", "auto");
	await page.emulateMedia({ colorScheme: "light" });
	await until(async () => (await page.evaluate(() => document.documentElement.dataset.theme)) === "light");
	await page.emulateMedia({ colorScheme: "dark" });
	await until(async () => (await page.evaluate(() => document.documentElement.dataset.theme)) === "dark");
});

/* --- a daemon that goes away --- */
away = true;
await stop("SIGKILL");
await ok("a daemon that is gone is told", () => until(async () => /no daemon since/.test(await text("#state-text"))));
await ok("axe has nothing against that", async () => equal(await violations(), ""));
await start();
await ok("one that comes back is followed again, without a reload", async () => {
	await until(async () => (await text("#state-text")) === "live", 40);
	equal(await page.evaluate(() => window.still_the_same), true);
});
away = false;
await ok("with what was decided meanwhile", () => until(async () => (await page.locator('.decision[data-kind="adopt"]').count()) > 0));
await ok("and the figures go on", async () => {
	const tile = await text("#host-tiles");
	await until(async () => (await text("#host-tiles")) !== tile, 30);
});
await rest("PATCH", "/v1/gpus/gpu0", { selling: "off" });
await ok("a change made elsewhere is seen", () => until(async () => /sale stopped/.test(await text("#gpus"))));

await ok("a page that nobody sees keeps no line", async () => {
	await page.evaluate(() => {
		Object.defineProperty(document, "hidden", { value: true, configurable: true });
		document.dispatchEvent(new Event("visibilitychange"));
	});
	await until(async () => (await text("#state-text")) === "resting");
});
await ok("and has one again when it is seen", async () => {
	await page.evaluate(() => {
		delete document.hidden;
		document.dispatchEvent(new Event("visibilitychange"));
	});
	await until(async () => (await text("#state-text")) === "live");
});

/* --- small, empty, poor, a stranger --- */
await ok("nothing is cut off on a telephone", async () => {
	await page.setViewportSize({ width: 390, height: 800 });
	const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
	await shot("narrow");
	equal(wide, 0);
});
await page.setViewportSize({ width: 1440, height: 900 });
await ok("events come whole, however they are cut", async () => {
	const whole = await page.evaluate(async () => {
		const { Parser } = await import("/web/stream.js");
		const wire = ': hello\n\nid: x-1\nevent: alert\ndata: {"a":1}\n\nevent: tick\r\ndata: {"b":\r\ndata: 2}\r\n\r\nevent: none\n\n';
		const of = (size) => {
			const parser = new Parser();
			const got = [];
			for (let at = 0; at < wire.length; at += size)
				got.push(...parser.take(wire.slice(at, at + size)));
			return JSON.stringify(got);
		};
		return [1, 2, 3, 7, 1000].map(of);
	});
	equal(new Set(whole).size, 1);
	equal(whole[0], '[{"id":"x-1","kind":"alert","data":"{\\"a\\":1}"},{"id":"x-1","kind":"tick","data":"{\\"b\\":\\n2}"}]');
});
const poor = await context.newPage();
listen(poor);
await poor.route("**/dygraph.min.js", (route) => route.fulfill({ contentType: "text/javascript", body: "" }));
await poor.goto(url);
await ok("without a chart library the figures are there, and it says why there are no lines", async () => {
	await until(async () => (await poor.locator("#vgpu-rows tr").count()) === 2);
	return poor.locator("#no-charts").isVisible();
});
await poor.close();
const stranger = await context.newPage();
listen(stranger);
away = true; /* the console tells of the 401s that are meant */
await stranger.route("**/v1/**", (route) => (route.request().headers().authorization === `Bearer ${token}` ? route.continue() :
	route.fulfill({ status: 401, contentType: "application/problem+json", body: JSON.stringify({ status: 401, detail: "a token, please" }) })));
await stranger.goto(url);
await ok("where reading wants a token the page asks for one", async () => {
	await until(async () => (await stranger.locator("#sign[open]").count()) === 1);
	equal(await stranger.locator("#sign-why").innerText(), "a token, please");
	equal(await stranger.locator("#state-text").textContent(), "a token is needed");
});
await ok("asks again for a better one", async () => {
	await stranger.keyboard.type("gvr_wrong");
	await stranger.keyboard.press("Enter");
	await until(async () => (await stranger.locator("#sign[open]").count()) === 1 && (await stranger.locator("#sign-token").inputValue()) === "");
	equal(await stranger.evaluate(() => sessionStorage.getItem("gover-token")), null);
});
await ok("and is there with the right one", async () => {
	await stranger.locator("#sign-token").fill(token);
	await stranger.keyboard.press("Enter");
	await until(async () => (await stranger.locator("#vgpu-rows tr").count()) === 2);
});
away = false;
await stranger.close();

/* --- what it must not do --- */
await ok("it asks nobody but its daemon", async () => equal([...asked].join(), url));
await ok("the console has nothing to say", async () => equal(said.join("\n"), ""));
await context.close();
await stop("SIGTERM");
plan();
process.exit(0);
