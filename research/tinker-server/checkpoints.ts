import { existsSync } from "node:fs";
import { mkdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { HttpError } from "../../extensions/http/http-error.ts";

/** Weights to continue training with, with the optimiser; weights to sample. */
const checkpointKinds = ["weights", "sampler_weights"] as const;
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
  optimizer: z.boolean(),
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

/** @throws HttpError (422) */
export function parseCheckpointKind(text: string): CheckpointKind {
  const kind = checkpointKinds.find((each) => each === text);
  if (kind !== undefined) return kind;
  throw new HttpError(422, "kind of a checkpoint", text, { expected: checkpointKinds });
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

/** @param bare the kind of a path without one, as in `tinker://MODEL/NAME` @throws HttpError (422) */
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
  readonly #writing = new Set<string>();

  constructor(root: string) {
    this.#root = root;
  }

  /** @throws HttpError if there is none (404), or it is being written (425) */
  async find(path: CheckpointPath): Promise<Checkpoint> {
    const folder = this.#folder(path);
    if (this.#writing.has(folder)) throw new HttpError(425, formatCheckpointPath(path), "being written", { retryAfter: 1 });
    const text = await readFile(join(folder, recordName), "utf8").catch(() => undefined);
    if (text === undefined) throw new HttpError(404, formatCheckpointPath(path), "not found", { expected: "a saved checkpoint" });
    const record = recordSchema.parse(JSON.parse(text));
    const state = record.optimizer ? join(folder, "state") : undefined;
    return { path, record, folder: join(folder, "weights"), state };
  }

  /** Takes a name, so that no other request can. @throws HttpError (422) if it is used, unless it may be overwritten */
  take(path: CheckpointPath, overwrite: boolean): CheckpointPath {
    const folder = this.#folder(path);
    if ((this.#writing.has(folder) || existsSync(folder)) && !overwrite) {
      const hint = "Names of checkpoints are used once: number them with the step.";
      throw new HttpError(422, formatCheckpointPath(path), "already exists", { hint });
    }
    this.#writing.add(folder);
    return path;
  }

  /** Writes a checkpoint whose name was taken. @param fill writes weights, and a state if `record.optimizer` */
  async write(
    path: CheckpointPath,
    record: CheckpointRecord,
    fill: (folders: { readonly weights: string; readonly state: string }) => Promise<void>,
  ): Promise<void> {
    const folder = this.#folder(path);
    const partial = `${folder}.partial`;
    try {
      await rm(partial, { recursive: true, force: true });
      await mkdir(partial, { recursive: true });
      await fill({ weights: join(partial, "weights"), state: join(partial, "state") });
      await writeFile(join(partial, recordName), JSON.stringify(record, null, 2));
      await rm(folder, { recursive: true, force: true });
      await rename(partial, folder);
    } finally {
      this.#writing.delete(folder);
    }
  }

  async remove(path: CheckpointPath): Promise<void> {
    await this.find(path);
    await rm(this.#folder(path), { recursive: true, force: true });
  }

  #folder({ model, kind, name }: CheckpointPath): string {
    return join(this.#root, model.replaceAll(":", "-"), kind, name); // Windows has no colons in names
  }
}
