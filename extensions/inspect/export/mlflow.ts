import { z } from "zod";
import { RunError } from "../../../src/core/errors.ts";
import type { Scalar } from "./tensorboard.ts";

export interface MlflowRun {
  readonly name: string;
  readonly experiment: string;
  /** Milliseconds since 1970. */
  readonly started: number;
  readonly status: "RUNNING" | "FINISHED" | "KILLED";
  /** Undefined while the run is trained. */
  readonly ended: number | undefined;
  readonly params: readonly (readonly [key: string, value: string])[];
  readonly scalars: readonly Scalar[];
  readonly wallTime: (step: number) => number;
}

const idSchema = z.object({ experiment_id: z.string() });

/** The most that MLflow takes in one `runs/log-batch`, and of a name and of a parameter's value in characters. */
const [maxMetrics, maxParams, longestName, longestValue] = [1000, 100, 250, 6000];

/** Returns the name as MLflow takes it: letters and digits of any script, some signs, and no part of the path that means a folder. */
function nameOf(name: string): string {
  const parts = name.replace(/[^\p{L}\p{N}_\-. /:]/gu, "_").split("/");
  return beginning(parts.map((part) => (/^\.{0,2}$/.test(part) ? `${part}_` : part)).join("/"), longestName);
}

/** The first characters of a text, none of them cut in two. */
function beginning(text: string, length: number): string {
  return text.length <= length ? text : [...text].slice(0, length).join("");
}

/** Returns the header by which MLflow's own client logs in, from the variables that it reads. */
function login(env: NodeJS.ProcessEnv): Readonly<Record<string, string>> {
  const { MLFLOW_TRACKING_USERNAME: user, MLFLOW_TRACKING_PASSWORD: password, MLFLOW_TRACKING_TOKEN: token } = env;
  if (user && password) return { authorization: `Basic ${Buffer.from(`${user}:${password}`).toString("base64")}` };
  return token ? { authorization: `Bearer ${token}` } : {};
}

/**
 * Sends a run to an MLflow server over its REST API, version 2.0.
 * @param server such as `http://localhost:5000`
 * @param env MLFLOW_TRACKING_USERNAME and MLFLOW_TRACKING_PASSWORD, or MLFLOW_TRACKING_TOKEN, where the server asks for them
 * @returns the id of the run there
 * @throws RunError with the server's words
 */
export async function sendToMlflow(server: string, run: MlflowRun, env: NodeJS.ProcessEnv = process.env): Promise<string> {
  const api = `${server.replace(/\/+$/, "")}/api/2.0/mlflow/`;
  const headers = { "content-type": "application/json", ...login(env) };
  const ask = (path: string, init?: RequestInit): Promise<Response> =>
    fetch(api + path, { ...init, headers }).catch((cause: unknown) => {
      throw new RunError(api + path, "not reachable", { expected: "an MLflow server", cause });
    });
  const call = async (path: string, body: object): Promise<unknown> => {
    const response = await ask(path, { method: "POST", body: JSON.stringify(body) });
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
  const params = run.params.map(([key, value]) => ({ key: nameOf(key), value: beginning(value, longestValue) }));
  for (let at = 0; at < params.length; at += maxParams)
    await call("runs/log-batch", { run_id: id, params: params.slice(at, at + maxParams) });
  const metrics = run.scalars.map(({ step, tag, value }) => ({
    key: nameOf(tag),
    value,
    step,
    timestamp: Math.round(run.wallTime(step) * 1000),
  }));
  for (let at = 0; at < metrics.length; at += maxMetrics)
    await call("runs/log-batch", { run_id: id, metrics: metrics.slice(at, at + maxMetrics) });
  await call("runs/update", { run_id: id, status: run.status, end_time: run.ended });
  return id;
}
