import { startGroup } from "./group.ts";
import { stubborn } from "./stubborn.fixture.ts";

/** Starts ten programs that do not want to end, writes the numbers of all processes, and ends in a way. */
const [, , way = ""] = process.argv;
const groups = Array.from({ length: 10 }, () => startGroup("/bin/sh", ["-c", stubborn], { stdio: ["pipe", "pipe", "ignore"] }));
const lines = groups.map(
  ({ child }) => new Promise<string>((resolve) => child.stdout?.once("data", (data: Buffer) => resolve(String(data)))),
);
process.stdout.write(`${(await Promise.all(lines)).join(" ").replaceAll("\n", "")}\n`);
if (way === "exit") process.exit(0);
if (way === "throw") throw new Error("thrown");
if (way === "end") await Promise.all(groups.map((group) => group.end(100)));
else setInterval(() => {}, 1000);
