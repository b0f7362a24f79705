// SPDX-License-Identifier: MIT
// TAP output. A check that throws has failed; the next checks still run.

let n = 0;

export async function ok(text, check) {
	n++;
	try {
		const result = await check();
		if (result === false)
			throw new Error("the check returned false");
		console.log(`ok ${n} - ${text}`);
	} catch (error) {
		console.log(`not ok ${n} - ${text}`);
		console.log(String(error.stack ?? error).split("\n").slice(0, 8).map((line) => `# ${line}`).join("\n"));
	}
}

export function equal(got, wanted) {
	if (got !== wanted)
		throw new Error(`got ${JSON.stringify(got)}, wanted ${JSON.stringify(wanted)}`);
}

/** Waits until @check returns a true value; the time limit is generous, because the test does not measure speed. */
export async function until(check, seconds = 20) {
	const end = Date.now() + seconds * 1000;
	for (;;) {
		const result = await check().catch(() => false);
		if (result)
			return result;
		if (Date.now() > end)
			throw new Error(`not within ${seconds} s: ${check}`);
		await new Promise((resolve) => setTimeout(resolve, 50));
	}
}

export const plan = () => console.log(`1..${n}`);
