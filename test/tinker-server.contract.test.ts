import { execFileSync } from "node:child_process";

import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";

import type { TinkerModel } from "../extensions/tinker/client/index.ts";

import { adapterIn } from "./tinker-parity.ts";
import { adam, base, client, first, folder, second, server, signed, withModel } from "./tinker-server.fixture.ts";

test("a saved state continues exactly in another model, and saved weights are a PEFT folder that the local engine loads", async () => {
  await withModel(4, async (model) => {
    await model.forwardBackward([{ ...first, inputs: signed }], "cross_entropy");
    await model.optimStep(adam);
    const path = await model.saveWeights("state");
    expect(await client.weightsInfo(path)).toEqual({ baseModel: "tiny", rank: 4 });
    const copy = await client.loadModel(path, { optimizer: true });
    const next = async (each: TinkerModel) => {
      await each.forwardBackward([second], "cross_entropy");
      await each.optimStep(adam);
      return (await each.forward([first])).fields.logprobs;
    };
    const expected = await next(model);
    expect(await next(copy)).toEqual(expected);
    await copy.unload();
    await model.saveWeights("peft");

    const archive = await fetch(`${server.baseUrl}/api/v1/training_runs/${model.id}/checkpoints/weights/peft/archive`);
    await writeFile(join(folder, "peft.tar.gz"), new Uint8Array(await archive.arrayBuffer()));
    const files = execFileSync("tar", ["tzf", join(folder, "peft.tar.gz")], { encoding: "utf8" });
    expect(files.trim().split("\n").sort()).toEqual(["adapter_config.json", "adapter_model.safetensors"]);
    execFileSync("mkdir", [join(folder, "peft")]);
    execFileSync("tar", ["xzf", join(folder, "peft.tar.gz"), "-C", join(folder, "peft")]);
    const { engine } = await base.open(await adapterIn(join(folder, "peft"), base), join(folder, "peft"));
    const sample = { trajectory: "0", turn: 0, context: first.tokens.slice(0, 1), action: first.targets };
    expect(await engine.logprobs([sample], { temperature: 1 })).toEqual(expected);
    await engine.dispose();
  });
});
