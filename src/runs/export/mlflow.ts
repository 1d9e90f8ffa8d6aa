import { z } from "zod";
import { RunError } from "../../core/errors.ts";
import type { Scalar } from "./tensorboard.ts";

export interface MlflowRun {
  readonly name: string;
  readonly experiment: string;
  /** Milliseconds since 1970. */
  readonly started: number;
  readonly ended?: number;
  readonly params: readonly (readonly [key: string, value: string])[];
  readonly scalars: readonly Scalar[];
  readonly wallTime: (step: number) => number;
}

const idSchema = z.object({ experiment_id: z.string() });

/** The most that MLflow takes in one `runs/log-batch`. */
const [mostMetrics, mostParams] = [1000, 100];

/**
 * Sends a run to an MLflow server over its REST API, version 2.0.
 * @param server such as `http://localhost:5000`
 * @returns the id of the run there
 * @throws RunError with the server's words
 */
export async function sendToMlflow(server: string, run: MlflowRun, request: typeof fetch = fetch): Promise<string> {
  const api = `${server.replace(/\/+$/, "")}/api/2.0/mlflow/`;
  const ask = (path: string, init?: RequestInit): Promise<Response> =>
    request(api + path, init).catch((cause: unknown) => {
      throw new RunError(api + path, "not reachable", { expected: "an MLflow server", cause });
    });
  const call = async (path: string, body: object): Promise<unknown> => {
    const headers = { "content-type": "application/json" };
    const response = await ask(path, { method: "POST", headers, body: JSON.stringify(body) });
    const text = await response.text();
    if (response.ok) return JSON.parse(text);
    throw new RunError(api + path, `HTTP ${response.status}`, { expected: "an answer of MLflow", hint: text.slice(0, 300) });
  };
  const found = await ask(`experiments/get-by-name?experiment_name=${encodeURIComponent(run.experiment)}`);
  const experiment = found.ok
    ? z.object({ experiment: idSchema }).parse(await found.json()).experiment.experiment_id
    : idSchema.parse(await call("experiments/create", { name: run.experiment })).experiment_id;
  const created = await call("runs/create", { experiment_id: experiment, run_name: run.name, start_time: run.started });
  const id = z.object({ run: z.object({ info: z.object({ run_id: z.string() }) }) }).parse(created).run.info.run_id;
  // MLflow keeps 6,000 characters of a parameter.
  const params = run.params.map(([key, value]) => ({ key, value: value.slice(0, 6000) }));
  for (let at = 0; at < params.length; at += mostParams)
    await call("runs/log-batch", { run_id: id, params: params.slice(at, at + mostParams) });
  const metrics = run.scalars.map(({ step, tag, value }) => ({
    key: tag.replace(/[^\w\-. /:]/g, "_"),
    value,
    step,
    timestamp: Math.round(run.wallTime(step) * 1000),
  }));
  for (let at = 0; at < metrics.length; at += mostMetrics)
    await call("runs/log-batch", { run_id: id, metrics: metrics.slice(at, at + mostMetrics) });
  await call("runs/update", { run_id: id, status: run.ended === undefined ? "RUNNING" : "FINISHED", end_time: run.ended });
  return id;
}
