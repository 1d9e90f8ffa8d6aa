import { existsSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { EngineError } from "../../../src/core/errors.ts";
import type { StepReport, Values, Weights } from "../../../src/core/policy.ts";
import type { ActionInContext } from "../../../src/core/trajectory.ts";
import type { EngineCritic, StepOptions } from "../../../src/engines/engine.ts";
import { count } from "../machine/native/tensor.ts";
import { type Arrays, copyOf } from "../model/arrays.ts";
import { valueHead } from "../model/heads.ts";
import type { ModelConfig } from "../model/model-config.ts";
import { readSafetensors, type Tensor, writeSafetensors } from "../model/safetensors.ts";
import { Learner, type LearnerOptions } from "./learner.ts";
import { ParameterStore } from "./parameter-store.ts";

const parametersFile = "critic.safetensors";
const optimiserFile = "critic-optimiser.safetensors";

/**
 * V(context and the action so far), in units of the return: a transformer of its own with a linear head, trained beside the policy.
 * It begins as a copy of the policy's trunk, as in verl and TRL, with a head of zeros: the first values are 0, whatever the weights.
 * Where the policy is an adapter on a frozen base, so is the critic, on the same base.
 */
export class LocalCritic implements EngineCritic {
  readonly learner: Learner;
  readonly #options: LearnerOptions;

  private constructor(config: ModelConfig, parameters: Arrays, options: LearnerOptions) {
    const shapes = learningShapes(config, options);
    this.learner = new Learner(config, [valueHead], ParameterStore.of(parameters, shapes, options), options);
    this.#options = options;
  }

  /** @param policy the policy's parameters that learn; copied */
  static async from(policy: Arrays, config: ModelConfig, options: LearnerOptions): Promise<LocalCritic> {
    const parameters = new Map(
      [...learningShapes(config, options)].map(([name, shape]) => [name, policy.get(name) ?? new Float32Array(count(shape))]),
    );
    return new LocalCritic(config, await copyOf(parameters), options);
  }

  /** @returns undefined where the state has no critic @throws EngineError if it is of another model */
  static async load(folder: string, config: ModelConfig, options: LearnerOptions): Promise<LocalCritic | undefined> {
    if (!existsSync(join(folder, parametersFile))) return undefined;
    const saved = await readSafetensors(join(folder, parametersFile));
    const parameters = new Map(
      [...learningShapes(config, options)].map(([name, shape]) => {
        const tensor = saved.get(name);
        if (tensor === undefined || String(tensor.shape) !== String(shape)) {
          throw new EngineError(`${name} of the critic in checkpoint ${folder}`, tensor?.shape, {
            expected: `shape [${shape}], as this model has it`,
          });
        }
        return [name, tensor.data] as const;
      }),
    );
    const critic = new LocalCritic(config, parameters, options);
    const moments = join(folder, optimiserFile);
    await critic.learner.optimiser.restore(await readSafetensors(moments), moments);
    return critic;
  }

  /** Clears a folder of the critic of an older state. */
  static async remove(folder: string): Promise<void> {
    for (const file of [parametersFile, optimiserFile]) await rm(join(folder, file), { force: true });
  }

  get steps(): number {
    return this.learner.optimiser.steps;
  }

  async values(samples: readonly ActionInContext[]): Promise<Values> {
    return this.#options.order.run(() => this.learner.forward(samples));
  }

  async forwardBackward(samples: readonly ActionInContext[], decide: (values: Values) => Weights): Promise<Values> {
    return this.#options.order.run(() => this.learner.forwardBackward(samples, decide, []));
  }

  async step(options: StepOptions): Promise<StepReport> {
    return this.#options.order.run(async () => {
      const start = performance.now();
      const gradientNorm = await this.learner.step(options);
      await this.learner.rest();
      this.#options.count.seconds += (performance.now() - start) / 1000;
      return { gradientNorm, learningRate: options.learningRate };
    });
  }

  /** Parameters and moments, in full precision. */
  async save(folder: string): Promise<void> {
    const { parameters, optimiser } = this.learner;
    const tensors = new Map<string, Tensor>();
    for (const [name, data] of await parameters.host()) tensors.set(name, { shape: parameters.shapes.get(name) ?? [], data });
    await writeSafetensors(join(folder, parametersFile), tensors, { dtype: "float32" });
    await writeSafetensors(join(folder, optimiserFile), await optimiser.tensors(), { dtype: "float32" });
  }

  async close(): Promise<void> {
    await this.learner.close();
  }
}

function learningShapes(config: ModelConfig, { frozen }: LearnerOptions): Map<string, readonly number[]> {
  return new Map([...valueHead.parameterShapes(config)].filter(([name]) => !frozen.shapes.has(name)));
}
