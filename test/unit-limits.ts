import childProcess from "node:child_process";
import dgram from "node:dgram";
import { syncBuiltinESMExports } from "node:module";
import net from "node:net";

/** Refuses processes and ports in unit tests. Once for a process: test/loopback.ts may have put a network in memory in its place since. */
export const where = "What a *.contract.test.ts or a *.slow.test.ts may do is in CONTRIBUTING.md.";
/** What was refused since the last look. What catches the error does not hide it: the test fails at its end. */
export const refused: string[] = [];

function refuse(what: string): never {
  const message = `A unit test ${what}. ${where}`;
  refused.push(message);
  throw new Error(message);
}

for (const name of ["spawn", "fork", "exec", "execFile", "spawnSync", "execSync", "execFileSync"] as const)
  Object.assign(childProcess, { [name]: (command: string) => refuse(`starts a process (${command})`) });
net.Server.prototype.listen = () => refuse("opens a port");
net.Socket.prototype.connect = () => refuse("opens a connection");
dgram.createSocket = () => refuse("opens a socket");
syncBuiltinESMExports();
