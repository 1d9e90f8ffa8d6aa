import { readdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { z } from "zod";

const packageSchema = z.object({ version: z.string() });

/** The library file that `onnxruntime-node` brings for this system, and its version. */
export interface PackagedRuntime {
  readonly file: string;
  readonly version: string;
}

/** @throws Error where there is none */
export function packagedRuntime(): PackagedRuntime {
  const described = createRequire(import.meta.url).resolve("onnxruntime-node/package.json");
  const binaries = join(dirname(described), "bin", "napi-v6", process.platform, process.arch);
  const name = readdirSync(binaries).find((each) => /^(libonnxruntime\.(so\.1|[0-9.]+\.dylib)|onnxruntime\.dll)$/.test(each));
  if (name === undefined) throw new Error(`no library in ${binaries}`);
  const { version } = packageSchema.parse(JSON.parse(readFileSync(described, "utf8")));
  return { file: join(binaries, name), version };
}
