import { z } from "zod";
import { door } from "../../../src/core/door.ts";
import { type Environment, type Split, splitsOf } from "../../../src/environments/environment.ts";
import { parseBody } from "../../http/body.ts";
import { HttpError } from "../../http/http-error.ts";
import type { HttpRequest, Reply } from "../../http/server.ts";

/** Most tasks that one answer lists, and the tasks that clients see of a split without an end: they list all before they play one. */
const maxListed = 10_000;

const splitSchema = door("a split asked of us", { split: z.string() });
const indexSchema = door("a task asked of us", { split: z.string(), index: z.int() });
const rangeSchema = door("tasks asked of us", { split: z.string(), start: z.int().nullish(), stop: z.int().nullish() });

/** Returns what a client learns of a task: its place. It is sent back to start the task. */
function placeOf(split: Split, index: number): object {
  return { id: `${split}/${index}`, split, index };
}

/** The names that clients know of splits; others count as validation. */
const splitTypes = ["train", "validation", "test"];

/**
 * Task routes, which ORS and OpenEnv have in common.
 * @param name the environment's, as clients know it
 * @returns undefined for other routes
 * @throws HttpError (400) for a split that is none
 */
export async function taskRoute(
  environment: Environment,
  name: string,
  route: string,
  { method, body }: Pick<HttpRequest, "method" | "body">,
): Promise<Reply | undefined> {
  if (method === "GET") {
    if (route !== "splits") return undefined;
    const json = await Promise.all(
      splitsOf(environment).map(async (split) => {
        const type = splitTypes.includes(split) ? split : "validation";
        return (await environment.size(split)) > 0 ? [{ name: split, type }] : [];
      }),
    );
    return { json: json.flat() };
  }
  if (route === "num_tasks") {
    const { split } = parseBody(await body(), splitSchema);
    const size = await sizeOf(environment, split);
    return { json: { num_tasks: listedOf(size) } };
  }
  if (route === "tasks") {
    const { split } = parseBody(await body(), splitSchema);
    const size = listedOf(await sizeOf(environment, split));
    if (size > maxListed)
      throw new HttpError(400, `tasks of "${split}"`, size, {
        expected: `at most ${maxListed} to list them`,
        hint: "Use num_tasks and task, or task_range.",
      });
    return { json: { tasks: Array.from({ length: size }, (_, index) => placeOf(split, index)), env_name: name } };
  }
  if (route === "task") {
    const { split, index } = parseBody(await body(), indexSchema);
    const size = await sizeOf(environment, split);
    if (index < 0 || index >= size) throw new HttpError(400, "index", index, { expected: `0 to ${size - 1}` });
    return { json: { task: placeOf(split, index), env_name: name } };
  }
  if (route !== "task_range") return undefined;
  const { split, start, stop } = parseBody(await body(), rangeSchema);
  const size = listedOf(await sizeOf(environment, split));
  // As Python slices: negative places count from the end, and what is outside is left out.
  const at = (place: number) => Math.min(place < 0 ? Math.max(size + place, 0) : place, size);
  const [from, to] = [at(start ?? 0), at(stop ?? size)];
  if (to - from > maxListed) throw new HttpError(400, "task_range", to - from, { expected: `at most ${maxListed} tasks` });
  const tasks = Array.from({ length: Math.max(0, to - from) }, (_, i) => placeOf(split, from + i));
  return { json: { tasks, env_name: name } };
}

/** The tasks of a split that are listed. Later ones of a split without an end can be asked for by their index. */
function listedOf(size: number): number {
  return Number.isFinite(size) ? size : maxListed;
}

async function sizeOf(environment: Environment, split: Split): Promise<number> {
  const size = splitsOf(environment).includes(split) ? await environment.size(split) : 0;
  if (size > 0) return size;
  throw new HttpError(400, "split", split, { expected: splitsOf(environment) });
}
