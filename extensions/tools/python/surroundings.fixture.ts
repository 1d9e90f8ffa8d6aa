import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** What code must not reach: files, a server, a port and a process of this machine. */
export interface Surroundings {
  readonly folder: string;
  /** A file with the text "hidden value", one that does not exist, and one with the text "still here". */
  readonly secret: string;
  readonly written: string;
  readonly removed: string;
  /** Of a server that counts its visits. */
  readonly port: number;
  readonly visits: readonly string[];
  /** A port on which nothing listens. */
  readonly free: number;
  readonly victim: ChildProcess;
  /** True if something listens on the free port. */
  listens(): Promise<boolean>;
  close(): void;
}

export async function openSurroundings(): Promise<Surroundings> {
  const folder = mkdtempSync(join(tmpdir(), "retrograde-surroundings-"));
  const [secret, written, removed] = ["secret.txt", "written.txt", "removed.txt"].map((name) => join(folder, name));
  writeFileSync(secret, "hidden value");
  writeFileSync(removed, "still here");
  const visits: string[] = [];
  const server = createServer((request, response) => {
    visits.push(request.url ?? "");
    response.end("reached");
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const free = 20_000 + (process.pid % 20_000);
  const victim = spawn("sleep", ["3600"], { stdio: "ignore" });
  const listens = () =>
    new Promise<boolean>((resolve) => {
      const socket = connect(free, "127.0.0.1");
      socket.on("connect", () => {
        socket.destroy();
        resolve(true);
      });
      socket.on("error", () => resolve(false));
    });
  const close = () => {
    victim.kill("SIGKILL");
    server.close();
    rmSync(folder, { recursive: true });
  };
  return { folder, secret, written, removed, port, visits, free, victim, listens, close };
}
