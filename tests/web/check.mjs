// SPDX-License-Identifier: MIT
// Tests the web page in a browser: rendering, live updates, keyboard use, dark and light theme. Started by tests/check-web.
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { LAUNCH, chromium, violations as violations_of } from "./browser.mjs";
import { get, load, rest, sell, start, stop, url } from "./daemon.mjs";
import { equal, ok, plan, until } from "./tap.mjs";

const { CONF, PROFILE, SHOTS } = process.env;

const messages = []; /* console messages and script errors */
const origins = new Set();
let away = false; /* true while failed requests are expected */

function listen(page) {
	page.on("console", (m) => {
		const expected = away && /Failed to load resource|net::ERR/.test(m.text());
		if (["error", "warning"].includes(m.type()) && !expected)
			messages.push(m.text());
	});
	page.on("pageerror", (e) => messages.push(String(e.stack)));
	page.on("request", (r) => origins.add(new URL(r.url()).origin));
}

const violations = () => violations_of(page);

await start();
await sell({ id: "a", vm: "<img src=x onerror=alert(1)>", initial_cap_pct: 80, labels: { workload: "load:pct=10" } });
await sell({ id: "b", vm: "vm-b", initial_cap_pct: 50, target_fps: 30, labels: { workload: "frame:gpu_ms=2,cpu_ms=4,fps_max=31" } });

const context = await chromium.launchPersistentContext(PROFILE, {
	...LAUNCH, colorScheme: "dark", viewport: { width: 1440, height: 900 }, reducedMotion: "reduce",
});
const page = context.pages()[0] ?? (await context.newPage());
listen(page);
mkdirSync(SHOTS, { recursive: true });
const shot = (name) => page.screenshot({ path: `${SHOTS}/${name}.png` });
const text = (selector) => page.locator(selector).first().innerText();
const row = (id) => `#vgpu-rows tr[data-vgpu="${id}"]`;
const cap_shown = async (id) => parseInt(await page.locator(`${row(id)} .c-cap .now`).innerText(), 10);
const focused = () => page.evaluate(() => document.activeElement.id || document.activeElement.textContent.trim());
const press = (key) => page.keyboard.press(key);

/** Presses Tab until @wanted() is true in the page; throws after 80 times. */
async function tab_to(wanted) {
	for (let i = 0; i < 80; i++) {
		await press("Tab");
		if (await page.evaluate(wanted))
			return;
	}
	throw new Error(`not reached by Tab: ${wanted}`);
}

/* --- live data --- */
await page.goto(url);
await ok("the page becomes live", () => until(async () => (await text("#state-text")) === "live"));
await ok("the first Tab offers to skip to the vGPUs", async () => {
	await press("Tab");
	equal(await focused(), "Skip to the vGPUs");
	await press("Enter");
	equal(await focused(), "vgpus");
});
await ok("each vGPU has a row", () => until(async () => (await page.locator("#vgpu-rows tr").count()) === 2));
await ok("a row shows the frame rate of the daemon", () => until(async () => {
	const shown = parseFloat(await page.locator(`${row("b")} .c-rate .now`).innerText());
	return Math.abs(shown - (await get("/v1/vgpus/b")).fps) < 2;
}));
await ok("a VM name with markup is shown as text", async () => {
	equal(await page.locator("#content img").count(), 0);
	equal(await text(`${row("a")} th .vm`), "<img src=x onerror=alert(1)>");
});
const chart = (panel) => page.locator(`${panel} .chart`);
const described = (panel) => chart(panel).getAttribute("aria-label");
const select = async (id) => {
	await page.getByRole("button", { name: `Details of ${id}`, exact: true }).press("Enter");
	await until(async () => (await text("#details-title")) === id);
};
const inked = (panel) => page.evaluate((id) => {
	const canvas = document.querySelector(`${id} .chart canvas`);
	const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
	return data.filter((x, i) => i % 4 === 3 && x > 0).length;
}, panel);
await ok("each row has a line of its newest values", () => until(async () =>
	(await page.locator("#vgpu-rows .spark-line").evaluateAll((lines) => lines.filter((l) => l.getAttribute("d").length > 20).length)) === 2));
await ok("the worst vGPU is selected", () => until(async () => (await text("#details-title")) === (await page.locator("#vgpu-rows tr").first().getAttribute("data-vgpu"))));
await ok("Enter on a row selects its vGPU", () => select("b"));
await ok("the details contain the contract", async () => /vm-b[^]*50 % sold/.test(await text("#details-facts")));
await ok("the chart of the selected vGPU has lines", () => until(async () => (await inked("#details-chart")) > 500));
await ok("the chart of the GPU has lines", async () => {
	await chart("#history-chart").scrollIntoViewIfNeeded();
	await until(async () => (await inked("#history-chart")) > 500);
});
await ok("each chart has a description in words", () => until(async () =>
	/^b, last 10 min: FPS .*target 30; cap .* %; used .* %$/.test(await described("#details-chart")) &&
	/^gpu0, last 10 min: caps .* %; used .* %$/.test(await described("#history-chart"))));
await ok("figures update without interaction", async () => {
	const before = await text("#host-tiles");
	await until(async () => (await text("#host-tiles")) !== before, 30);
});
await ok("the host section shows sold caps and profit", async () =>
	/1\.30 ×/.test(await text("#gpus")) && /Profit/.test(await text("#host-tiles")) && (await text("#economics-rows")).includes("Penalties"));
const in_chart = (panel, name) => page.locator(panel).getByRole("button", { name, exact: true });
await ok("buttons change the time range of a chart", async () => {
	for (const [name, words] of [["30 d", "last 30 d"], ["all", "whole history"], ["1 h", "last 1 h"]]) {
		await in_chart("#history-chart", name).press("Enter");
		await until(async () => (await described("#history-chart")).includes(`gpu0, ${words}: caps`));
	}
});
await ok("a chart of the whole history begins with the oldest record", async () => {
	const asked = page.waitForResponse((r) => r.url().includes("/load?") && !r.url().includes("step="));
	await in_chart("#history-chart", "all").press("Enter");
	const from = Number(new URL((await asked).url()).searchParams.get("from"));
	return Math.abs(from - Date.now() / 1000) < 90000; /* the day of the first record */
});
await ok("a chart is zoomed by keyboard, and follows the time again", async () => {
	await in_chart("#details-chart", "Zoom in").press("Enter");
	await until(async () => /^b, zoomed: /.test(await described("#details-chart")));
	await in_chart("#details-chart", "now").press("Enter");
	await until(async () => /^b, last 10 min: /.test(await described("#details-chart")));
});
await ok("a drag in a chart shows a part of it, and a double-click all of it", async () => {
	await chart("#details-chart").scrollIntoViewIfNeeded();
	const box = await chart("#details-chart").boundingBox();
	await page.mouse.move(box.x + box.width - 200, box.y + 40);
	await page.mouse.down();
	await page.mouse.move(box.x + box.width - 80, box.y + 42, { steps: 5 });
	await page.mouse.up();
	await until(async () => /^b, zoomed: /.test(await described("#details-chart")));
	await page.mouse.dblclick(box.x + box.width - 120, box.y + 40);
	await until(async () => /^b, last 10 min: /.test(await described("#details-chart")));
	await page.mouse.move(5, 5);
});
await ok("the filter shows only vGPUs that contain all its words", async () => {
	await page.locator("#filter").fill("pct=10 gpu0");
	await until(async () => (await page.locator("#vgpu-rows tr").count()) === 1);
	equal(await text("#vgpu-count"), "1 of 2");
	await page.locator("#filter").fill("nothing like this");
	await page.locator("#no-match").waitFor();
	await page.locator("#filter").fill("");
	await until(async () => (await page.locator("#vgpu-rows tr").count()) === 2);
});

/* --- an offer is claimed by keyboard only --- */
await ok("a new offer appears", () => until(async () => (await page.locator("#offer-list .offer").count()) === 1, 60));
/* If the daemon supports no tokens, the test answers 401 instead of the daemon. */
const made = await rest("POST", "/v1/tokens", { name: "page", scope: "operate" });
const token = made.status === 201 ? made.body.token : "gvr_test";
const changes = (request) => request.method() === "POST";
if (made.status !== 201) {
	await page.route("**/v1/**", (route) => (!changes(route.request()) || route.request().headers().authorization === `Bearer ${token}` ? route.continue() :
		route.fulfill({ status: 401, contentType: "application/problem+json", body: JSON.stringify({ status: 401, detail: "token required" }) })));
}
let denied = 0;
page.on("response", (response) => (denied += [401, 403].includes(response.status())));
await ok("Tab reaches the Claim button, and the focus is visible", async () => {
	await tab_to(() => document.activeElement.matches(".offer button"));
	equal(await page.evaluate(() => getComputedStyle(document.activeElement).outlineStyle), "solid");
});
await ok("Enter opens a dialog for the name of the new vGPU", async () => {
	await press("Enter");
	await until(async () => (await page.locator("#claim[open]").count()) === 1);
	await until(async () => (await focused()) === "claim-id", 5);
});
await ok("the dialog lists the flavours of the offer, the leading one first", async () => {
	equal((await page.locator("#claim-flavor option").allTextContents()).join(", "), "default: 30 %, small: 15 %");
	return /^30 % of .*30 frames/.test(await text("#claim-what"));
});
await ok("a chosen flavour shows its terms", async () => {
	await page.locator("#claim-flavor").selectOption("small");
	await until(async () => /^15 % of .*20 frames/.test(await text("#claim-what")), 5);
	await page.locator("#claim-id").focus();
});
await ok("axe finds no violation in the dialog", async () => equal(await violations(), ""));
await ok("if a token is required, the dialog asks for it with the reason", async () => {
	away = true; /* the console logs the expected 401 */
	await page.keyboard.type("new");
	await press("Enter");
	await until(async () => (await focused()) === "claim-token");
	await until(async () => denied === 1);
	return /token|scope/.test(await text("#claim-error"));
});
await ok("the offer is claimed with the token", async () => {
	await page.keyboard.type(token);
	await press("Enter");
	await until(async () => (await page.locator("#claim[open]").count()) === 0);
	const { state, flavor } = await get("/v1/vgpus/new");
	equal(`${state} ${flavor}`, "probation small");
});
away = false;
await ok("the new vGPU has a row with its probation", () => until(async () => /probation/.test(await text(row("new")))));
await ok("the claimed offer has no Claim button", () => until(async () => (await page.locator(".offer button:visible").count()) === 0));
await ok("the focus moves to the offers", () => until(async () => (await focused()) === "offers-title"));
await ok("screen readers announce the claim", async () => /vGPU new has a cap of/.test(await page.locator("#spoken").textContent()));
await ok("the token is stored for this tab only", async () =>
	equal(await page.evaluate(() => `${sessionStorage.getItem("gover-token")} ${JSON.stringify(localStorage)}`), `${token} {}`));
await ok("signing out removes the token", async () => {
	await page.locator("#sign-button").press("Enter");
	await page.locator("#sign-button", { hasText: "Sign in" }).waitFor();
	await until(async () => (await text("#state-text")) === "live");
	equal(await page.evaluate(() => sessionStorage.getItem("gover-token")), null);
});
await rest("DELETE", "/v1/vgpus/new");
await ok("a removed vGPU disappears", () => until(async () => (await page.locator(row("new")).count()) === 0));

/* --- a steal --- */
await page.evaluate(() => (window.still_the_same = true));
const before = await cap_shown("b");
await load("b", "busy");
await ok("a steal appears when it happens", () => until(async () => (await page.locator('#decision-list .decision[data-kind="steal"]').count()) > 0, 60));
await ok("a steal shows receiver, donor, caps and reason", async () => {
	const shown = await text('#decision-list .decision[data-kind="steal"]');
	const [steal] = (await get("/v1/decisions?limit=1000")).decisions.filter((d) => d.kind === "steal");
	return shown.includes("from a") && shown.includes("b") && shown.includes("→") && (await text("#decision-list")).includes(steal.why);
});
await ok("a steal shows its numbers on request", async () => {
	const id = await page.locator('#decision-list .decision[data-kind="steal"]').first().getAttribute("data-id"); /* a newer steal may appear */
	const details = page.locator(`#decision-list .decision[data-id="${id}"] details`);
	await details.locator("summary").press("Enter");
	return /unused|util|donor/.test(await details.locator("dl").innerText());
});
await ok("the caps are updated", () => until(async () => (await cap_shown("b")) > before && (await cap_shown("b")) === (await get("/v1/vgpus/b")).cap_pct));
await ok("vGPUs in need can be sorted first", async () => {
	const first = () => page.locator("#vgpu-rows tr").first().getAttribute("data-vgpu");
	await page.selectOption("#order", "name");
	await until(async () => (await first()) === "a");
	await page.selectOption("#order", "worst");
	await until(async () => (await first()) === "b");
});
await ok("a selected vGPU has a diagnosis and its last decisions", async () => {
	await select("b");
	await until(async () => (await text("#diagnosis-text")).startsWith("b "));
	await until(async () => (await text("#details-decisions")).includes("steal"));
});
await ok("the button of the details shows all decisions about the vGPU", async () => {
	await page.getByRole("button", { name: "All decisions" }).press("Enter");
	equal(await focused(), "decisions-title");
	equal(await page.locator("#decision-vgpu").inputValue(), "b");
});

/* --- alerts --- */
await ok("an alert appears in the live region", () => until(async () =>
	(await page.locator('#alert-list[aria-live="polite"] [data-name="contract_limit"]').count()) === 1, 60));
await ok("the severity is shown as a word", async () => /(info|warning|critical): contract limit/.test(await text('[data-name="contract_limit"]')));
await ok("an alert is acknowledged by keyboard after the token is entered again", async () => {
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
await ok("the theme follows the system (dark)", async () => equal(await page.evaluate(() => document.documentElement.dataset.theme), "dark"));
await ok("axe finds no violation in the dark theme", async () => equal(await violations(), ""));
await shot("dark");
await ok("the theme is changed to light by keyboard", async () => {
	await page.locator("#theme").focus();
	await page.keyboard.type("light");
	await until(async () => (await page.evaluate(() => document.documentElement.dataset.theme)) === "light");
});
await ok("axe finds no violation in the light theme", async () => equal(await violations(), ""));
await shot("light");
await ok("the theme follows changes of the system", async () => {
	await page.selectOption("#theme", "auto");
	await page.emulateMedia({ colorScheme: "light" });
	await until(async () => (await page.evaluate(() => document.documentElement.dataset.theme)) === "light");
	await page.emulateMedia({ colorScheme: "dark" });
	await until(async () => (await page.evaluate(() => document.documentElement.dataset.theme)) === "dark");
});

/* --- a stopped daemon --- */
away = true;
await stop("SIGKILL");
await ok("the page shows that the daemon is not reachable", () => until(async () => /not reachable since/.test(await text("#state-text"))));
await ok("axe finds no violation without the daemon", async () => equal(await violations(), ""));
await start();
await ok("the page reconnects to a restarted daemon without a reload", async () => {
	await until(async () => (await text("#state-text")) === "live", 40);
	equal(await page.evaluate(() => window.still_the_same), true);
});
away = false;
await ok("decisions of the restart appear", () => until(async () => (await page.locator('#decision-list .decision[data-kind="adopt"]').count()) > 0));
await ok("figures update after the restart", async () => {
	const tile = await text("#host-tiles");
	await until(async () => (await text("#host-tiles")) !== tile, 30);
});
await rest("PATCH", "/v1/gpus/gpu0", { mode: "frozen" });
await ok("a frozen GPU sells nothing, and says why", () => until(async () => /not selling: GPU gpu0 is in mode frozen/.test(await text("#gpus"))));
await rest("PATCH", "/v1/gpus/gpu0", { mode: "act", selling: "off" });
await ok("a change by another client appears", () => until(async () => /not selling/.test(await text("#gpus"))));

await ok("a hidden page closes its stream", async () => {
	await page.evaluate(() => {
		Object.defineProperty(document, "hidden", { value: true, configurable: true });
		document.dispatchEvent(new Event("visibilitychange"));
	});
	await until(async () => (await text("#state-text")) === "paused");
});
await ok("a visible page opens its stream again", async () => {
	await page.evaluate(() => {
		delete document.hidden;
		document.dispatchEvent(new Event("visibilitychange"));
	});
	await until(async () => (await text("#state-text")) === "live");
});

/* --- small screens, missing libraries, missing tokens --- */
await ok("the page fits a narrow screen", async () => {
	await page.setViewportSize({ width: 390, height: 800 });
	/* charts follow the new width in the next frames */
	await until(() => page.evaluate(() => document.documentElement.scrollWidth === document.documentElement.clientWidth));
	await shot("narrow");
});
await page.setViewportSize({ width: 1440, height: 900 });
await ok("the parser returns the same events for any split of the stream", async () => {
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
await ok("without a chart library, the page shows figures and a note", async () => {
	await until(async () => (await poor.locator("#vgpu-rows tr").count()) === 2);
	return poor.getByText("No charts: this daemon was built without libjs-dygraphs.").first().waitFor();
});
await poor.close();
const stranger = await context.newPage();
listen(stranger);
away = true; /* the console logs the expected 401s */
await stranger.route("**/v1/**", (route) => (route.request().headers().authorization === `Bearer ${token}` ? route.continue() :
	route.fulfill({ status: 401, contentType: "application/problem+json", body: JSON.stringify({ status: 401, detail: "a token, please" }) })));
await stranger.goto(url);
await ok("if reading requires a token, the page asks for it", async () => {
	await until(async () => (await stranger.locator("#sign[open]").count()) === 1);
	return /gover-ctl token add/.test(await stranger.locator("#sign").innerText()) && (await stranger.locator("#state-text").textContent()) === "Not signed in";
});
await ok("the page asks again after an invalid token", async () => {
	await stranger.keyboard.type("gvr_wrong");
	await stranger.keyboard.press("Enter");
	await until(async () => (await stranger.locator("#sign[open]").count()) === 1 && (await stranger.locator("#sign-token").inputValue()) === "" &&
		/not valid/.test(await stranger.locator("#sign-why").innerText()));
	equal(await stranger.evaluate(() => sessionStorage.getItem("gover-token")), null);
});
await ok("the page loads with a valid token", async () => {
	await stranger.locator("#sign-token").fill(token);
	await stranger.keyboard.press("Enter");
	await until(async () => (await stranger.locator("#vgpu-rows tr").count()) === 2);
});
away = false;
await stranger.close();

/* --- device memory, which the simulated GPU does not measure --- */
await ok("without memory figures, the details do not mention memory", async () => !/Memory/.test(await text("#details-facts")));
const metered = await context.newPage();
listen(metered);
const amounts = { a: { memory_used_mib: 3.25, memory_mib: 4 }, b: { memory_used_mib: 1536, memory_mib: 0 } };
await metered.route("**/v1/host", async (route) => {
	const response = await route.fetch().catch(() => null);
	if (!response)
		return; /* the page was closed and the daemon stopped */
	const host = await response.json();
	await route.fulfill({ response, json: { ...host, vgpus: host.vgpus.map((v) => ({ ...v, ...amounts[v.id] })) } });
});
/* The stream ends at once, so that no event replaces these figures. */
await metered.route("**/v1/events", (route) => route.fulfill({ contentType: "text/event-stream", body: ": hello\n\n" }));
await metered.goto(url);
const metered_facts = async (id) => {
	await metered.locator(`${row(id)} button`).press("Enter", { timeout: 2000 });
	return metered.locator("#details-facts").innerText({ timeout: 2000 });
};
await ok("the details show the device memory in use and its limit", () => until(async () => /Memory\s+3\.3 MiB of 4 MiB/.test(await metered_facts("a"))));
await ok("the details show the device memory in use without a limit", () => until(async () => /Memory\s+1\.5 GiB, no limit/.test(await metered_facts("b"))));
await metered.close();

/* --- units of work --- */
away = true; /* the console logs that the daemon is not reachable */
await stop("SIGTERM");
writeFileSync(CONF, readFileSync(CONF, "utf8").replace("backend = sim", "$&\nunit = work").replace("flavor_target_fps", "flavor_target_rate"));
await start();
await rest("PATCH", "/v1/vgpus/b", { target_rate: 31.5, labels: { workload: "frame:gpu_ms=2,cpu_ms=4,fps_max=31" } });
await page.goto(url);
away = false;
await ok("a row shows the rate of units of work", () => until(async () => {
	const figure = page.locator(`${row("b")} .c-rate`);
	const shown = parseFloat(await figure.locator(".now").innerText());
	return Math.abs(shown - (await get("/v1/vgpus/b")).rate) < 2 && /\/ 32$/.test((await figure.innerText()).trim());
}));
await ok("the heading names the unit", async () => equal((await text("#rate-head")).toLowerCase(), "fps or units/s"));
await ok("the chart is described in units of work", async () => {
	await select("b");
	await until(async () => /units\/s \d+/.test(await described("#details-chart")));
});
await shot("work");

/* --- no foreign requests, no errors --- */
await ok("the page sends requests only to its daemon", async () => equal([...origins].join(), url));
await ok("the console has no messages", async () => equal(messages.join("\n"), ""));
await context.close();
await stop("SIGTERM");
plan();
process.exit(0);
