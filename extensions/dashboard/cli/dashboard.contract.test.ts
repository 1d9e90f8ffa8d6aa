import { dirname } from "node:path";
import { expect, test } from "vitest";
import { newRun } from "../../../src/runs/store.fixture.ts";
import { createScreen } from "../../../src/terminal/screen.ts";
import { dashboardCommand } from "./dashboard.ts";

test("where other machines reach it, the printed address opens it: its token is shown", async () => {
  let printed = "";
  const screen = createScreen({ write: (text) => (printed += text) });
  const ended = dashboardCommand(dirname(newRun()), { host: "0.0.0.0", port: "0" }, screen);
  while (!printed.includes("Ctrl-C")) await new Promise((resolve) => setTimeout(resolve, 10));
  const address = new URL(/^Dashboard: (\S+)$/m.exec(printed)?.[1] ?? "");
  expect(address.searchParams.get("token")?.length).toBeGreaterThan(20);
  address.hostname = "127.0.0.1";
  expect((await fetch(address)).status).toBe(200);
  address.search = "";
  expect((await fetch(address)).status).toBe(401);
  process.emit("SIGINT");
  await ended;
});
