import { dirname } from "node:path";
import { PassThrough } from "node:stream";
import { afterEach, expect, test, vi } from "vitest";
import { newRun } from "../../../src/runs/store.fixture.ts";
import { createScreen } from "../../../src/terminal/screen.ts";
import type { DashboardOptions } from "../server/server.ts";
import { type DashboardFlags, dashboardCommand } from "./dashboard.ts";

afterEach(() => vi.unstubAllEnvs());

test("keys in other lines stay hidden", () => {
  let printed = "";
  createScreen({ write: (text) => (printed += text) }).line("see http://host/?token=secret");
  expect(printed).toBe("see http://host/?token=[key]\n");
});

/** A dashboard that is ended at once by Ctrl-C, or as it is said. */
async function shown(
  folder: string | undefined,
  flags: DashboardFlags = {},
  end: (parent: PassThrough) => void = () => void process.emit("SIGINT"),
  taken: (options: DashboardOptions) => boolean = () => false,
) {
  let printed = "";
  const [started, opened]: [DashboardOptions[], string[]] = [[], []];
  let closed = 0;
  const parent = new PassThrough();
  const start = async (options: DashboardOptions) => {
    started.push(options);
    if (taken(options)) throw new Error("the port is taken");
    return { url: "http://host:1/?token=abc", close: async () => void closed++ };
  };
  const screen = createScreen({ write: (text) => (printed += text) });
  const listeners = process.listenerCount("SIGTERM");
  const ended = dashboardCommand(folder, flags, screen, { start, openPage: (url) => opened.push(url), parent });
  const early = await Promise.race([ended.then(() => "early"), new Promise((go) => setImmediate(() => go("running")))]);
  end(parent);
  await ended;
  expect(process.listenerCount("SIGTERM")).toBe(listeners);
  return { printed, started, opened, closed, early, parent };
}
const runs = dirname(newRun());

test("it serves until Ctrl-C, and its address is printed with its token", async () => {
  const { printed, started, opened, closed, early } = await shown(runs);
  expect(printed).toBe("Dashboard: http://host:1/?token=abc\nCtrl-C ends it.\n");
  expect([started, opened, closed, early]).toEqual([[{ runs, host: undefined, port: 4747 }], [], 1, "running"]);
});

test("flags choose the folder, the address and the browser", async () => {
  const { started, opened } = await shown(undefined, { host: "0.0.0.0", port: "0", open: true });
  expect([started, opened]).toEqual([[{ runs: "runs", host: "0.0.0.0", port: 0 }], ["http://host:1/?token=abc"]]);
  expect((await shown(runs, { port: "65535" })).started[0]?.port).toBe(65_535);
});

test.each([
  [{ port: "65536" }, runs, /^--port is "65536"; expected a number from 0 to 65535/],
  [{ port: "-1" }, runs, /^--port is "-1"/],
  [{ port: "1.5" }, runs, /^--port is "1\.5"/],
  [{ port: "x" }, runs, /^--port is "x"/],
  [{}, `${runs}-none`, /^the folder is ".*-none"; expected a folder of runs, or of one run/],
])("%j is refused", async (flags, folder, message) => {
  await expect(shown(folder, flags)).rejects.toThrow(message);
});

test("beside a training run another port does, and it ends with its parent", async () => {
  const isTaken = ({ port }: DashboardOptions) => port === 4747;
  await expect(shown(runs, {}, undefined, isTaken)).rejects.toThrow("the port is taken");
  vi.stubEnv("RETROGRADE_DASHBOARD_BESIDE_TRAINING", "1");
  const ended = await shown(runs, {}, (parent) => parent.end(), isTaken);
  expect(ended.started.map(({ port }) => port)).toEqual([4747, 0]);
  expect([ended.closed, ended.early]).toEqual([1, "running"]);
  const broken = await shown(runs, {}, (parent) => parent.destroy(new Error("killed")));
  expect(broken.closed).toBe(1);
});
