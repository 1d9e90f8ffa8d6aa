import { existsSync } from "node:fs";
import { mkdir, readdir, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { z } from "zod";
import { HttpError } from "../../extensions/http/http-error.ts";
import { hasLength } from "../../src/core/present.ts";
import type { ServedModel } from "./served-model.ts";

/** Weights to continue training with, with the optimiser; weights to sample. */
export const checkpointKinds = ["weights", "sampler_weights"] as const;
export type CheckpointKind = (typeof checkpointKinds)[number];

const adapterSchema = z.object({
  rank: z.int().positive(),
  alpha: z.number(),
  targets: z.array(z.string()).readonly(),
  seed: z.int(),
});
const recordSchema = z.object({
  baseModel: z.string(),
  trained: z.union([z.literal("full"), adapterSchema]),
  /** Optimiser steps before it was saved. */
  step: z.int(),
  savedAt: z.string(),
  optimizer: z.boolean(),
  /** When it ends to exist, if its client said so. */
  expiresAt: z.string().optional(),
});
export type CheckpointRecord = z.output<typeof recordSchema>;

const modelIdSchema = z
  .string()
  .regex(/^[\w:-]{1,255}$/)
  .brand<"model id">();
const checkpointNameSchema = z
  .string()
  .regex(/^[\w-]{1,255}$/)
  .brand<"checkpoint name">();
/** The id of a model, which is part of a folder's name: letters, digits, - _ and :, so it holds no path. Only `parseModelId` makes one. */
export type ModelId = z.output<typeof modelIdSchema>;
/** The name of a checkpoint, which is a folder's: letters, digits, - and _, so it holds no path. Only `parseCheckpointName` makes one. */
export type CheckpointName = z.output<typeof checkpointNameSchema>;

/** @throws HttpError (422) */
export function parseModelId(text: string): ModelId {
  const parsed = modelIdSchema.safeParse(text);
  if (parsed.success) return parsed.data;
  throw new HttpError(422, "id of a model", text, { expected: "1 to 255 letters, digits, -, _ and :" });
}

/** @throws HttpError (422) */
export function parseCheckpointName(text: string): CheckpointName {
  const parsed = checkpointNameSchema.safeParse(text);
  if (parsed.success) return parsed.data;
  throw new HttpError(422, "name of a checkpoint", text, { expected: "1 to 255 letters, digits, - and _" });
}

/** Where a checkpoint is: `tinker://MODEL/weights/NAME` or `tinker://MODEL/sampler_weights/NAME`. */
export interface CheckpointPath {
  readonly model: ModelId;
  readonly kind: CheckpointKind;
  readonly name: CheckpointName;
}

export interface Checkpoint {
  readonly path: CheckpointPath;
  readonly record: CheckpointRecord;
  /** The folder of the weights: an adapter in PEFT format, or a model in Hugging Face's. */
  readonly folder: string;
  /** The folder that `Engine.saveState` wrote; undefined for weights alone. */
  readonly state: string | undefined;
}

const recordName = "checkpoint.json";

/** @param bare the kind of a path without one, as in `tinker://MODEL/NAME` */
export function parseCheckpointPath(text: string, bare: CheckpointKind): CheckpointPath {
  const parts = text.startsWith("tinker://") ? text.slice("tinker://".length).split("/") : [];
  const [model, kind, name] = parts.length === 2 ? [parts[0], bare, parts[1]] : parts;
  const known = checkpointKinds.find((each) => each === kind);
  const [parsedModel, parsedName] = [modelIdSchema.safeParse(model), checkpointNameSchema.safeParse(name)];
  if (parts.length < 2 || parts.length > 3 || known === undefined || !parsedModel.success || !parsedName.success) {
    throw new HttpError(422, "path of a checkpoint", text, {
      expected: "tinker://MODEL/weights/NAME or tinker://MODEL/sampler_weights/NAME",
    });
  }
  return { model: parsedModel.data, kind: known, name: parsedName.data };
}

export function formatCheckpointPath({ model, kind, name }: CheckpointPath): string {
  return `tinker://${model}/${kind}/${name}`;
}

/** Checkpoints of all models in one folder: `MODEL/weights/NAME/` and `MODEL/sampler_weights/NAME/`. A checkpoint is there whole or not at all. */
export class CheckpointStore {
  readonly #root: string;
  /** Folders that people gave: by name, each read as the checkpoint `tinker://import/weights/NAME`. */
  readonly #imports: ReadonlyMap<string, string>;
  readonly #models: readonly ServedModel[];
  readonly #writing = new Set<string>();

  constructor(root: string, models: readonly ServedModel[], imports: ReadonlyMap<string, string>) {
    this.#root = root;
    this.#models = models;
    this.#imports = imports;
  }

  /** @throws HttpError if there is none (404), or it is being written (425) */
  async find(path: CheckpointPath): Promise<Checkpoint> {
    if (path.model === importModel) return this.#imported(path);
    const folder = this.#folder(path);
    if (this.#writing.has(folder)) throw new HttpError(425, formatCheckpointPath(path), "being written", { retryAfter: 1 });
    const text = await readFile(join(folder, recordName), "utf8").catch(() => undefined);
    if (text === undefined) throw new HttpError(404, formatCheckpointPath(path), "not found", { expected: "a saved checkpoint" });
    const record = recordSchema.parse(JSON.parse(text));
    if (record.expiresAt !== undefined && Date.parse(record.expiresAt) <= Date.now()) {
      await rm(folder, { recursive: true, force: true });
      throw new HttpError(404, formatCheckpointPath(path), `expired at ${record.expiresAt}`, { expected: "a saved checkpoint" });
    }
    const state = record.optimizer ? join(folder, "state") : undefined;
    return { path, record, folder: join(folder, "weights"), state };
  }

  /** Whether a name is taken. */
  taken(path: CheckpointPath): boolean {
    return this.#writing.has(this.#folder(path)) || existsSync(this.#folder(path));
  }

  /** Takes a name, so that no other request can, until `write` or `release`. */
  reserve(path: CheckpointPath): void {
    this.#writing.add(this.#folder(path));
  }

  release(path: CheckpointPath): void {
    this.#writing.delete(this.#folder(path));
  }

  /** @param fill writes weights, and a state if `record.optimizer` */
  async write(
    path: CheckpointPath,
    record: CheckpointRecord,
    fill: (folders: { readonly weights: string; readonly state: string }) => Promise<void>,
  ): Promise<Checkpoint> {
    const folder = this.#folder(path);
    const partial = `${folder}.partial`;
    await rm(partial, { recursive: true, force: true });
    await mkdir(partial, { recursive: true });
    await fill({ weights: join(partial, "weights"), state: join(partial, "state") });
    await writeFile(join(partial, recordName), JSON.stringify(record, null, 2));
    await rm(folder, { recursive: true, force: true });
    await rename(partial, folder);
    this.#writing.delete(folder);
    return this.find(path);
  }

  async remove(path: CheckpointPath): Promise<void> {
    await this.find(path);
    if (path.model === importModel) throw new HttpError(403, formatCheckpointPath(path), "an imported folder");
    await rm(this.#folder(path), { recursive: true, force: true });
  }

  /** Returns the checkpoints of one model, oldest first. */
  async list(model: ModelId): Promise<(Checkpoint & { readonly bytes: number })[]> {
    const all = await Promise.all(
      checkpointKinds.map(async (kind) => {
        const names = await readdir(join(this.#root, folderName(model), kind)).catch(() => []);
        const found = names.flatMap((name) => checkpointNameSchema.safeParse(name).data ?? []); // no .partial
        return Promise.all(found.map((name) => this.find({ model, kind, name }).catch(() => undefined)));
      }),
    );
    const checkpoints = all.flat().filter((each) => each !== undefined);
    checkpoints.sort((a, b) => a.record.savedAt.localeCompare(b.record.savedAt));
    return Promise.all(checkpoints.map(async (each) => ({ ...each, bytes: await bytesIn(each.folder) })));
  }

  async #imported(path: CheckpointPath): Promise<Checkpoint> {
    const folder = this.#imports.get(path.name);
    if (folder === undefined || path.kind !== "weights") {
      const expected = [...this.#imports.keys()].map((name) => `tinker://${importModel}/weights/${name}`);
      throw new HttpError(404, formatCheckpointPath(path), "not found", { expected });
    }
    const base = hasLength(this.#models, 1) ? this.#models[0] : await this.#baseOf(folder);
    const trained = await base.describe(folder);
    const record = { baseModel: base.name, trained, step: 0, savedAt: new Date(0).toISOString(), optimizer: false };
    return { path, record, folder, state: undefined };
  }

  /** The base that an adapter's file names. */
  async #baseOf(folder: string): Promise<ServedModel> {
    const text = await readFile(join(folder, "adapter_config.json"), "utf8").catch(() => "{}");
    const named = z
      .looseObject({ base_model_name_or_path: z.string().optional() })
      .parse(JSON.parse(text)).base_model_name_or_path;
    const base = this.#models.find(({ name, folder: at }) => name === named || at === named || basename(at) === named);
    if (base !== undefined) return base;
    const expected = this.#models.map(({ name }) => name);
    throw new HttpError(422, `base_model_name_or_path of ${folder}`, named, { expected });
  }

  #folder({ model, kind, name }: CheckpointPath): string {
    return join(this.#root, folderName(model), kind, name);
  }
}

const importModel = "import";

/** Windows has no colons in names. */
function folderName(model: ModelId): string {
  return model.replaceAll(":", "-");
}

/** The size of all files of a folder. */
export async function bytesIn(folder: string): Promise<number> {
  const names = await readdir(folder, { recursive: true });
  const sizes = await Promise.all(names.map(async (name) => stat(join(folder, name))));
  return sizes.filter((each) => each.isFile()).reduce((sum, { size }) => sum + size, 0);
}
