import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { serveModel } from "../research/tinker-server/local-model.ts";
import { type RunningServer, startTinkerServer } from "../research/tinker-server/server.ts";
import { linesOf } from "./environment-sdks/lines.ts";
import { writeTinyModel } from "./tiny-model.ts";

/** A Python with tinker-cookbook (.ci/cookbook). */
const python = process.env.RETROGRADE_COOKBOOK_PYTHON ?? "";

/** The models that recipes name. Each is a folder beside the recipe, so that no hub is asked. */
const models = ["Qwen/Qwen3.5-4B", "Qwen/Qwen3.5-9B", "Qwen/Qwen3.5-9B-Base", "Qwen/Qwen3.6-35B-A3B"];

const few = "max_steps=2 lora_rank=4 behavior_if_log_dir_exists=delete";
const turns = "group_size=2 batch_size=1 max_tokens=4 max_steps=1 eval_every=0 behavior_if_log_dir_exists=delete";
const recipes = [
  ["chat_sl", `chat_sl.train dataset=rows.jsonl batch_size=2 ${few}`, 2],
  ["prompt_distillation", `prompt_distillation.train file_path=rows.jsonl batch_size=2 num_epochs=1 ${few}`, 2],
  [
    "math_rl",
    `math_rl.train env=arithmetic group_size=2 groups_per_batch=2 loss_fn=importance_sampling renderer_name=qwen3_5_disable_thinking ${few}`,
    2,
  ],
  ["guess_number", `multiplayer_rl.guess_number.train ${turns}`, 1],
  ["shorter", `preference.shorter.train ${turns}`, 1],
] as const;

const skipped = python === "" ? " — skipped: no Python with tinker-cookbook (RETROGRADE_COOKBOOK_PYTHON)" : "";

describe.skipIf(python === "")(`tinker-cookbook 0.6.1 through serve-tinker${skipped}`, () => {
  const folder = mkdtempSync(join(tmpdir(), "tinker-cookbook-"));
  let server: RunningServer;

  beforeAll(async () => {
    const read = (name: string) => JSON.parse(readFileSync(join("models/office", name), "utf8")) as unknown;
    const tokenizer = z
      .looseObject({ added_tokens: z.array(z.looseObject({ id: z.number(), content: z.string() })) })
      .parse(read("tokenizer.json"));
    // Renderers of Qwen look for its tokens by name.
    const missing = ["<|im_start|>", "<|im_end|>", "<think>", "</think>"];
    const [first] = tokenizer.added_tokens;
    const added = missing.map((content, i) => ({ ...first, id: 896 + i, content, special: true }));
    const files = {
      tokenizer: { ...tokenizer, added_tokens: [...tokenizer.added_tokens, ...added] },
      config: { ...z.looseObject({}).parse(read("tokenizer_config.json")), eos_token: "<|im_end|>" },
    };
    for (const model of models) await writeTinyModel(join(folder, model), files, 2048);
    writeFileSync(
      join(folder, "rows.jsonl"),
      Array.from("abcdefgh", (letter) => {
        const messages = [
          { role: "user", content: `Say ${letter}.` },
          { role: "assistant", content: letter },
        ];
        return `${JSON.stringify({ messages })}\n`;
      }).join(""),
    );
    server = await startTinkerServer({
      models: await Promise.all(models.map((model) => serveModel(model, join(folder, model), 1))),
      store: join(folder, "store"),
      imports: new Map(),
      limits: { models: 32, bytes: 2 ** 40, queue: 1024, samplers: 4 },
      ...{ sessionMs: 60_000, port: 0, keys: [] },
    });
  });
  afterAll(async () => {
    await server.close();
    rmSync(folder, { recursive: true });
  });

  test.each(recipes)(
    "the recipe %s runs unmodified",
    async (name, command, steps) => {
      const [module, ...settings] = command.split(" ");
      const log = join(folder, "logs", name);
      const env = {
        ...{ ...process.env, TINKER_BASE_URL: server.baseUrl, TINKER_API_KEY: "tml-local", TINKER_TELEMETRY: "0" },
        ...{ HF_HUB_OFFLINE: "1", OMP_NUM_THREADS: "1", TINKER_COOKBOOK_RUNS_DIR: join(folder, "logs") },
      };
      const given = ["-m", `tinker_cookbook.recipes.${module}`, ...settings, `log_path=${log}`];
      const { stdout, stderr } = await promisify(execFile)(python, given, { cwd: folder, env, timeout: 570_000 });
      expect(`${stdout}${stderr}`).toContain("Training completed successfully");
      const metrics = linesOf<Record<string, number>>(join(log, "metrics.jsonl"));
      expect(new Set(metrics.map(({ step }) => step)).size).toBeGreaterThanOrEqual(steps);
    },
    300_000,
  );
});
