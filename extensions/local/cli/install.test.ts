import { expect, test, vi } from "vitest";
import { createScreen } from "../../../src/terminal/screen.ts";
import { installCommand } from "./install.ts";

const machine = vi.hoisted(() => ({ glibc: "2.39", installed: false, asked: 0 }));
vi.mock("../machine/native/packaged.ts", () => ({ packagedRuntime: () => ({ file: "runtime.so", version: "1.30.0" }) }));
vi.mock("../machine/cuda/installed.ts", () => ({
  cudaFolder: () => "/cuda",
  installedCuda: () => (machine.installed ? "/cuda" : undefined),
}));
vi.mock("../machine/cuda/install.ts", async (original) => ({
  ...(await original<typeof import("../machine/cuda/install.ts")>()),
  thisSystem: () => ({ platform: "linux", arch: "x64", glibc: machine.glibc }),
  installationBytes: () => ({ download: 1.1e9, kept: 2.5e9 }),
  installCuda: async ({ onEvent }: { onEvent: (event: object) => void }) => {
    machine.asked++;
    onEvent({ type: "waiting" });
    onEvent({ type: "progress", wheel: "cublas", done: 5e8, total: 1.1e9 });
    onEvent({ type: "unpacked", wheel: "cublas" });
  },
}));

async function run(name: string, yes: boolean, answer?: boolean): Promise<string> {
  let shown = "";
  const screen = createScreen({ write: (text: string) => (shown += text) });
  machine.asked = 0;
  await installCommand(name, { yes }, screen, () => (answer === undefined ? undefined : Promise.resolve(answer)));
  return shown;
}

test("with --yes, or a person's, it is installed, and says how far it is", async () => {
  const shown = await run("cuda", true);
  expect(shown).toMatch(/^Downloads 1\.1 GB .*1\.30\.0.*, 2\.5 GB in \/cuda\.\n/);
  expect(shown).toMatch(/Another process installs it.*\n✓ cublas\nInstalled\. Try it: .* doctor --device cuda\n$/s);
  expect(machine.asked).toBe(1);
  expect(await run("cuda", false, true)).not.toContain("Downloads");
  expect(machine.asked).toBe(1);
});

test("without either, nothing is", async () => {
  expect(await run("cuda", false, false)).toBe("Nothing was installed.\n");
  expect(machine.asked).toBe(0);
  await expect(run("cuda", false)).rejects.toThrow(/^--yes is missing; expected the flag, where there is no terminal to ask/);
  await expect(run("rocm", true)).rejects.toThrow(/^install is "rocm"; expected "cuda"/);
  machine.glibc = "2.17";
  await expect(run("cuda", true)).rejects.toThrow(/^system is "linux x64, glibc 2.17"/);
  machine.glibc = "2.39";
  machine.installed = true;
  expect(await run("cuda", true)).toBe("CUDA for ONNX Runtime 1.30.0 is in /cuda already.\n");
  expect(machine.asked).toBe(0);
});
