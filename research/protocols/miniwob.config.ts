/** What `npm run research -- protocol make|run --config research/protocols/miniwob.config.ts` plays: five pages. `MINIWOB` is the package's folder. */
import type { UserConfig } from "../../src/training/config/user-config.ts";

export default {
  environment: {
    name: "miniwob",
    settings: {
      data: process.env.MINIWOB ?? "miniwob",
      pages: ["click-button", "click-link", "click-option", "enter-text", "login-user"],
      maxActions: 8,
    },
  },
  engine: { kind: "local", lora: { rank: 16, alpha: 32, targets: "all-linear" }, threads: 1 },
  rollout: { maxTurns: 8, maxTokens: 24 },
  evaluation: { tasks: 160, k: 1, greedy: true },
} satisfies UserConfig;
