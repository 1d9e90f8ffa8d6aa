/** What `npm run research -- protocol make|run --config research/protocols/calculator-agent.config.ts` plays: the recipe's questions. */
import { environment } from "../recipes/calculator-questions.ts";

export default {
  environment,
  engine: { lora: { rank: 16, alpha: 32, targets: "all-linear" }, threads: 1, maxLength: 512 },
  rollout: { maxTurns: 2, maxTokens: 120 },
  evaluation: { tasks: 160, k: 1, greedy: true },
} as const;
