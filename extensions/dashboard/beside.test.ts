import type { ChildProcess, SpawnOptions } from "node:child_process";
import { EventEmitter } from "node:events";
import { PassThrough } from "node:stream";
import { setImmediate as settled } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { besideStarter } from "./beside.ts";

const program = fileURLToPath(import.meta.url);

test("the dashboard of the folder around a run is started, and its address with the run is reported", async () => {
  const done: string[] = [];
  const held = () => Object.assign(new PassThrough(), { unref: () => done.push("unref a stream") });
  const child = Object.assign(new EventEmitter(), {
    ...{ stdin: held(), stdout: held(), unref: () => done.push("unref"), kill: () => done.push("kill") },
  });
  const started: { command: string; args: readonly string[]; options: SpawnOptions }[] = [];
  const spawn = (command: string, args: readonly string[], options: SpawnOptions) => {
    started.push({ command, args, options });
    return child as unknown as ChildProcess;
  };
  const addresses: string[] = [];
  const end = besideStarter(program, spawn as never)("/runs/my run", (address) => addresses.push(address));
  expect(started).toEqual([
    {
      ...{ command: process.execPath, args: [program, "dashboard", "/runs"] },
      options: {
        stdio: ["pipe", "pipe", "ignore"],
        env: { ...process.env, RETROGRADE_DASHBOARD_BESIDE_TRAINING: "1", NO_COLOR: "1" },
      },
    },
  ]);
  child.stdout.write("Some words\nDashboard: http://127.0.0.1:4747/\nsee Dashboard: http://other/\n");
  await settled();
  expect(addresses).toEqual(["http://127.0.0.1:4747/#/run/my%20run"]);
  expect(() => child.emit("error", new Error("no such program"))).not.toThrow();
  expect(done).toEqual(["unref", "unref a stream", "unref a stream"]);
  end();
  expect(done.at(-1)).toBe("kill");
});

test("a program that runs from its sources starts none", () => {
  const spawn = () => {
    throw new Error("started");
  };
  const end = besideStarter(`${program}.js`, spawn as never)("/runs/run", () => {});
  expect(end()).toBeUndefined();
});
