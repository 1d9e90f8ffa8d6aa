/** Code that computes for a second, on a processor that four other programs use too. */
import { spawn } from "node:child_process";
import { asUserCode } from "../core/user-code.ts";
import { startWatchdog } from "./watchdog.ts";

const end = startWatchdog({ limitMs: 2000, advice: "" });
const others = Array.from({ length: 4 }, () => spawn("timeout", ["60", "sh", "-c", "while :; do :; done"]));
setTimeout(() => {
  asUserCode("a tool", () => {
    const before = process.cpuUsage().user;
    for (let n = 1; n % 1e7 > 0 || process.cpuUsage().user - before < 1e6; n++);
  });
  end();
  for (const other of others) other.kill();
  console.log("unharmed");
}, 1000);
