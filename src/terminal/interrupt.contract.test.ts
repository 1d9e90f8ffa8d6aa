import { spawn } from "node:child_process";
import { join } from "node:path";
import { expect, test } from "vitest";
import { slowdown } from "../../test/slowdown.ts";

/** @returns the signal that ended a process in native computations, and the milliseconds from the second Ctrl-C on */
function interruptTwice(env: NodeJS.ProcessEnv): Promise<{ ended: string | null; after: number }> {
  const program = join(import.meta.dirname, "../../test/native-process.ts");
  const child = spawn(process.execPath, ["--import", "jiti/register", program], { env, stdio: ["ignore", "pipe", "inherit"] });
  let last = 0;
  const again = () => {
    last = performance.now();
    child.kill("SIGINT");
  };
  child.stdout.on("data", (data: Buffer) => {
    if (data.includes("computing")) child.kill("SIGINT");
    if (data.includes("interrupted")) setTimeout(again, 1000);
  });
  return new Promise((resolve) => child.on("close", (_, ended) => resolve({ ended, after: performance.now() - last })));
}

test("a real process in native computations is ended by the second Ctrl-C, under npm too", async () => {
  const { npm_lifecycle_event: _, npm_command: __, ...plain } = process.env;
  for (const env of [plain, { ...plain, npm_lifecycle_event: "start" }]) {
    const { ended, after } = await interruptTwice(env);
    expect(ended).toBe("SIGINT");
    expect(after).toBeLessThan(5000 * slowdown()); // some milliseconds on a quiet machine; the computation takes a minute
  }
});
