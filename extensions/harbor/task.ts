import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join, posix } from "node:path";
import { ConfigError } from "../../src/core/errors.ts";
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
/** Settings of a task (harbor/models/task/config.py) that change what an episode is and are not played here. */
const notPlayed =
  /^\s*(?:(?:docker_image|skills_dir|workdir|user)\s*=.*|gpus\s*=\s*[1-9].*|os\s*=\s*"windows"|environment_mode\s*=\s*"separate"|mcp_servers\s*=\s*\[\s*[^\]\s].*|\[+(?:steps|verifier\.environment|verifier\.collect|environment\.healthcheck|environment\.mcp_servers)\b.*|\[(?:verifier|environment)\.env\]\s*\n\s*\w.*)/m;
/** Programs that the sandbox does not have. A test without them would grade 0 what it cannot grade. */
const missing =
  /(^|[\s;&|(`])(apt|apt-get|apk|pip3?|uvx?|curl|wget|python3?|pytest|node|npm|npx|gcc|g\+\+|make|cargo|go|git|java|Rscript|ruby)(?=[\s;&|)]|$)/;

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
      hint: "Play it with Harbor itself, or serve it over a wire: docs/environments/remote.md.",
    });
  };
  const settings = read("task.toml") ?? "";
  const [, version] = /^\s*schema_version\s*=\s*"([^"]*)"/m.exec(settings) ?? [];
  if (version !== undefined && !/^1\.[0-4]$/.test(version))
    throw new ConfigError(`schema_version of the Harbor task ${folder}`, version, {
      expected: "1.0 to 1.4, as Harbor to 0.26 writes it",
      hint: "A newer format may mean other things by the same settings, so it is not played.",
    });
  const setting = notPlayed.exec(settings);
  if (setting !== null) refuse(`task.toml has ${setting[0].trim().replace(/\s*\n\s*/, " ")}`);
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
