// SPDX-License-Identifier: MIT
// node-redlock as a contender. See ../README.md.
import { createRequire } from "node:module";
import fs from "node:fs";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

// The packages stand where the suite installed them.
const require = createRequire(path.join(process.env.INTEROP_MODULES, "x.js"));
const Redis = require("ioredis");
const Redlock = require("redlock").default ?? require("redlock");

const [host, port, key, sections, directory, name] = process.argv.slice(2);
const file = (one) => path.join(directory, one);
const client = new Redis(Number(port), host);
const redlock = new Redlock([client], { retryCount: -1, retryDelay: 1, retryJitter: 0, automaticExtensionThreshold: 500 });
const log = fs.openSync(file(`${name}.log`), "w");
while (!fs.existsSync(file("start"))) await sleep(1);
for (let i = 0; i < Number(sections); i++) {
  const lock = await redlock.acquire([key], 10000);
  const begin = process.hrtime.bigint();
  fs.closeSync(fs.openSync(file("marker"), "wx"));
  const value = Number(fs.readFileSync(file("counter"), "utf8"));
  fs.writeFileSync(file("counter"), `${value + 1}\n`);
  fs.unlinkSync(file("marker"));
  fs.writeSync(log, `${name} ${begin} ${process.hrtime.bigint()}\n`);
  await lock.release();
}
fs.closeSync(log);
client.disconnect();
