import { mkdirSync, mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { CheckpointStore, parseCheckpointPath } from "./checkpoints.ts";
import type { ServedModel, Trained } from "./local-model.ts";
import { type OpenSampler, Samplers } from "./samplers.ts";

/** A shelf over two bases, which says what it opens and closes. */
function shelf() {
  const root = mkdtempSync(join(tmpdir(), "samplers-"));
  const store = new CheckpointStore(root);
  const heard: string[] = [];
  const failing = new Set<string>();
  const baseOf = (name: string): ServedModel =>
    ({
      ...{ name, modules: { attention: ["q_proj", "v_proj"], mlp: [] } },
      open: async (trained: Trained, from?: string) => {
        const what = from?.slice(root.length + 1) ?? `${name} ${JSON.stringify(trained)}`;
        heard.push(`open ${what}`);
        if (failing.has(what)) throw new Error("no memory");
        return { engine: { dispose: async () => void heard.push(`close ${what}`) } };
      },
    }) as unknown as ServedModel;
  const samplers = new Samplers([baseOf("small"), baseOf("large")], store);
  const saved = async (name: string) => {
    const path = store.take(parseCheckpointPath(`tinker://m/${name}`, "sampler_weights"), false);
    const record = { baseModel: "large", trained: "full" as const, step: 1, optimizer: false };
    await store.write(path, record, async ({ weights }) => void mkdirSync(weights));
    return samplers.source({ model_path: `tinker://m/${name}` });
  };
  const open = (name: string): OpenSampler =>
    ({ dispose: async () => void heard.push(`close ${name}`) }) as unknown as OpenSampler;
  return { samplers, heard, failing, saved, open };
}
const nothing = async () => undefined;
const one = 'small {"rank":1,"alpha":1,"targets":["q_proj"],"seed":0}';
const weights = (name: string) => `m/sampler_weights/${name}/weights`;

test("a source is saved weights or a base, and another is refused", async () => {
  const { samplers, saved } = shelf();
  expect(await saved("a")).toMatchObject({ base: { name: "large" }, path: "tinker://m/sampler_weights/a" });
  const base = await samplers.source({ base_model: "small", model_path: null });
  expect([base.base.name, base.path]).toEqual(["small", undefined]);
  await expect(samplers.source({ base_model: "huge" })).rejects.toMatchObject({
    ...{ status: 404, message: 'base_model is "huge"; expected "small" or "large".' },
  });
  await expect(samplers.source({ base_model: null })).rejects.toMatchObject({
    status: 422,
    message: "model of a sample is missing; expected base_model, model_path or sampling_session_id.",
  });
  await expect(samplers.source({ model_path: "tinker://m/b" })).rejects.toMatchObject({ status: 404 });
});

test("a base is sampled by an adapter that changes nothing, opened once", async () => {
  const { samplers, heard } = shelf();
  const base = await samplers.source({ base_model: "small" });
  expect(await samplers.use(base, async () => 7)).toBe(7);
  await samplers.use(base, nothing);
  expect(heard).toEqual([`open ${one}`]);
  await samplers.close();
  expect(heard).toEqual([`open ${one}`, `close ${one}`]);
  await samplers.close();
  expect(heard).toHaveLength(2);
});

test("four samplers stay open, those that were used last; one in use is never closed", async () => {
  const { samplers, heard, saved } = shelf();
  const sources = [];
  for (const name of ["a", "b", "c", "d", "e", "f"]) sources.push(await saved(name));
  const [a, b, c, d, e, f] = sources;
  for (const source of [a, b, c, d]) await samplers.use(source, nothing);
  await samplers.use(a, nothing);
  expect(heard).toEqual(["a", "b", "c", "d"].map((name) => `open ${weights(name)}`));
  heard.length = 0;
  let end = () => {};
  const held = samplers.use(b, () => new Promise<void>((resolve) => (end = resolve)));
  await samplers.use(e, nothing);
  expect(heard).toEqual([`open ${weights("e")}`, `close ${weights("c")}`]);
  await samplers.use(f, nothing);
  await samplers.use(c, nothing);
  await samplers.use(d, nothing);
  expect(heard).not.toContain(`close ${weights("b")}`);
  end();
  await held;
  await samplers.use(b, nothing);
  expect(heard.filter((line) => line.endsWith(weights("b")))).toEqual([]);
});

test("a sampler that cannot be opened is tried again; an error of the task leaves it open", async () => {
  const { samplers, heard, failing, saved } = shelf();
  const a = await saved("a");
  failing.add(weights("a"));
  await expect(samplers.use(a, nothing)).rejects.toThrow("no memory");
  failing.clear();
  await expect(samplers.use(a, () => Promise.reject(new Error("stopped")))).rejects.toThrow("stopped");
  await samplers.use(a, nothing);
  expect(heard).toEqual([`open ${weights("a")}`, `open ${weights("a")}`]);
});

test("samplers of a model in training: one path has one, and all go with their model", async () => {
  const { samplers, heard, saved, open } = shelf();
  const { path = "", base } = await saved("a");
  await samplers.put(path, open("first"), "m1");
  await samplers.put(path, open("second"), "m1");
  await samplers.put("other", open("third"), "m2");
  expect(heard).toEqual(["close first"]);
  await samplers.use({ base, path }, nothing);
  expect(heard).toEqual(["close first"]);
  await samplers.release("m1");
  expect(heard).toEqual(["close first", "close second"]);
  await samplers.use({ base, path }, nothing);
  expect(heard.at(-1)).toBe(`open ${weights("a")}`);
  for (const name of ["x", "y", "z"]) await samplers.put(name, open(name), "m3");
  expect(heard.at(-1)).toBe("close third");
});
