import { randomUUID } from "node:crypto";
import { createServer } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { type Group, startGroup } from "../../extensions/processes/group.ts";
import { EnvError } from "../../src/core/errors.ts";
import { OtherServer, WorldClient } from "./client.ts";

/**
 * Serves AppWorld's own application, as `appworld serve environment` does, but on this machine's loopback alone: it executes code for whoever
 * reaches it. The process ends with the pipe to its standard input, so none is left behind if this one is killed.
 */
export const serverProgram = `
import os, sys, threading
def watch():
    os.read(0, 1)
    os._exit(0)
threading.Thread(target=watch, daemon=True).start()
import uvicorn
from appworld.serve.environment import app
@app.get("/retrograde")
def whose():
    return {"token": sys.argv[2]}
uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[1]), log_level="error")
`;

/** The number of characters kept of the log: the last traceback fits. */
const tailCharacters = 8000;
const stopMs = 3000;

export interface ProcessOptions {
  readonly python: string;
  readonly root: string;
  /** A free one if left out. */
  readonly port?: number;
  readonly startTimeoutMs: number;
  /** For each answer. */
  readonly timeoutMs: number;
  /** Starts a program. Default: in a group of processes. */
  readonly startProgram?: typeof startGroup;
}

/** A server process of one world. */
export class WorldProcess {
  readonly client: WorldClient;
  readonly #group: Group;
  readonly #ended: Promise<void>;
  /** Distinguishes this server from another one at the same port, whose world would be shared silently. */
  readonly #token: string;
  #log = "";
  #exit: string | undefined;

  private constructor(group: Group, token: string, url: string, timeoutMs: number) {
    const { child } = group;
    this.#group = group;
    this.#token = token;
    this.client = new WorldClient(url, timeoutMs);
    for (const stream of [child.stdout, child.stderr])
      stream?.setEncoding("utf8").on("data", (text: string) => {
        this.#log = (this.#log + text).slice(-tailCharacters);
      });
    this.#ended = new Promise((resolve) => {
      const end = (how: string) => {
        this.#exit = how;
        resolve();
      };
      child.once("error", (error) => end(error.message));
      child.once("close", (code, signal) => end(signal === null ? `exit code ${code}` : `signal ${signal}`));
    });
  }

  /** Starts a server and waits until it answers. @throws EnvError with the last line of its log; the signal's reason once it is aborted */
  static async start(
    { python, root, port, startTimeoutMs, timeoutMs, startProgram = startGroup }: ProcessOptions,
    signal?: AbortSignal,
  ): Promise<WorldProcess> {
    signal?.throwIfAborted();
    const chosen = port ?? (await freePort());
    const token = randomUUID();
    const { PATH, HOME, LANG, LC_ALL, APPWORLD_CACHE, SYSTEMROOT, TMPDIR } = process.env;
    // Ctrl-C ends the episodes first; what is left is stopped here.
    const group = startProgram(python, ["-u", "-c", serverProgram, String(chosen), token], {
      cwd: root,
      // Cells are written by a model: keys and tokens of this process are not theirs.
      env: withoutUndefined({ PATH, HOME, LANG, LC_ALL, APPWORLD_CACHE, SYSTEMROOT, TMPDIR, APPWORLD_ROOT: root }),
      stdio: ["pipe", "pipe", "pipe"],
    });
    group.child.stdin?.on("error", () => {}); // the process may be gone already
    const server = new WorldProcess(group, token, `http://127.0.0.1:${chosen}`, timeoutMs);
    try {
      await server.#ready(startTimeoutMs, signal);
      return server;
    } catch (error) {
      await server.stop();
      throw error;
    }
  }

  get alive(): boolean {
    return this.#exit === undefined;
  }

  /** The reason that the log gives for a failure: the last line of its last traceback. */
  reason(): string {
    const lines = this.#log.split("\n").filter((line) => line.trim() !== "");
    const said = lines.findLast((line) => /^[\w.]+(Error|Exception|Interrupt|Exit)\b/.test(line)) ?? lines.at(-1) ?? "";
    const how = this.#exit === undefined ? "" : `the process ended by ${this.#exit}`;
    return [how, said.slice(0, 500)].filter((part) => part !== "").join(": ");
  }

  async stop(): Promise<void> {
    if (!this.alive) return;
    await this.#group.end(stopMs);
    await this.#ended;
  }

  async #ready(timeoutMs: number, signal: AbortSignal | undefined): Promise<void> {
    const until = performance.now() + timeoutMs;
    for (;;) {
      signal?.throwIfAborted();
      if (!this.alive || performance.now() > until)
        throw new EnvError("an AppWorld server", this.reason() || `silent for ${timeoutMs} ms`, {
          expected: "one that answers",
          hint: "`npm run research -- doctor --env appworld` says what is missing.",
        });
      try {
        return await this.client.requireToken(this.#token, 2000);
      } catch (error) {
        if (error instanceof OtherServer)
          throw new EnvError("port of an AppWorld server", this.client.url, {
            expected: "a free port",
            hint: "Another server answers there: choose other ports with environment.settings.port, or leave it out.",
          });
        await Promise.race([sleep(100), this.#ended]);
      }
    }
  }
}

function withoutUndefined(record: Readonly<Record<string, string | undefined>>): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(record).filter(([, value]) => value !== undefined));
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer();
    probe.once("error", reject);
    probe.listen(0, "127.0.0.1", () => {
      const address = probe.address();
      probe.close(() => resolve(typeof address === "object" && address !== null ? address.port : 0));
    });
  });
}
