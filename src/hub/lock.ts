import { mkdir, open, readFile, rm, stat, utimes } from "node:fs/promises";
import { hostname } from "node:os";
import { dirname } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

/** The holder says so often that it is alive; after so long a silence it is not. */
const heartbeatMs = 2000;
const silenceMs = 15_000;
const pollMs = 100;

/**
 * Runs while no other process runs under the same lock file. Whoever died under it is succeeded.
 * It saves double work and is no guarantee (a process that was stopped for long loses it): what is written under it is verified.
 * @param onWait called once if another process holds it
 */
export async function withLock<T>(file: string, onWait: () => void, run: () => Promise<T>): Promise<T> {
  await mkdir(dirname(file), { recursive: true });
  let waited = false;
  while (!(await take(file))) {
    if (!waited) onWait();
    waited = true;
    await sleep(pollMs);
  }
  const heartbeat = setInterval(() => {
    const now = new Date();
    utimes(file, now, now).catch(() => {}); // taken away: see above
  }, heartbeatMs);
  try {
    return await run();
  } finally {
    clearInterval(heartbeat);
    await rm(file, { force: true });
  }
}

async function take(file: string): Promise<boolean> {
  try {
    const handle = await open(file, "wx");
    await handle.writeFile(`${process.pid} ${hostname()}`);
    await handle.close();
    return true;
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "EEXIST")) throw error;
  }
  if (await isAbandoned(file)) await rm(file, { force: true });
  return false;
}

/** True if its holder has ended, as far as this machine can tell, or has said nothing for long. */
async function isAbandoned(file: string): Promise<boolean> {
  const held = await stat(file).catch(() => undefined);
  if (held === undefined) return false;
  if (Date.now() - held.mtimeMs > silenceMs) return true;
  const [pid, host] = (await readFile(file, "utf8").catch(() => "")).split(" ");
  if (host !== hostname()) return false;
  try {
    process.kill(Number(pid), 0); // asks whether it is there, and does nothing to it
    return false;
  } catch (error) {
    return error instanceof Error && "code" in error && error.code === "ESRCH";
  }
}
