import type { Chat } from "../../chat/chat.ts";
import type { Engine } from "../../engines/engine.ts";
import type { Environment } from "../../environments/environment.ts";
import type { RewardPart } from "../../rewards/reward.ts";
import type { TrainingConfig } from "../config/settings.ts";
import type { OnEvent } from "../record/events.ts";
export interface StepArguments {
  readonly config: TrainingConfig;
  readonly engine: Engine;
  /** Another model, if the algorithm names one. */
  readonly otherModel?: Pick<Engine, "logprobs">;
  readonly chat: Chat;
  readonly environment: Environment;
  /** The parts that the reward is made of; the environment's own if left out. */
  readonly rewards?: readonly RewardPart[];
  readonly onEvent: OnEvent;
  readonly signal?: AbortSignal;
  /** Is given what settles once a pass has ended that an aborted update has left. */
  readonly onLeft?: (settled: Promise<void>) => void;
}
