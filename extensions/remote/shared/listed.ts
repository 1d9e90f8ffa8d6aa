import { z } from "zod";
import { door } from "../../../src/core/door.ts";
import type { HttpClient } from "./http.ts";
import { RemoteEnvError } from "./problem.ts";

/** Answers of the routes that list tasks, which ORS and OpenEnv have in common. */
export const namesSchema = z.tuple([z.string().min(1)], z.string());
const splitsSchema = z.array(door("a split of a server", { name: z.string() }, { ignores: ["type"] })).min(1);
const countSchema = door("a split's size of a server", { num_tasks: z.int().min(0) });
/** The environment that a task is from. The task stays with the server, which is given its index. */
const placedSchema = door("a task of a server", { env_name: z.string().nullish() }, { ignores: ["task"] });

/**
 * The number of tasks of each split that a server lists of an environment.
 * @returns undefined if it lists no splits
 * @throws RemoteEnvError if its tasks are another environment's, which would be trained on unnoticed
 */
export async function listedSizes(http: HttpClient, name: string): Promise<ReadonlyMap<string, number> | undefined> {
  const path = `/${encodeURIComponent(name)}`;
  const answer = await http.ask({ path: `${path}/splits` });
  if (answer.status !== 200) return undefined;
  const sizes = await Promise.all(
    http.read(splitsSchema, answer.text, "splits").map(async ({ name: split }) => {
      const { num_tasks } = await http.json(countSchema, { method: "POST", path: `${path}/num_tasks`, body: { split } });
      return [split, num_tasks] as const;
    }),
  );
  const full = sizes.find(([, size]) => size > 0);
  if (full !== undefined) await requireNamed(http, name, full[0]);
  return new Map(sizes);
}

/** OpenEnv 0.10, and servers of ORS before openreward 0.1.157, do not say whose tasks are. */
async function requireNamed(http: HttpClient, name: string, split: string): Promise<void> {
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
