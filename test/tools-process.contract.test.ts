import { execFile } from "node:child_process";
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";

const loader = join(import.meta.dirname, "../node_modules/jiti/lib/jiti-register.mjs");
const index = join(import.meta.dirname, "../entries/index.ts");
const run = promisify(execFile);

test("a program that used Python ends without closing it", async () => {
  const program = join(mkdtempSync(join(tmpdir(), "retrograde-process-")), "program.ts");
  const code = `
    import { createPython } from ${JSON.stringify(index)};
    const python = createPython();
    const { output } = await python.run("6 * 7");
    console.log(output.trim());
  `;
  writeFileSync(program, code);
  const { stdout } = await run(process.execPath, ["--import", loader, program], { timeout: 570_000 });
  expect(stdout).toBe("42\n");
});
