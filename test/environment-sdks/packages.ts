import "../../research/install.ts";
import { type ChildProcess, execFile, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { connect, createServer } from "node:net";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, test } from "vitest";
import type { Tokenizer } from "../../src/chat/tokenizer.ts";
import type { CallAnswer, Environment, Episode, TokenPolicy } from "../../src/environments/environment.ts";
import { createEnvironment } from "../../src/environments/registry.ts";

/**
 * The packages of other people's environments, each in a virtual environment of its own: those in the folder that
 * RETROGRADE_ENVIRONMENT_SDKS names (.ci/environment-sdks makes them).
 */
const folder = process.env.RETROGRADE_ENVIRONMENT_SDKS ?? "";

export type Package = "openenv" | "ors" | "openreward" | "verifiers" | "nemo-gym";

export const pythonOf = (name: Package) => join(folder, name, "bin", "python");
export const script = (name: string) => fileURLToPath(new URL(name, import.meta.url));

/** How many published tasks of a set are played; all of them with RETROGRADE_PLAY=all, whose counts are those of research/notes/remote.md. */
export const share = (sample: number, all: number) => (process.env.RETROGRADE_PLAY === "all" ? all : sample);

/** A test that needs packages; without them the test is skipped and says so. */
export function withPackage(names: Package | readonly Package[], what: string, run: () => Promise<void>): void {
  const missing = [names].flat().filter((name) => folder === "" || !existsSync(pythonOf(name)));
  const why = missing.length === 0 ? "" : ` — skipped: no Python with ${missing.join(", ")} (RETROGRADE_ENVIRONMENT_SDKS)`;
  test.skipIf(missing.length > 0)(`${what}${why}`, run, process.env.RETROGRADE_PLAY === "all" ? 3_600_000 : 240_000);
}

const processes: ChildProcess[] = [];
const environments: Environment[] = [];
afterEach(async () => {
  for (const environment of environments.splice(0)) await environment.close?.();
  for (const { pid } of processes.splice(0)) kill(pid);
});

/** Ends a process and its forks, unless they have ended. */
function kill(pid: number | undefined): void {
  try {
    if (pid !== undefined) process.kill(-pid, "SIGKILL");
  } catch {}
}

/** Ends the server that was started last, as a crash does. */
export const killServer = () => kill(processes.at(-1)?.pid);

/** Starts a program of a package, which ends with the test. */
export function launch(name: Package, args: readonly string[], cwd?: string): ChildProcess {
  const child = spawn(pythonOf(name), args, {
    ...{ env: { ...process.env, PATH: `${join(folder, name, "bin")}:${process.env.PATH}` } },
    ...{ stdio: ["ignore", "pipe", "pipe"], detached: true },
    ...(cwd === undefined ? {} : { cwd }),
  });
  processes.push(child);
  return child;
}

/** Starts a server and waits for its port. @returns the port @throws Error with the end of what it said, if it ends instead */
export async function serve(name: Package, args: (port: number) => readonly string[]): Promise<number> {
  const probe = createServer();
  const port = await new Promise<number>((resolve) =>
    probe.listen(0, "127.0.0.1", () => resolve((probe.address() as { port: number }).port)),
  );
  await new Promise((resolve) => probe.close(resolve));
  const child = launch(name, args(port));
  child.stdout?.resume();
  let errors = "";
  child.stderr?.on("data", (part) => {
    errors = `${errors}${part}`.slice(-3000);
  });
  for (let tries = 0; tries < 300; tries++) {
    if (child.exitCode !== null) throw new Error(errors);
    const isUp = await new Promise<boolean>((resolve) => {
      const socket = connect(port, "127.0.0.1", () => resolve(true));
      socket.on("error", () => resolve(false));
      socket.on("connect", () => socket.destroy());
    });
    if (isUp) return port;
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
  throw new Error(`${name} did not start: ${errors}`);
}

export async function opened(name: string, settings: object = {}): Promise<Environment> {
  const environment = createEnvironment(name, settings);
  await environment.open?.();
  environments.push(environment);
  return environment;
}

const { signal } = new AbortController();
export const call = (episode: Episode, name: string, args: object, argumentsText?: string) =>
  episode.call?.(
    { name, arguments: args as Record<string, unknown>, ...(argumentsText === undefined ? {} : { argumentsText }) },
    { signal },
  ) as Promise<CallAnswer | undefined>;

/** A policy of tokens that always gives one answer. */
export function saying(tokenizer: Tokenizer, answer: string): TokenPolicy {
  const tokens = [...tokenizer.encode(answer), tokenizer.stopTokens[0]];
  const notUsed = () => {
    throw new Error("not used");
  };
  return {
    ...{
      episode: "step-1/0/0",
      maxLength: 10_000,
      vocabularySize: 10_000,
      maxTokens: 4000,
      temperature: 1,
      topP: 1,
      topK: 0,
      canMask: false,
    },
    ...{ signal: new AbortController().signal, count: () => 0, converse: notUsed, captured: notUsed },
    decode: (ids) => tokenizer.decode([...ids]),
    sample: async () => ({ tokens, logprobs: tokens.map(() => 0), finish: "stop" }),
  };
}

/** Runs a program of a package. @returns the JSON of its last line */
export const output = (name: Package, args: readonly string[]) =>
  new Promise<Record<string, unknown>>((resolve, reject) => {
    execFile(pythonOf(name), args, { timeout: 3_000_000, maxBuffer: 2 ** 26 }, (error, out, errors) =>
      error === null
        ? resolve(JSON.parse(out.trim().split("\n").at(-1) ?? ""))
        : reject(new Error(`${errors.slice(-2000)}\n${out}`)),
    );
  });

/** The folder of a package's module. */
export async function folderOf(name: Package, module: string): Promise<string> {
  const code = `import json, importlib.util as u; print(json.dumps({'at': u.find_spec('${module}').submodule_search_locations[0]}))`;
  return String((await output(name, ["-c", code])).at);
}
