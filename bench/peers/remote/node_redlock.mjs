// SPDX-License-Identifier: MIT
// node-redlock as a peer, over one server or several; threads are tasks of its one thread. See README.md.
import { createRequire } from "node:module";
import fs from "node:fs";
import path from "node:path";
import readline from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";

// The packages stand where they were installed.
const require = createRequire(path.join(process.env.INTEROP_MODULES, "x.js"));
const Redis = require("ioredis");
const Redlock = require("redlock").default ?? require("redlock");

const [ports, key, ...rest] = process.argv.slice(2);
const [threads, sections, runMs, holdUs, pauseUs, delayMs] = rest.slice(0, 6).map(Number);
const counter = rest[6];
const clients = ports.split(",").map((port) => new Redis(Number(port), "127.0.0.1"));
// Its 10 tries are raised, since a contest has no use for giving up; its delay between them is not.
const polling = delayMs < 0 ? {} : { retryDelay: delayMs, retryJitter: delayMs };
const redlock = new Redlock(clients, { retryCount: -1, ...polling });
const now = () => process.hrtime.bigint();

async function section() {
  const asked = now();
  const lock = await redlock.acquire([key], 10000);
  const had = now();
  if (counter !== "-") {
    const value = Number(fs.readFileSync(counter, "utf8"));
    fs.writeFileSync(counter, `${value + 1}\n`);
  }
  if (holdUs > 0) await sleep(holdUs / 1000);
  const letting = now();
  await lock.release();
  const let_ = now();
  if (pauseUs > 0) await sleep(pauseUs / 1000);
  return `${asked} ${had} ${letting} ${let_}`;
}

async function takePart(nth) {
  const records = [];
  const end = runMs > 0 ? performance.now() + runMs : Infinity;
  while ((sections === 0 || records.length < sections) && performance.now() < end) {
    records.push(`${nth} ${await section()}\n`);
  }
  return records.join("");
}

await (await redlock.acquire([key], 10000)).release();
console.log("ready");
await new Promise((resolve) => readline.createInterface({ input: process.stdin }).once("line", resolve));
const records = await Promise.all(Array.from({ length: threads }, (_, nth) => takePart(nth)));
process.stdout.write(records.join(""), () => process.exit(0));
