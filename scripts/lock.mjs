import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";

/** Does the work while no other process does: the file names the process that holds it. One left behind by a killed process is taken over. */
export async function oneAtATime(file, work) {
  for (let waited = false; !acquire(file); waited = true) {
    if (!waited) console.error("Waiting for another set-up of this folder …");
    await sleep(100);
  }
  try {
    await work();
  } finally {
    rmSync(file, { force: true });
  }
}

function acquire(file) {
  try {
    writeFileSync(file, String(process.pid), { flag: "wx" });
    return true;
  } catch (error) {
    if (error.code !== "EEXIST") throw error;
    if (holderIsGone(file)) rmSync(file, { force: true });
    return false;
  }
}

function holderIsGone(file) {
  try {
    const holder = Number(readFileSync(file, "utf8"));
    // An empty file is one whose owner has not written its number yet.
    if (holder === 0) return false;
    process.kill(holder, 0);
    return false;
  } catch (error) {
    return error.code === "ESRCH";
  }
}
