import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { z } from "zod";
import { ModelError } from "../../../../src/core/errors.ts";
import { readBounded } from "../../../../src/files/bounded.ts";

const manifestSchema = z.object({
  layers: z.array(z.object({ mediaType: z.string(), digest: z.string().regex(/^sha256:[0-9a-f]{64}$/) })),
});
const modelLayer = "application/vnd.ollama.image.model";
/** [HOST/][OWNER/]NAME[:TAG] */
const nameForm = /^(?:([\w.-]+\.[\w.:-]+)\/)?(?:([\w-][\w.-]*)\/)?([\w-][\w.-]*)(?::([\w-][\w.-]*))?$/;

/**
 * The GGUF file of a model in Ollama's store on this machine. Nothing is downloaded and nothing changed.
 * @param folders of stores. Default: OLLAMA_MODELS, or those of a user's and of a system's installation
 * @throws ModelError if there is no such model
 */
export function ollamaFile(name: string, folders: readonly string[] = stores()): string {
  const [, host = "registry.ollama.ai", owner = "library", model, tag = "latest"] = nameForm.exec(name) ?? [];
  const subject = `ollama:${name}`;
  if (model === undefined)
    throw new ModelError(subject, "no name of Ollama's", { expected: "NAME or NAME:TAG, as `ollama list` shows it" });
  for (const folder of folders) {
    const manifest = join(folder, "manifests", host, owner, model, tag);
    if (!existsSync(manifest)) continue;
    const layer = modelLayerOf(manifest);
    const blob = join(folder, "blobs", layer.replace(":", "-"));
    if (!existsSync(blob)) throw new ModelError(`${blob} of ${subject}`, undefined, { hint: `Run: ollama pull ${name}` });
    return blob;
  }
  throw new ModelError(subject, undefined, {
    expected: `a model in ${folders.join(" or ")}`,
    hint: `Run: ollama pull ${name}, or name the store in OLLAMA_MODELS.`,
  });
}

function modelLayerOf(manifest: string): string {
  const hint = "Pull the model again.";
  try {
    const { layers } = manifestSchema.parse(JSON.parse(readBounded(manifest, 2 ** 20).toString("utf8")));
    const weights = layers.filter(({ mediaType }) => mediaType === modelLayer);
    if (weights.length === 1) return weights[0].digest;
    throw new ModelError(`layers of ${manifest}`, weights.length, { expected: "one with a model", hint });
  } catch (cause) {
    if (cause instanceof ModelError) throw cause;
    throw new ModelError(manifest, "malformed", { expected: "a manifest of Ollama", hint, cause });
  }
}

function stores(): string[] {
  const { OLLAMA_MODELS: own } = process.env;
  return own ? [own] : [join(homedir(), ".ollama", "models"), "/usr/share/ollama/.ollama/models"];
}
