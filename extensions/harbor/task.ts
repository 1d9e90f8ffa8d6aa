import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join, posix } from "node:path";
import { parse } from "smol-toml";
import { z } from "zod";
import { door, nearestIssue } from "../../src/core/door.ts";
import { ConfigError, reasonOf } from "../../src/core/errors.ts";
import type { Task } from "../../src/environments/environment.ts";

/** A task folder of Harbor 0.26 (`task.toml`, `instruction.md`, `environment/`, `tests/`) that needs no image. */
export interface HarborTask extends Task {
  readonly folder: string;
  readonly instruction: string;
  /** The folder in which commands run. */
  readonly workdir: string;
  /** Files of the environment by their paths in it, each with where it lies here. */
  readonly files: Readonly<Record<string, string>>;
  readonly variables: Readonly<Record<string, string>>;
}

/** Images that bring nothing but a shell and its commands, which the sandbox has. */
const plainImages = /^(docker\.io\/)?(library\/)?(ubuntu|debian|alpine|busybox|bash|scratch)([:@].*)?$/;
/** The simulated shell has no network, whatever a task allows, and its times and resources are those of this process. */
const network = ["network_mode", "allowed_hosts"];
const version = z
  .string()
  .regex(/^1\.[0-4]$/, "1.0 to 1.4, as Harbor to 0.26 writes it: a newer format may mean other things by the same settings");
/** `task.toml` (harbor/models/task/config.py). What is written about a task, its solution and what is kept of it change no episode; the rest is not played. */
const taskSchema = door(
  "task.toml",
  {
    schema_version: version.optional(),
    /** The name of `schema_version` before. */
    version: version.optional(),
    agent: door("[agent] of task.toml", {}, { ignores: ["timeout_sec", ...network] }).optional(),
    environment: door(
      "[environment] of task.toml",
      {},
      {
        ignores: ["build_timeout_sec", "cpus", "memory_mb", "storage_mb", "memory", "storage", "allow_internet", ...network],
        neutral: { os: "linux", gpus: 0, gpu_types: [], env: {}, mcp_servers: [] },
      },
    ).optional(),
    verifier: door(
      "[verifier] of task.toml",
      {},
      { ignores: ["timeout_sec", ...network], neutral: { environment_mode: "shared", env: {}, collect: [] } },
    ).optional(),
  },
  { ignores: ["task", "metadata", "solution", "source", "artifacts"], neutral: { steps: [] } },
);
/** Programs that the sandbox does not have. A test without them would grade 0 what it cannot grade. */
const missing =
  /(^|[\s;&|(`])(apt|apt-get|apk|pip3?|uvx?|curl|wget|python3?|pytest|node|npm|npx|gcc|g\+\+|make|cargo|go|git|java|Rscript|ruby)(?=[\s;&|)]|$)/;

const playedElsewhere = "Play it with Harbor itself, or serve it over a wire: docs/environments/remote.md.";

/** Reads the tasks of a folder, in the order of their names. @throws ConfigError naming the first one that needs an image, and why */
export function readTasks(folder: string, setting: string): HarborTask[] {
  if (!existsSync(folder)) throw new ConfigError(setting, folder, { expected: "a folder of Harbor tasks" });
  const names = existsSync(join(folder, "task.toml"))
    ? [""]
    : readdirSync(folder)
        .filter((name) => existsSync(join(folder, name, "task.toml")))
        .sort();
  if (names.length === 0) throw new ConfigError(setting, folder, { expected: "folders with a task.toml" });
  return names.map((name) => readTask(join(folder, name)));
}

function readTask(folder: string): HarborTask {
  const read = (path: string) => (existsSync(join(folder, path)) ? readFileSync(join(folder, path), "utf8") : undefined);
  const refuse = (why: string) => {
    throw new ConfigError(`the Harbor task ${folder}`, why, {
      expected: "one that needs no image: a plain base, WORKDIR, COPY and ENV, and tests in shell alone",
      hint: playedElsewhere,
    });
  };
  requirePlayed(folder, read("task.toml") ?? "");
  for (const compose of ["docker-compose.yaml", "docker-compose.yml"])
    if (existsSync(join(folder, "environment", compose))) refuse(`environment/${compose}`);
  if (existsSync(join(folder, "steps"))) refuse("several steps (steps/)");
  const test = read("tests/test.sh") ?? refuse("without tests/test.sh") ?? "";
  for (const line of (test ?? "").split("\n")) {
    const needed = line.startsWith("#") ? null : missing.exec(line);
    if (needed !== null) refuse(`tests/test.sh needs ${needed[2]}: ${line.trim().slice(0, 80)}`);
  }
  const image = imageOf(read("environment/Dockerfile") ?? "", join(folder, "environment"), refuse);
  return { id: folder, folder, instruction: read("instruction.md") ?? "", ...image };
}

/** @throws ConfigError naming a setting that would make another episode of it */
function requirePlayed(folder: string, text: string): void {
  const file = join(folder, "task.toml");
  let given: unknown;
  try {
    given = parse(text);
  } catch (cause) {
    throw new ConfigError(file, reasonOf(cause), { expected: "TOML", cause });
  }
  const { error } = taskSchema.safeParse(given);
  if (error === undefined) return;
  const { path, message } = nearestIssue(error.issues);
  const value = path.reduce<unknown>((inner, key) => (inner as Record<PropertyKey, unknown>)?.[key], given);
  throw new ConfigError(`${path.join(".")} of the Harbor task ${folder}`, value, { expected: message, hint: playedElsewhere });
}

type Image = Pick<HarborTask, "workdir" | "files" | "variables">;

/** The files, variables and folder that a Dockerfile brings, where nothing in it needs an image. */
function imageOf(text: string, context: string, refuse: (why: string) => void): Image {
  let workdir = "/app";
  const files: Record<string, string> = {};
  const variables: Record<string, string> = {};
  for (const line of text
    .replace(/\\\n/g, " ")
    .split("\n")
    .map((one) => one.trim())) {
    const [, keyword = "", rest = ""] = /^([A-Za-z]+)\s+(.*)$/.exec(line) ?? [];
    if (line === "" || line.startsWith("#")) continue;
    if (keyword === "FROM" && plainImages.test(rest)) continue;
    if (keyword === "WORKDIR") workdir = posix.resolve(workdir, rest);
    else if (keyword === "ENV" && /^\w+=/.test(rest))
      for (const [, name = "", value = ""] of rest.matchAll(/(\w+)=("[^"]*"|\S*)/g))
        variables[name] = value.replace(/^"|"$/g, "");
    else if (keyword === "COPY" && !rest.startsWith("-") && !rest.startsWith("[")) {
      const places = rest.split(/\s+/);
      const target = places.pop() ?? "";
      const isFolder = target.endsWith("/") || target === "." || places.length > 1;
      for (const place of places)
        for (const [path, at] of filesOf(join(context, place))) {
          const into = path === "" && !isFolder ? target : posix.join(target, path === "" ? posix.basename(place) : path);
          files[posix.resolve(workdir, into)] = at;
        }
    } else if (keyword !== "CMD" && keyword !== "ENTRYPOINT") refuse(`environment/Dockerfile has ${line.slice(0, 80)}`);
  }
  return { workdir, files, variables };
}

/** A file, whose path is then "", or all files beneath a folder, by their paths in it. */
export function filesOf(at: string): [path: string, at: string][] {
  if (!existsSync(at)) return [];
  if (statSync(at).isFile()) return [["", at]];
  return readdirSync(at, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .map((path) => [path.slice(at.replace(/\/$/, "").length + 1), path]);
}
