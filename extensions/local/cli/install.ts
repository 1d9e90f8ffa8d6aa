import { downloadLine } from "../../../src/cli/download.ts";
import { ConfigError } from "../../../src/core/errors.ts";
import { commandPrefix } from "../../../src/terminal/invocation.ts";
import type { Screen } from "../../../src/terminal/screen.ts";
import { gigabytes, installationBytes, installCuda, requireCudaSystem, thisSystem } from "../machine/cuda/install.ts";
import { cudaFolder, installedCuda } from "../machine/cuda/installed.ts";
import { cudaRuntime } from "../machine/cuda/packages.ts";
import { packagedRuntime } from "../machine/native/packaged.ts";

/** The names of installations. */
const what = ["cuda"] as const;

/**
 * Installs libraries that are in no npm package.
 * @param agreed asks a person whether to go on; undefined where there is nobody to ask
 */
export async function installCommand(
  name: string,
  { yes = false }: { readonly yes?: boolean },
  screen: Screen,
  agreed: (question: string) => Promise<boolean | undefined> | undefined,
): Promise<void> {
  if (!what.some((each) => each === name)) throw new ConfigError("install", name, { expected: what });
  const runtime = packagedRuntime();
  requireCudaSystem(thisSystem(), runtime);
  const folder = cudaFolder();
  if (installedCuda(runtime) !== undefined) return screen.line(`CUDA for ONNX Runtime ${cudaRuntime} is in ${folder} already.`);
  const { download, kept } = installationBytes({ runtime });
  const plan = `Downloads ${gigabytes(download)} (the CUDA provider of ONNX Runtime ${cudaRuntime}, and NVIDIA's CUDA 13 and cuDNN 9 under NVIDIA's licence), ${gigabytes(kept)} in ${folder}.`;
  if (yes) screen.line(plan);
  else {
    const answer = agreed(plan);
    if (answer === undefined)
      throw new ConfigError("--yes", undefined, { expected: "the flag, where there is no terminal to ask" });
    if ((await answer) !== true) return screen.line("Nothing was installed.");
  }
  const started = performance.now();
  let first: number | undefined;
  await installCuda({
    runtime,
    onEvent: (event) => {
      if (event.type === "waiting") return screen.line("Another process installs it; waiting for it …");
      if (event.type === "unpacked") return screen.line(`${screen.paint.green("✓")} ${event.wheel}`);
      first ??= event.done;
      screen.status(downloadLine(event.wheel, event, event.done - first, (performance.now() - started) / 1000));
    },
  });
  screen.clear();
  screen.line(`Installed. Try it: ${commandPrefix()} doctor --device cuda`);
}
