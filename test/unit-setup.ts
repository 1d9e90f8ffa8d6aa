import childProcess from "node:child_process";
import dgram from "node:dgram";
import { syncBuiltinESMExports } from "node:module";
import net from "node:net";
import { afterEach, beforeEach, expect } from "vitest";

/** Seconds of processor time, which a busy machine does not change. */
const most = 5;
const where = "What a *.contract.test.ts or a *.slow.test.ts may do is in CONTRIBUTING.md.";
const broken: string[] = [];

/** Refuses a call. What catches the error does not hide it: the test fails at its end. */
function refuse(what: string): never {
  const message = `A unit test ${what}. ${where}`;
  broken.push(message);
  throw new Error(message);
}

for (const name of ["spawn", "fork", "exec", "execFile", "spawnSync", "execSync", "execFileSync"] as const)
  Object.assign(childProcess, { [name]: (command: string) => refuse(`starts a process (${command})`) });
net.Server.prototype.listen = () => refuse("opens a port");
net.Socket.prototype.connect = () => refuse("opens a connection");
dgram.createSocket = () => refuse("opens a socket");
syncBuiltinESMExports();

let before = process.cpuUsage();
beforeEach(() => {
  before = process.cpuUsage();
});
afterEach(({ task }) => {
  const { user, system } = process.cpuUsage(before);
  const seconds = (user + system) / 1e6;
  if (seconds > most) broken.push(`A unit test computes for ${seconds.toFixed(1)} s; at most ${most} s are allowed. ${where}`);
  const found = broken.splice(0);
  if (task.result?.errors === undefined) expect(found).toEqual([]);
});
