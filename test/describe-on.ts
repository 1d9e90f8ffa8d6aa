import { describe, expect, test } from "vitest";
import { chooseProvider } from "../extensions/local/device-choice.ts";

export const gpus = ["webgpu", "cuda"] as const;
export type Gpu = (typeof gpus)[number];

/** Why a provider cannot be tried on this machine. */
function whyMissing(provider: Gpu): Promise<string | undefined> {
  return chooseProvider(provider, 1).then(
    () => undefined,
    (error: Error) => error.message,
  );
}
export const missing: Readonly<Record<Gpu, string | undefined>> = {
  webgpu: await whyMissing("webgpu"),
  cuda: await whyMissing("cuda"),
};
const wanted: Readonly<Record<Gpu, string>> = {
  webgpu: "there is neither a GPU nor SwiftShader (.ci/swiftshader fetches it)",
  cuda: "there is no NVIDIA GPU with its libraries",
};

/** Tests of a provider; where it is not there, one that is skipped and says why. */
export function describeOn(provider: Gpu, title: string, tests: () => void): void {
  const reason = missing[provider];
  if (reason === undefined) describe(`${title} on ${provider}`, tests);
  else test.skipIf(true)(`${title} on ${provider}: skipped, for ${wanted[provider]}. ${reason}`, () => expect.unreachable());
}
