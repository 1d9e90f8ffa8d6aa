import { renameSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { addStep, newRun, trajectoryOf } from "../../../src/runs/store.fixture.ts";
import { filesOf, kinds, withSpecial } from "../../inspect/special-files.fixture.ts";
import { wholeRun } from "../../inspect/whole-run.fixture.ts";
import { ask } from "./server.fixture.ts";
import { startDashboard } from "./server.ts";

test.skipIf(process.platform === "win32")(
  "a file of a run that is a device, a pipe, a folder or a link harms no other run",
  async () => {
    const bad = await wholeRun();
    const good = newRun("good");
    addStep(good, 1, [trajectoryOf("step-1/0/0")]);
    renameSync(good, join(dirname(bad), "good"));
    const own = await startDashboard({ runs: dirname(bad), port: 0 });
    const to = Number(new URL(own.url).port);
    try {
      const files = filesOf(bad).filter((file) => !file.startsWith("checkpoints") && !file.startsWith("model"));
      for (const file of files)
        for (const kind of kinds)
          await withSpecial(join(bad, file), kind, async () => {
            const { status, json } = await ask("/api/runs", { to });
            const { runs, broken } = json as unknown as { runs: { id: string }[]; broken: { id: string }[] };
            expect([status, runs.length + broken.length], `${file} as a ${kind}`).toEqual([200, 2]);
            expect(runs.map(({ id }) => id)).toContain("good");
            if (/^(run|metrics|summary)\./.test(file))
              expect(
                broken.map(({ id }) => id),
                `${file} as a ${kind}`,
              ).toEqual(["run"]);
            for (const path of ["", "/trajectories", "/phrases"])
              expect((await ask(`/api/run${path}?run=run&step=1`, { to })).status, `${file} as a ${kind}: ${path}`).toBeLessThan(
                500,
              );
            expect((await ask("/api/run?run=good", { to })).status).toBe(200);
          });
    } finally {
      await own.close();
    }
  },
  60_000,
);
