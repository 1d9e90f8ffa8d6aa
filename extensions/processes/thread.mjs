// Begins a thread: loads the module that it is given. A compiled one is loaded as it is, a source through jiti, as programs outside of src/ are.
import { workerData } from "node:worker_threads";

if (workerData.module.endsWith(".ts")) {
  const { createJiti } = await import("jiti");
  await createJiti(import.meta.url).import(workerData.module);
} else await import(workerData.module);
