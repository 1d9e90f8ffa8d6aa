import { z } from "zod";
import type { HttpClient } from "./http.ts";
import { RemoteEnvError } from "./problem.ts";

const placedSchema = z.object({ env_name: z.string().nullish() });

/**
 * Asks for a task, as ORS and OpenEnv name it. A server whose tasks are another environment's would be trained on unnoticed. OpenEnv 0.10, and
 * servers of ORS before openreward 0.1.157, do not say whose they are.
 * @throws RemoteEnvError if the task is another environment's
 */
export async function requireNamed(http: HttpClient, name: string, split: string): Promise<void> {
  const path = `/${encodeURIComponent(name)}/task`;
  const answer = await http.ask({ method: "POST", path, body: { split, index: 0 } });
  if (answer.status !== 200) return;
  const { env_name } = http.read(placedSchema, answer.text, path);
  if (env_name === null || env_name === undefined || env_name.toLowerCase() === name.toLowerCase()) return;
  throw new RemoteEnvError("malformed", `env_name of POST ${path}`, env_name, {
    expected: `${name}, which was asked for`,
    hint: `The server ${http.serverVersion ?? "of an unknown version"} answers with another environment's tasks.`,
  });
}
