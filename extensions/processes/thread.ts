import { Worker } from "node:worker_threads";

/**
 * Starts a thread that runs a module: the compiled one, or its source where this is one. It keeps no program from its end.
 * @param base `import.meta.url` of the caller
 * @param name of the module beside it, without an ending
 * @param settings what the module finds as `workerData.settings`
 */
export function startThread(base: string, name: string, settings: unknown): Worker {
  const module = new URL(`./${name}${base.endsWith(".ts") ? ".ts" : ".js"}`, base).href;
  const thread = new Worker(new URL("./thread.mjs", import.meta.url), { workerData: { module, settings } });
  thread.unref();
  return thread;
}
