import { takeLock } from "./lock.ts";

// Tries to take the lock file that is its argument, says how that went, and ends without releasing it.
console.log("lock" in takeLock(process.argv[2]) ? "taken" : "refused");
setTimeout(() => process.kill(process.pid, "SIGKILL"), 5000);
